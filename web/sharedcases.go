package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"concordat"
	"concordat/site/retain"
	"concordat/store"
	"concordat/view"
	"concordat/web/message"
)

// SharedCases shows the cases that this site shares with partners, and records what people decide about them.
type SharedCases struct{ w *Web }

// SharedCasesOf returns the shared cases of a site.
func SharedCasesOf(w *Web) SharedCases { return SharedCases{w} }

func (c SharedCases) routes() {
	c.w.AddPage("GET /cases", Officers, c.page)
	c.w.AddPage("GET /cases/{id}", Officers, c.onePage)
	c.w.AddPage("POST /cases/{id}", Officers, c.change)
}

// casesOnPage is how many cases a page lists.
const casesOnPage = 100

// List returns cases before a number, latest first, and the number before which to continue.
func (c SharedCases) List(ctx context.Context, open bool, before int64, limit int) (out []view.Case, next int64, err error) {
	all, err := c.w.o.Store.Cases.List(ctx, open, before, limit)
	if err != nil {
		return nil, 0, err
	}
	names, err := calledOn(ctx, c.w)
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

func (c SharedCases) view(ctx context.Context, x store.SharedCase, names called) (view.Case, error) {
	requests, err := c.w.o.Store.Cases.Requests(ctx, x)
	return view.OfCase(x, requests, names.Sites), err
}

// One returns a case.
func (c SharedCases) One(ctx context.Context, number string) (view.Case, error) {
	id, err := concordat.ParseCaseID(number)
	if err != nil {
		return view.Case{}, err
	}
	x, err := c.w.o.Store.Cases.Case(ctx, id)
	if err != nil {
		return view.Case{}, err
	}
	names, err := calledOn(ctx, c.w)
	if err != nil {
		return view.Case{}, err
	}
	return c.view(ctx, x, names)
}

// Move saves the visitor's position on a case.
func (c SharedCases) Move(ctx context.Context, v *Visitor, number string, m retain.CaseMove) (view.Case, error) {
	id, err := concordat.ParseCaseID(number)
	if err == nil {
		m.After = c.w.o.CaseTerms.Of(m.Decision)
		_, err = retain.MoveCase(ctx, c.w.o.Site, c.w.o.Store, id, v.Name, m)
	}
	if errors.Is(err, concordat.ErrInvalid) {
		err = message.Invalid("shared.wrong", err)
	}
	if err != nil {
		return view.Case{}, err
	}
	return c.One(ctx, number)
}

type sharedCasesPage struct {
	Open  bool
	Cases []view.Case
	Next  int64
}

func (c SharedCases) page(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // an unparsable value starts at the latest
	p := sharedCasesPage{Open: r.URL.Query().Get("all") == ""}
	var err error
	if p.Cases, p.Next, err = c.List(r.Context(), p.Open, max(before, 0), casesOnPage); err != nil {
		c.w.Fail(rw, r, v, err)
		return
	}
	c.w.Show(rw, r, v, http.StatusOK, "shared_cases", "title.shared", p)
}

type sharedCasePage struct {
	view.Case
	People    called
	States    []concordat.CaseState
	Decisions []concordat.CaseDecision
}

func (c SharedCases) onePage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	x, err := c.One(r.Context(), r.PathValue("id"))
	var names called
	if err == nil {
		names, err = calledOn(r.Context(), c.w)
	}
	if err != nil {
		c.w.Fail(rw, r, v, err)
		return
	}
	c.w.Show(rw, r, v, http.StatusOK, "shared_case", "title.sharedcase",
		sharedCasePage{x, names, concordat.CaseStates(), concordat.CaseDecisions()[1:]})
}

func (c SharedCases) change(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	err := ParseForm(rw, r)
	if err == nil {
		f := r.PostForm
		_, err = c.Move(r.Context(), v, r.PathValue("id"), retain.CaseMove{State: concordat.CaseState(f.Get("state")), Words: f.Get("words"),
			Contact: f.Get("contact"), Decision: concordat.CaseDecision(f.Get("decision")), Keep: f.Get("keep") != ""})
	}
	if err != nil {
		c.w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/cases/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
}
