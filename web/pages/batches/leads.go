package batches

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/review"
)

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
func (w Batches) showLeads(ctx context.Context, p *batchPage, l message.Language, at *url.URL) error {
	leads, err := p.Leads(ctx, w.Store, w.o.Checks.Rules())
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

func (w Batches) decideBatchLead(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *pages.Visitor, b store.Batch) error {
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
func (w Batches) ApplyLead(ctx context.Context, v *pages.Visitor, b store.Batch, first, second string, at, there concordat.Span,
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
	return batch.DecideLead(ctx, w.o.Site, w.Store, b.ID, batch.LeadDecision{A: x, B: y, Span: at, Source: there, State: state, By: v.Name,
		Why: why}, w.o.Checks.Rules(),
		v.Note("batch_lead", map[string]any{"batch": b.ID, "a": x + 1, "b": y + 1, "state": state, "reason": why}))
}
