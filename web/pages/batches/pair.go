package batches

import (
	"context"
	"html/template"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/review"
)

// pairPage is the data of the page that compares two documents of a batch and records a decision about them.
type pairPage struct {
	*batch.View
	html.Comparison
	First, Second pairSide
	Pair          batch.ViewedPair // with the shares of First and Second; zero if they have no common wording
	Found         bool             // the documents have common wording
	Whole         bool             // the complete texts are shown
	Filter        pairFilter
	At, All       int    // position of the pair in the filtered list, from 1; 0 if it is not listed
	Earlier       string // addresses of the neighbouring pairs in the list; empty for none
	Later         string
	Leads         template.HTML
	Events        []store.BatchEvent // events about this pair, oldest first
	People        pages.Names        // names of the people behind the events
	MayReview     bool
	Verdicts      []string
	Before        int // position where the previous part begins
}

// pairSide is one document of a pair.
type pairSide struct {
	*store.BatchMember
	Share   float64 // share of the document that also occurs in the other
	Verdict string  // message key for the verdict on its check; empty if not shown to the visitor
}

// pairForm is the data of the form for a verdict on one document of a pair.
type pairForm struct {
	pairSide
	page  *pairPage
	Which string // unique on a page
}

// Side returns the form for a verdict on one side of the pair.
func (p *pairPage) Side(s pairSide, which string) pairForm { return pairForm{s, p, which} }

// Back returns the address to which the form returns.
func (f pairForm) Back() string { return f.page.Back() }

// Verdicts returns the selectable verdicts.
func (f pairForm) Verdicts() []string { return f.page.Verdicts }

var pairAddress = regexp.MustCompile(`^/batches/[a-z0-9-]+/pairs/[0-9]+/[0-9]+(\?[A-Za-z0-9=&%+._~-]*)?$`)

// IsPair reports whether an address leads to the page of a pair, so that a form on that page may return to it.
func IsPair(address string) bool { return pairAddress.MatchString(address) }

// Address returns the address of the page, without its filter.
func (p *pairPage) Address() string {
	return "/batches/" + p.ID + "/pairs/" + strconv.Itoa(p.First.Number+1) + "/" + strconv.Itoa(p.Second.Number+1)
}

// Back returns the address with the filter; forms return to it.
func (p *pairPage) Back() string { return p.Address() + "?" + p.Filter.Encode() }

// wholePair is the maximum size of both texts together, in bytes, for showing them completely.
const wholePair = 400_000

// batchPairPage shows two documents of a batch side by side and marks what they have in common.
func (w Batches) batchPairPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	view, see, err := w.SeenBatch(r.Context(), v, r.PathValue("id"))
	var x, y int
	if err == nil {
		x, y, err = pairOf(r.PathValue("a"), r.PathValue("b"))
	}
	if err == nil && !see.Shows(review.SeeReport) {
		err = review.ErrNotShown
	}
	var rep *report.Report
	if err == nil {
		rep, err = batch.PairReport(r.Context(), w.o.Site, w.Store, view.ID, x, y, w.o.Checks.Rules())
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.o.Auditor.Audit(r.Context(), v.Name, "report_read", map[string]any{"task": rep.Task, "batch": view.ID, "with": y + 1})
	l := message.LanguageOf(r)
	rep = see.Part(rep)
	rep.Language = l.Report()
	filter := pairFilterOf(r.URL.Query(), view)
	if r.URL.Query().Get("format") == "html" {
		if filter.Hide {
			hideNamesIn(l, rep, x, y)
		}
		if err := w.o.Checks.SendReport(rw, rep); err != nil {
			w.o.Logger.Error("pair", "batch", view.ID, "error", err)
		}
		return
	}
	p := &pairPage{View: view, Filter: filter, MayReview: v.MayReview(), Verdicts: review.Verdicts}
	if p.Filter.Hide {
		hideNames(l, view)
	}
	for i := range view.Members {
		switch m := &view.Members[i]; m.Number {
		case x:
			p.First.BatchMember = m
		case y:
			p.Second.BatchMember = m
		}
	}
	if err = w.aroundPair(r.Context(), p); err == nil && see == review.SeeEverything {
		err = p.decided(r.Context(), w)
	}
	there := ""
	if err == nil && see == review.SeeEverything {
		there, err = batch.MemberText(r.Context(), w.o.Site, p.Second.BatchMember)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p.comparePair(rep, there, r.URL.Query().Get("from"))
	w.frame.Show(rw, r, v, http.StatusOK, "pair", "title.pair", p)
}

// hideNamesIn replaces the names of a pair's two documents with numbers in the pair's report.
func hideNamesIn(l message.Language, rep *report.Report, x, y int) {
	first, second := l.Say("pairs.document", x+1), l.Say("pairs.document", y+1)
	rep.Submission.Title, rep.Submission.ID = first, concordat.DocumentID(first)
	rename := func(ref *concordat.Ref, title *string) { ref.Document, *title = concordat.DocumentID(second), second }
	for i := range rep.Sources {
		rename(&rep.Sources[i].Ref, &rep.Sources[i].Title)
	}
	for _, e := range rep.Evidence {
		for k := range e.Sources {
			rename(&e.Sources[k].Ref, &e.Sources[k].Title)
		}
	}
	for i := range rep.Leads {
		rename(&rep.Leads[i].Source, &rep.Leads[i].Title)
	}
	for i := range rep.SharedWorks {
		rename(&rep.SharedWorks[i].Source, &rep.SharedWorks[i].Title)
	}
	for i := range rep.Wording {
		rep.Wording[i].Holders = nil
	}
	rep.Rules.ExcludeSources, rep.Rules.OwnWork, rep.Rules.NotOwnWork = nil, nil, nil // these rules name documents
	rep.Authors = nil
	for i := range rep.Sources {
		rep.Sources[i].Work, rep.Sources[i].Also, rep.Sources[i].Own = nil, nil, nil
	}
}

// aroundPair finds the pair and its neighbours in the filtered list.
func (w Batches) aroundPair(ctx context.Context, p *pairPage) error {
	same := func(one batch.ViewedPair) bool {
		a, b := p.Members[one.A].Number, p.Members[one.B].Number
		return a == p.First.Number && b == p.Second.Number || b == p.First.Number && a == p.Second.Number
	}
	take := func(one batch.ViewedPair) {
		p.Pair, p.Found = one, one.Share() > 0
		p.First.Share, p.Second.Share = one.ShareA, one.ShareB
		if p.Members[one.A].Number != p.First.Number {
			p.First.Share, p.Second.Share = one.ShareB, one.ShareA
		}
	}
	address := func(one batch.ViewedPair) string {
		return "/batches/" + p.ID + "/pairs/" + strconv.Itoa(p.Members[one.A].Number+1) + "/" + strconv.Itoa(p.Members[one.B].Number+1) +
			"?" + p.Filter.Encode()
	}
	last, first := "", ""
	err := p.Filter.each(ctx, w.Store, p.View, func(one batch.ViewedPair) {
		p.All++
		switch {
		case same(one):
			take(one)
			p.At, p.Earlier = p.All, last
		case p.At > 0 && p.At == p.All-1:
			p.Later = address(one)
		}
		last = address(one)
		if first == "" {
			first = last
		}
	})
	if err != nil || p.At > 0 {
		return err
	}
	p.Later = first // first pair of the list, since this pair is not in it
	return p.EachPair(ctx, w.Store, 0, func(one batch.ViewedPair) bool {
		if !same(one) {
			return true
		}
		take(one)
		return false
	})
}

// decided reads the decisions about the pair and about the checks of its documents.
func (p *pairPage) decided(ctx context.Context, w Batches) error {
	for _, side := range []*pairSide{&p.First, &p.Second} {
		if side.Task == "" {
			continue
		}
		now, err := w.o.Reviews.OfTask(ctx, side.Task)
		if err != nil {
			return err
		}
		side.Verdict = now.VerdictKey()
	}
	if p.Filter.Hide {
		return nil // events contain the documents' names
	}
	all, err := w.Store.Batches.BatchEvents(ctx, p.ID)
	if err == nil {
		p.People, err = w.frame.Names(ctx)
	}
	for _, e := range all {
		if why, ok := batch.OfPair(e, p.First.BatchMember, p.Second.BatchMember); ok {
			e.Text = why
			p.Events = append(p.Events, e)
		}
	}
	return err
}

// comparePair prepares both texts and the links between them.
func (p *pairPage) comparePair(rep *report.Report, there, from string) {
	rep.Submission.Title = MemberName(p.First.BatchMember)
	p.Whole = there != "" && len(rep.Submission.Text)+len(there) <= wholePair
	o := html.CompareOptions{Text: there, Whole: p.Whole, Joined: true}
	o.From, _ = strconv.Atoi(from) // an unparsable value starts at the first part
	for i := range rep.Sources {
		rep.Sources[i].Title = MemberName(p.Second.BatchMember)
	}
	for i := range rep.Leads {
		rep.Leads[i].Title = MemberName(p.Second.BatchMember)
	}
	view := html.NewView(rep)
	if len(rep.Sources) > 0 {
		p.Comparison = view.Compare(0, o, html.Links{})
	}
	if p.Whole && p.To == 0 {
		p.Here, p.There = html.PlainText(rep.Submission.Text), html.PlainText(there)
	}
	p.Before = max(0, p.From-html.ComparePlaces)
	if len(rep.Leads) > 0 {
		p.Leads = view.Leads(html.Links{NoText: true})
	}
}

// decidePair saves a decision on whether a pair counts, or a comment on it.
func (w Batches) decidePair(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *pages.Visitor, b store.Batch) error {
		f := r.PostForm
		if f.Get("verdict") != "comment" {
			return w.ApplyVerdict(ctx, v, b, r.PathValue("a"), r.PathValue("b"), f.Get("verdict"), f.Get("reason"))
		}
		text, err := pages.Reason(f.Get("reason"), true)
		if err != nil {
			return err
		}
		x, y, err := pairOf(r.PathValue("a"), r.PathValue("b"))
		if err != nil {
			return err
		}
		return batch.CommentPair(ctx, w.Store, b.ID, store.BatchEvent{At: w.o.Now(), By: v.Name, Text: strings.TrimSpace(text)}, x, y,
			v.Note("batch_pair_comment", map[string]any{"batch": b.ID, "a": x + 1, "b": y + 1}))
	})
}
