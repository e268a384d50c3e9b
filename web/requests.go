package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	siteanswer "concordat/site/answer"
	"concordat/site/ask"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/review"
)

func (w checkPages) requestRoutes() {
	w.AddPage("GET /requests", pages.Officers, w.requestsPage)
	w.AddPage("GET /requests/{id}", pages.Officers, w.requestPage)
	w.AddPage("POST /requests/{id}", pages.Officers, w.decide)
	w.AddPage("POST /checks/{id}/ask", pages.Officers, w.ask)
}

const (
	// requestsOnPage is the number of requests on a page.
	requestsOnPage = 100
	// askTime is the time limit for a partner's answer while a visitor waits.
	askTime = time.Minute
)

// Request is a request for passages in the form shown to people.
type Request struct {
	store.Disclosure
	Name  string // name of the partner
	Title string // title of the document, if it belongs to this site
	// Purpose is the purpose of the partner's check as stated by the partner.
	Purpose string
	Task    concordat.TaskID
	Check   string // title of Task
	Place   string // title of this site's library
	Decider string // name of the person who decided
}

// In reports whether the request is from a partner.
func (r Request) In() bool { return r.Direction == store.DisclosureIn }

type requestsPage struct {
	State    string
	States   []string
	Requests []Request
	Next     string // ID after which the next page begins; empty on the last page
}

// requestStates are the states of a request in order.
var requestStates = []string{concordat.DisclosurePending, concordat.DisclosureGranted, concordat.DisclosureRefused,
	concordat.DisclosureExpired, concordat.DisclosureWithdrawn}

func (w checkPages) requestsPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	state := r.URL.Query().Get("state")
	if !slices.Contains(requestStates, state) {
		state = ""
	}
	all, next, err := w.Requests(r.Context(), state, r.URL.Query().Get("after"), requestsOnPage)
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	w.Show(rw, r, v, http.StatusOK, "requests", "title.requests", requestsPage{state, requestStates, all, next})
}

// Requests returns requests for passages in both directions, latest first, starting after the given ID, and the ID after which the next
// page begins.
func (w checkPages) Requests(ctx context.Context, state, after string, limit int) (out []Request, next string, err error) {
	ds, next, err := w.o.Answers.Requests.DisclosuresAfter(ctx, state, after, limit)
	if err != nil {
		return nil, "", err
	}
	names, err := w.Names(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, d := range ds {
		one, err := w.request(ctx, d, names)
		if err != nil {
			return nil, "", err
		}
		out = append(out, one)
	}
	return out, next, nil
}

// waiting returns the number of partners' requests that the visitor may decide, at most requestsOnPage.
func (w *Web) waiting(ctx context.Context, v *Visitor) int {
	if v == nil || !v.MayReview() || w.o.Answers == nil {
		return 0
	}
	ds, _, err := w.o.Answers.Requests.DisclosuresAfter(ctx, concordat.DisclosurePending, "", requestsOnPage)
	if err != nil {
		w.o.Logger.Error("requests that wait", "error", err)
	}
	n := 0
	for _, d := range ds {
		if d.Direction == store.DisclosureIn {
			n++
		}
	}
	return n
}

func (w checkPages) request(ctx context.Context, d store.Disclosure, names pages.Names) (Request, error) {
	one := Request{Disclosure: d, Name: names.Sites[d.Partner], Place: names.Library(d.Library), Decider: names.Person(d.Actor)}
	if one.Name == "" {
		one.Name = string(d.Partner)
	}
	if one.In() {
		row, err := w.o.Store.Catalogue.DocumentRow(ctx, d.Library, d.Document)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return one, err
		}
		one.Title = row.Title
		job, err := w.o.Store.Answers.AnswerJob(ctx, d.Partner, d.Job)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return one, err
		}
		one.Purpose = job.Purpose
		return one, nil
	}
	asked, err := w.o.Store.Asks.Ask(ctx, d.Job)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return one, err
	}
	one.Task = asked.Task
	t, err := w.o.Store.Checks.Task(ctx, asked.Task)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) { // deleted in the meantime
		return one, err
	}
	one.Check = pages.Visible(t.Title)
	return one, nil
}

type requestPage struct {
	Request
	Passages []string // passages from this site's document
	Gone     bool     // the document has changed since the request
}

// requestPage shows a request with the passages that the partner asks to read.
func (w checkPages) requestPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	p, err := w.OneRequest(r.Context(), r.PathValue("id"))
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	w.Audit(r.Context(), v.Name, "request_read", map[string]any{"request": p.ID, "site": p.Partner})
	w.Show(rw, r, v, http.StatusOK, "request", "title.request", p)
}

func (w checkPages) OneRequest(ctx context.Context, id string) (requestPage, error) {
	var p requestPage
	d, err := w.o.Store.Answers.Disclosure(ctx, id)
	if err != nil {
		return p, err
	}
	if d.Direction == store.DisclosureIn {
		asked, texts, err := w.o.Answers.Requests.Asked(ctx, id)
		switch {
		case errors.Is(err, concordat.ErrNotFound):
			p.Gone = true
		case err != nil:
			return p, err
		default:
			d, p.Passages = asked, texts
		}
	}
	names, err := w.Names(ctx)
	if err == nil {
		p.Request, err = w.request(ctx, d, names)
	}
	return p, err
}

// decide grants or refuses a partner's request, or withdraws a grant.
func (w checkPages) decide(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	err := pages.ParseForm(rw, r)
	if err == nil {
		_, err = w.DecideRequest(r.Context(), v, r.PathValue("id"), r.PostForm.Get("action"), r.PostForm.Get("words"))
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/requests/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
}

func (w checkPages) DecideRequest(ctx context.Context, v *Visitor, id, action, words string) (store.Disclosure, error) {
	var d store.Disclosure
	var err error
	switch action {
	case "approve":
		d, err = w.o.Answers.Requests.Decide(ctx, id, v.Name, true, words)
	case "refuse":
		d, err = w.o.Answers.Requests.Decide(ctx, id, v.Name, false, words)
	case "withdraw":
		d, err = w.o.Answers.Requests.Withdraw(ctx, id, v.Name, words)
	default:
		err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
	switch {
	case errors.Is(err, siteanswer.ErrLongWords):
		err = message.Invalid("wrong.long", siteanswer.MaxWords)
	case errors.Is(err, siteanswer.ErrNoWords):
		err = message.Invalid("wrong.words")
	}
	return d, err
}

// askedFor is a partner's document among the sources of a passage, with the requests for it.
type askedFor struct {
	Site   concordat.SiteID
	Title  string
	CanAsk bool // its location is known and it is not in a mirror
	Mirror bool
	Asks   []report.Disclosure // requests for this passage, oldest first, in their current state
}

// asked returns the partners' documents that match text within a span of the submission.
func asked(r *report.Report, at concordat.Span, now time.Time) []askedFor {
	var out []askedFor
	for _, e := range r.Evidence {
		if e.Span != at {
			continue
		}
		for _, s := range e.Sources {
			p, ok := r.Partner(s.Ref)
			if !ok {
				continue
			}
			one := askedFor{Site: s.Site, Title: s.Title, Mirror: p.Job == ""}
			for _, part := range s.Parts {
				one.CanAsk = one.CanAsk || !one.Mirror && part.SourceSpan.Len() > 0
			}
			for _, d := range r.Disclosures {
				if d.Source != s.Ref || !slices.ContainsFunc(d.Passages, func(p concordat.SpanPair) bool { return p.Span.Overlaps(at) }) {
					continue
				}
				if d.State == concordat.DisclosurePending && !d.Until.IsZero() && !now.Before(d.Until) {
					d.State = concordat.DisclosureExpired
				}
				one.Asks = append(one.Asks, d)
			}
			out = append(out, one)
		}
	}
	return out
}

// Waits reports whether a request is still undecided.
func (a askedFor) Waits() bool {
	return slices.ContainsFunc(a.Asks, func(d report.Disclosure) bool { return d.State == concordat.DisclosurePending })
}

// ask asks the partners that have the sources of a passage to show more of it, or requests the state of earlier requests.
func (w checkPages) ask(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	t, err := w.task(r, v)
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	var at concordat.Span
	f := r.PostForm
	if err == nil && f.Get("lead") == "" {
		at, err = review.SpanOf(f)
	}
	if err == nil {
		_, err = w.AskFor(r.Context(), v, t, AskPassages{At: at, Lead: f.Get("lead"),
			Partner: concordat.SiteID(f.Get("site")), Level: concordat.Show(f.Get("level")),
			Reason: f.Get("reason"), Contact: f.Get("contact"), Refresh: f.Get("action") == "refresh"})
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	to := "/checks/" + string(t.ID)
	if n := f.Get("number"); passageNumber.MatchString(n) {
		to += "/passages/" + n
	} else if f.Get("lead") != "" {
		to += "#leads"
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// passageNumber matches the results of report.Report.Number.
var passageNumber = regexp.MustCompile(`^[0-9]{1,9}[a-z]{0,4}$`)

// AskPassages identifies the passages to request from partners.
type AskPassages struct {
	At              concordat.Span   // span of the submission
	Lead            string           // number of a partner's possible lead whose passages are requested; empty to request passages at At
	Partner         concordat.SiteID // empty for all partners with sources
	Level           concordat.Show   // ShowOverlap or ShowPassage
	Reason, Contact string           // required for ShowPassage, which needs a person's decision
	Refresh         bool             // only update the state of pending requests
}

// AskFor sends the requests and returns their states.
func (w checkPages) AskFor(ctx context.Context, v *Visitor, t store.Task, a AskPassages) ([]report.Disclosure, error) {
	a.Reason, a.Contact = strings.TrimSpace(a.Reason), strings.TrimSpace(a.Contact)
	switch {
	case w.o.Partner == nil:
		return nil, fmt.Errorf("ask partners: %w", concordat.ErrUnavailable)
	case !pages.HasReport(t):
		return nil, fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	case a.Refresh:
	case a.Level != concordat.ShowOverlap && a.Level != concordat.ShowPassage:
		return nil, message.Invalid("wrong.action", a.Level)
	case a.Level == concordat.ShowPassage && (a.Reason == "" || a.Contact == ""):
		return nil, message.Invalid("wrong.ask")
	case len(a.Reason) > 4<<10 || len(a.Contact) > 4<<10: // the bounds enforced by partners
		return nil, message.Invalid("wrong.ask")
	}
	f, err := w.o.Site.Findings(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	if a.Refresh {
		return w.refresh(ctx, v, t, f)
	}
	if a.Lead != "" {
		i := slices.IndexFunc(f.PartnerLeads, func(l report.PartnerLead) bool { return l.Number == a.Lead })
		switch {
		case i < 0:
			return nil, message.Absent("wrong.lead")
		case a.Level != concordat.ShowPassage:
			return nil, message.Invalid("wrong.lead.level")
		}
		return w.askOne(ctx, v, t, f.PartnerLeads[i].Source.Site, a, nil)
	}
	can := w.o.Asks.Revealable(f, a.At, a.Level).Passages
	var out []report.Disclosure
	var errs []error
	for _, partner := range slices.Sorted(maps.Keys(can)) {
		if a.Partner != "" && partner != a.Partner {
			continue
		}
		ds, err := w.askOne(ctx, v, t, partner, a, can[partner])
		out, errs = append(out, ds...), append(errs, err)
	}
	return out, errors.Join(errs...)
}

func (w checkPages) askOne(ctx context.Context, v *Visitor, t store.Task, partner concordat.SiteID, a AskPassages,
	passages []int) ([]report.Disclosure, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	// The audit entry is written first because the partner keeps the request.
	err := w.o.Store.Audit.Note(ctx, v.Name, "passages_asked", map[string]any{"task": t.ID, "site": partner, "level": a.Level,
		"passages": len(passages)})
	if err != nil {
		return nil, err
	}
	p, done, err := w.o.Partner.Connect(ctx, partner)
	if err != nil {
		return nil, err
	}
	defer done()
	request := ask.RevealRequest{Partner: p, Level: a.Level, Reason: a.Reason, Contact: a.Contact}
	if a.Lead != "" {
		return w.o.Asks.RevealLead(ctx, t.ID, request, a.Lead)
	}
	return w.o.Asks.Reveal(ctx, t.ID, request, passages...)
}

// refresh updates the state of pending requests.
func (w checkPages) refresh(ctx context.Context, v *Visitor, t store.Task, f *report.Findings) ([]report.Disclosure, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	partners := map[concordat.SiteID]concordat.Partner{}
	for _, d := range f.Disclosures {
		if d.State != concordat.DisclosurePending || partners[d.Source.Site] != nil {
			continue
		}
		p, done, err := w.o.Partner.Connect(ctx, d.Source.Site)
		if err != nil {
			return nil, err
		}
		defer done()
		partners[d.Source.Site] = p
	}
	if err := w.o.Store.Audit.Note(ctx, v.Name, "passages_refreshed", map[string]any{"task": t.ID, "sites": len(partners)}); err != nil {
		return nil, err
	}
	return w.o.Asks.RefreshDisclosures(ctx, t.ID, slices.Collect(maps.Values(partners))...)
}
