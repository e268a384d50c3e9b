package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"concordat"
	"concordat/report"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/review"
)

const (
	batchShownWording = 50    // shared passages on a batch page
	wordingExcerpt    = 120   // code points of each passage on the batch page
	wordingWhole      = 20000 // code points of a passage on its own page
	wordingDocuments  = 500   // documents listed on a passage's page
)

// shownWording is wording shared by several documents of a batch.
type shownWording struct {
	*batch.ViewedWording
	Held    int
	Text    string
	Reads   string // what kind of form it resembles; empty if it does not resemble a form
	Members []*store.BatchMember
	More    int // number of omitted documents
}

func (w batchPages) showWording(ctx context.Context, v *batch.View, all []batch.ViewedWording, runes int,
	l message.Language) ([]shownWording, error) {
	texts, err := batch.WordingTexts(ctx, w.o.Site, v, all, runes)
	out := make([]shownWording, len(all))
	for i := range all {
		members := all[i].Documents()
		out[i] = shownWording{ViewedWording: &all[i], Held: len(members), Reads: l.Report().FormReason(all[i].Why)}
		if err == nil {
			out[i].Text = texts[i]
		}
		for _, m := range members[:min(len(members), wordingDocuments)] {
			out[i].Members = append(out[i].Members, &v.Members[m])
		}
		out[i].More = len(members) - len(out[i].Members)
	}
	return out, err
}

type wordingPage struct {
	*batch.View
	One       shownWording
	MayReview bool
}

func (w batchPages) wordingOf(ctx context.Context, v *Visitor, id, n string) (*batch.View, *batch.ViewedWording, error) {
	view, see, err := w.SeenBatch(ctx, v, id)
	if err == nil && !see.Shows(review.SeeReport) {
		err = review.ErrNotShown
	}
	if err != nil {
		return nil, nil, err
	}
	number, err := strconv.Atoi(n)
	if err != nil {
		return nil, nil, fmt.Errorf("wording %q: %w", n, concordat.ErrNotFound)
	}
	one, err := view.WordingOf(number)
	return view, one, err
}

// batchWordingPage shows wording shared by several documents of a batch, and lists these documents.
func (w batchPages) batchWordingPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	p := &wordingPage{MayReview: v.MayReview()}
	view, one, err := w.wordingOf(r.Context(), v, r.PathValue("id"), r.PathValue("n"))
	var shown []shownWording
	if err == nil {
		shown, err = w.showWording(r.Context(), view, []batch.ViewedWording{*one}, wordingWhole, message.LanguageOf(r))
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	p.View, p.One = view, shown[0]
	w.Audit(r.Context(), v.Name, "batch_read", map[string]any{"batch": view.ID, "wording": one.Number})
	w.Show(rw, r, v, http.StatusOK, "wording", "title.wording", p)
}

func (w batchPages) countBatchWording(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *Visitor, b store.Batch) error {
		return w.ApplyWording(ctx, v, b, r.PathValue("n"), r.PostForm.Get("action") != "uncount-wording", r.PostForm.Get("comment"))
	})
}

func (w batchPages) ApplyWording(ctx context.Context, v *Visitor, b store.Batch, n string, count bool, why string) error {
	number, err := strconv.Atoi(n)
	if err != nil {
		return fmt.Errorf("wording %q: %w", n, concordat.ErrNotFound)
	}
	if why, err = pages.Reason(why, count); err != nil {
		return err
	}
	return batch.CountWording(ctx, w.o.Site, w.o.Store, b.ID, v.Name, number, count, why, w.o.Rules(),
		v.Note("batch_wording", map[string]any{"batch": b.ID, "wording": number, "count": count}))
}

const (
	batchShownLeads = 50  // leads on a batch page
	batchShownMany  = 50  // groups of documents with similar content on a batch page
	leadExcerpt     = 160 // code points of each side of a lead on a batch page
)

// shownLead is a lead between two documents of a batch.
type shownLead struct {
	*batch.ViewedLead
	Number        int // number on the page, from 1
	First, Second *store.BatchMember
	Words         string // how the first document relates to the second
	Likely        string // how likely the lead is; empty if not measured
	Here, There   string // beginnings of both texts; empty if the texts are not kept
}

// shownMany is a group of batch documents with similar content.
type shownMany struct {
	Text    string // text of the first document; empty if it is not kept
	Members []*store.BatchMember
}

// showLeads fills in the leads that match the filter in the page's address.
func (w batchPages) showLeads(ctx context.Context, p *batchPage, l message.Language, at *url.URL) error {
	leads, err := p.Leads(ctx, w.o.Store, w.o.Rules())
	if err != nil {
		return err
	}
	filter := pages.LeadFilterOf(at.Query())
	var all []pages.FilteredLead
	for _, one := range leads.Leads {
		all = append(all, pages.FilteredLead{Lead: one.Lead(), State: one.State})
	}
	p.FoundLeads, p.LeadKept = len(all), pages.LeadQuery(filter)
	if len(all) > 0 {
		p.LeadBar = pages.NewLeadBar(l, all, filter, at)
	}
	chosen := slices.DeleteFunc(leads.Leads, func(one batch.ViewedLead) bool { return !filter.Has(one.Lead(), one.State) })
	some, many := chosen[:min(len(chosen), batchShownLeads)], leads.Many[:min(len(leads.Many), batchShownMany)]
	p.MoreLeads = len(chosen) - len(some)
	var places []batch.ViewedPlace
	for _, one := range some {
		places = append(places, batch.ViewedPlace{Member: one.A, Span: one.Span}, batch.ViewedPlace{Member: one.B, Span: one.Source})
	}
	for _, one := range many {
		places = append(places, one.Places[0])
	}
	texts, err := batch.PlaceTexts(ctx, w.o.Site, p.View, places, leadExcerpt)
	if err != nil {
		return err
	}
	rep := report.Report{Language: l.Report()}
	for i := range some {
		one := &some[i]
		p.LeadRows = append(p.LeadRows, shownLead{ViewedLead: one, Number: i + 1, First: &p.Members[one.A], Second: &p.Members[one.B],
			Words: rep.LeadWords(one.Lead()), Likely: rep.LikelihoodWords(one.Lead()), Here: texts[2*i], There: texts[2*i+1]})
	}
	for i, one := range many {
		m := shownMany{Text: texts[2*len(some)+i]}
		for _, member := range one.Documents() {
			m.Members = append(m.Members, &p.Members[member])
		}
		p.Many = append(p.Many, m)
	}
	return nil
}

func (w batchPages) decideBatchLead(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *Visitor, b store.Batch) error {
		f := r.PostForm
		at, err := review.SpanOf(f)
		if err != nil {
			return err
		}
		there, err := review.SpanOf(url.Values{"start": f["source_start"], "end": f["source_end"]})
		if err != nil {
			return err
		}
		state := map[string]report.LeadState{"count-lead": report.LeadCounted, "set-aside-lead": report.LeadSetAside,
			"open-lead": report.LeadOpen}[f.Get("action")]
		return w.ApplyLead(ctx, v, b, r.PathValue("a"), r.PathValue("b"), at, there, state, f.Get("comment"))
	})
}

// ApplyLead records a decision about a lead between two documents in both reports. Documents are identified by number, from 1, and spans
// are in code points.
func (w batchPages) ApplyLead(ctx context.Context, v *Visitor, b store.Batch, first, second string, at, there concordat.Span,
	state report.LeadState, why string) error {
	if state != report.LeadOpen && state != report.LeadCounted && state != report.LeadSetAside {
		return message.Invalid("wrong.action", string(state))
	}
	why, err := pages.Reason(why, state != report.LeadOpen)
	if err != nil {
		return err
	}
	x, y, err := pairOf(first, second)
	if err != nil {
		return err
	}
	return batch.DecideLead(ctx, w.o.Site, w.o.Store, b.ID, batch.LeadDecision{A: x, B: y, Span: at, Source: there, State: state, By: v.Name,
		Why: why}, w.o.Rules(), v.Note("batch_lead", map[string]any{"batch": b.ID, "a": x + 1, "b": y + 1, "state": state, "reason": why}))
}
