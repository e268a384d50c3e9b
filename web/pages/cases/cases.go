// Package cases serves the pages and API operations for cases that this site shares with partners. Start with New.
package cases

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"concordat"
	"concordat/site"
	"concordat/site/retain"
	"concordat/store"
	"concordat/view"
	"concordat/web/message"
	"concordat/web/pages"
)

// Options configures the pages.
type Options struct {
	Site  *site.Site
	Store *store.DB
	Terms retain.CaseTerms // how long documents are kept after decisions
}

// Cases shows the cases shared with partners and records people's decisions about them.
type Cases struct {
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Cases {
	c := Cases{frame, o}
	frame.AddPage("GET /cases", pages.Officers, c.page)
	frame.AddPage("GET /cases/{id}", pages.Officers, c.onePage)
	frame.AddPage("POST /cases/{id}", pages.Officers, c.change)
	return c
}

// casesOnPage is the number of cases on a page.
const casesOnPage = 100

// List returns up to limit cases with numbers below before, latest first, and the value of before for the next page.
func (c Cases) List(ctx context.Context, open bool, before int64, limit int) (out []view.Case, next int64, err error) {
	all, err := c.o.Store.Cases.List(ctx, open, before, limit)
	if err != nil {
		return nil, 0, err
	}
	names, err := c.frame.Names(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, x := range all {
		one, err := c.view(ctx, x, names)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, one)
	}
	if len(all) == limit {
		next = all[limit-1].Seq
	}
	return out, next, nil
}

func (c Cases) view(ctx context.Context, x store.SharedCase, names pages.Names) (view.Case, error) {
	requests, err := c.o.Store.Cases.Requests(ctx, x)
	return view.OfCase(x, requests, names.Sites), err
}

// One returns a case.
func (c Cases) One(ctx context.Context, number string) (view.Case, error) {
	id, err := concordat.ParseCaseID(number)
	if err != nil {
		return view.Case{}, err
	}
	x, err := c.o.Store.Cases.Case(ctx, id)
	if err != nil {
		return view.Case{}, err
	}
	names, err := c.frame.Names(ctx)
	if err != nil {
		return view.Case{}, err
	}
	return c.view(ctx, x, names)
}

// Move saves the visitor's position on a case.
func (c Cases) Move(ctx context.Context, v *pages.Visitor, number string, m retain.CaseMove) (view.Case, error) {
	id, err := concordat.ParseCaseID(number)
	if err == nil {
		m.After = c.o.Terms.Of(m.Decision)
		_, err = retain.MoveCase(ctx, c.o.Site, c.o.Store, id, v.Name, m)
	}
	if errors.Is(err, concordat.ErrInvalid) {
		err = message.Invalid("shared.wrong", err)
	}
	if err != nil {
		return view.Case{}, err
	}
	return c.One(ctx, number)
}

type listPage struct {
	Open  bool
	Cases []view.Case
	Next  int64
}

func (c Cases) page(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // an unparsable value starts at the latest case
	p := listPage{Open: r.URL.Query().Get("all") == ""}
	var err error
	if p.Cases, p.Next, err = c.List(r.Context(), p.Open, max(before, 0), casesOnPage); err != nil {
		c.frame.Fail(rw, r, v, err)
		return
	}
	c.frame.Show(rw, r, v, http.StatusOK, "shared_cases", "title.shared", p)
}

type casePage struct {
	view.Case
	People    pages.Names
	States    []concordat.CaseState
	Decisions []concordat.CaseDecision
}

func (c Cases) onePage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	x, err := c.One(r.Context(), r.PathValue("id"))
	var names pages.Names
	if err == nil {
		names, err = c.frame.Names(r.Context())
	}
	if err != nil {
		c.frame.Fail(rw, r, v, err)
		return
	}
	c.frame.Show(rw, r, v, http.StatusOK, "shared_case", "title.sharedcase",
		casePage{x, names, concordat.CaseStates(), concordat.CaseDecisions()[1:]})
}

func (c Cases) change(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	if err == nil {
		f := r.PostForm
		_, err = c.Move(r.Context(), v, r.PathValue("id"), retain.CaseMove{State: concordat.CaseState(f.Get("state")), Words: f.Get("words"),
			Contact: f.Get("contact"), Decision: concordat.CaseDecision(f.Get("decision")), Keep: f.Get("keep") != ""})
	}
	if err != nil {
		c.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/cases/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
}
