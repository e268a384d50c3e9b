// Package requests serves the pages of requests for passages: partners' requests, which officers decide, and this site's own requests to
// partners. The API shares its operations. Start with New.
package requests

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"concordat"
	"concordat/site"
	siteanswer "concordat/site/answer"
	"concordat/site/ask"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// Options configures the pages.
type Options struct {
	Site    *site.Site
	Store   *store.DB
	Answers *siteanswer.Answerer
	Asks    *ask.Asker
	Tasks   pages.Tasks
	// Partners are asked for passages; if nil, no partner can be asked.
	Partners pages.Connector
	Logger   *slog.Logger
}

// Requests shows requests for passages, records decisions on those of partners, and sends new ones to partners.
type Requests struct {
	pages.Auditor
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Requests {
	s := Requests{pages.Auditor{Store: o.Store, Logger: o.Logger}, frame, o}
	frame.AddPage("GET /requests", pages.Officers, s.page)
	frame.AddPage("GET /requests/{id}", pages.Officers, s.onePage)
	frame.AddPage("POST /requests/{id}", pages.Officers, s.change)
	frame.AddPage("POST /checks/{id}/ask", pages.Officers, s.ask)
	return s
}

// onPage is the number of requests on a page.
const onPage = 100

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

type listPage struct {
	State    string
	States   []string
	Requests []Request
	Next     string // ID after which the next page begins; empty on the last page
}

// states are the states of a request in order.
var states = []string{concordat.DisclosurePending, concordat.DisclosureGranted, concordat.DisclosureRefused,
	concordat.DisclosureExpired, concordat.DisclosureWithdrawn}

func (s Requests) page(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	state := r.URL.Query().Get("state")
	if !slices.Contains(states, state) {
		state = ""
	}
	all, next, err := s.List(r.Context(), state, r.URL.Query().Get("after"), onPage)
	if err != nil {
		s.frame.Fail(rw, r, v, err)
		return
	}
	s.frame.Show(rw, r, v, http.StatusOK, "requests", "title.requests", listPage{state, states, all, next})
}

// List returns requests for passages in both directions, latest first, starting after the given ID, and the ID after which the next
// page begins.
func (s Requests) List(ctx context.Context, state, after string, limit int) (out []Request, next string, err error) {
	ds, next, err := s.o.Answers.Requests.DisclosuresAfter(ctx, state, after, limit)
	if err != nil {
		return nil, "", err
	}
	names, err := s.frame.Names(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, d := range ds {
		one, err := s.named(ctx, d, names)
		if err != nil {
			return nil, "", err
		}
		out = append(out, one)
	}
	return out, next, nil
}

// Waiting returns the number of partners' requests that the visitor may decide, at most onPage.
func (s Requests) Waiting(ctx context.Context, v *pages.Visitor) int {
	if v == nil || !v.MayReview() || s.o.Answers == nil {
		return 0
	}
	ds, _, err := s.o.Answers.Requests.DisclosuresAfter(ctx, concordat.DisclosurePending, "", onPage)
	if err != nil {
		s.o.Logger.Error("requests that wait", "error", err)
	}
	n := 0
	for _, d := range ds {
		if d.Direction == store.DisclosureIn {
			n++
		}
	}
	return n
}

func (s Requests) named(ctx context.Context, d store.Disclosure, names pages.Names) (Request, error) {
	one := Request{Disclosure: d, Name: names.Sites[d.Partner], Place: names.Library(d.Library), Decider: names.Person(d.Actor)}
	if one.Name == "" {
		one.Name = string(d.Partner)
	}
	if one.In() {
		row, err := s.o.Store.Catalogue.DocumentRow(ctx, d.Library, d.Document)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return one, err
		}
		one.Title = row.Title
		job, err := s.o.Store.Answers.AnswerJob(ctx, d.Partner, d.Job)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return one, err
		}
		one.Purpose = job.Purpose
		return one, nil
	}
	asked, err := s.o.Store.Asks.Ask(ctx, d.Job)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return one, err
	}
	one.Task = asked.Task
	t, err := s.o.Store.Checks.Task(ctx, asked.Task)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) { // deleted in the meantime
		return one, err
	}
	one.Check = pages.Visible(t.Title)
	return one, nil
}

// Page is a request with the passages it concerns.
type Page struct {
	Request
	Passages []string // passages from this site's document
	Gone     bool     // the document has changed since the request
}

// onePage shows a request with the passages that the partner asks to read.
func (s Requests) onePage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	p, err := s.One(r.Context(), r.PathValue("id"))
	if err != nil {
		s.frame.Fail(rw, r, v, err)
		return
	}
	s.Audit(r.Context(), v.Name, "request_read", map[string]any{"request": p.ID, "site": p.Partner})
	s.frame.Show(rw, r, v, http.StatusOK, "request", "title.request", p)
}

// One returns a request with its passages.
func (s Requests) One(ctx context.Context, id string) (Page, error) {
	var p Page
	d, err := s.o.Store.Answers.Disclosure(ctx, id)
	if err != nil {
		return p, err
	}
	if d.Direction == store.DisclosureIn {
		asked, texts, err := s.o.Answers.Requests.Asked(ctx, id)
		switch {
		case errors.Is(err, concordat.ErrNotFound):
			p.Gone = true
		case err != nil:
			return p, err
		default:
			d, p.Passages = asked, texts
		}
	}
	names, err := s.frame.Names(ctx)
	if err == nil {
		p.Request, err = s.named(ctx, d, names)
	}
	return p, err
}

// change grants or refuses a partner's request, or withdraws a grant.
func (s Requests) change(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	if err == nil {
		_, err = s.Decide(r.Context(), v, r.PathValue("id"), r.PostForm.Get("action"), r.PostForm.Get("words"))
	}
	if err != nil {
		s.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/requests/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
}

// Decide grants or refuses a partner's request, or withdraws a grant; words is the message to the partner.
func (s Requests) Decide(ctx context.Context, v *pages.Visitor, id, action, words string) (store.Disclosure, error) {
	var d store.Disclosure
	var err error
	switch action {
	case "approve":
		d, err = s.o.Answers.Requests.Decide(ctx, id, v.Name, true, words)
	case "refuse":
		d, err = s.o.Answers.Requests.Decide(ctx, id, v.Name, false, words)
	case "withdraw":
		d, err = s.o.Answers.Requests.Withdraw(ctx, id, v.Name, words)
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
