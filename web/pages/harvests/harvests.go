// Package harvests serves the pages and API operations for harvesting sources. Start with New.
package harvests

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/harvest"
	"concordat/harvest/fetch"
	"concordat/store"
	"concordat/view"
	"concordat/web/message"
	"concordat/web/pages"
)

// Options configures the pages.
type Options struct {
	Store *store.DB
	Fetch *fetch.Client    // reads sources; nil if no sources can be added here
	Now   func() time.Time // the default is time.Now
}

// Harvests shows and changes the harvesting sources.
type Harvests struct {
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Harvests {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := Harvests{frame, o}

	h.frame.AddPage("GET /admin/harvest", pages.Overseers, h.page)
	h.frame.AddPage("POST /admin/harvest", pages.Administrators, h.addForm)
	h.frame.AddPage("GET /admin/harvest/{id}", pages.Overseers, h.onePage)
	h.frame.AddPage("POST /admin/harvest/{id}", pages.Administrators, h.change)
	return h
}

// errNoHarvest is returned on a site that does not harvest.
var errNoHarvest = fmt.Errorf("this site does not harvest: %w", concordat.ErrRefused)

// All returns the sources sorted by name.
func (h Harvests) All(ctx context.Context) ([]view.Harvest, error) {
	all, err := h.o.Store.Harvest.Sources(ctx)
	out := make([]view.Harvest, 0, len(all))
	for _, s := range all {
		if err == nil {
			var counts map[store.HarvestRecordState]int
			counts, err = h.o.Store.Harvest.CountRecords(ctx, s.ID)
			out = append(out, view.OfHarvest(s, counts))
		}
	}
	return out, err
}

// One returns a source.
func (h Harvests) One(ctx context.Context, id string) (view.Harvest, error) {
	s, err := h.o.Store.Harvest.Source(ctx, id)
	if err != nil {
		return view.Harvest{}, err
	}
	counts, err := h.o.Store.Harvest.CountRecords(ctx, id)
	return view.OfHarvest(s, counts), err
}

// Records returns the records of a source that follow the named one. An empty state selects records in all states.
func (h Harvests) Records(ctx context.Context, id string, state store.HarvestRecordState, after string, limit int) ([]view.HarvestRecord,
	error) {
	if _, err := h.o.Store.Harvest.Source(ctx, id); err != nil {
		return nil, err
	}
	rows, err := h.o.Store.Harvest.ListRecords(ctx, id, state, after, limit)
	out := make([]view.HarvestRecord, 0, len(rows))
	for _, r := range rows {
		one := view.OfHarvestRecord(r)
		one.Work.Page = one.Work.PageURL()
		out = append(out, one)
	}
	return out, err
}

// Add adds a source.
func (h Harvests) Add(ctx context.Context, v *pages.Visitor, spec harvest.Spec) (view.Harvest, error) {
	if h.o.Fetch == nil {
		return view.Harvest{}, errNoHarvest
	}
	if _, err := h.o.Store.Catalogue.Library(ctx, spec.Library); err != nil {
		if errors.Is(err, concordat.ErrNotFound) {
			err = message.Absent("wrong.library", string(spec.Library))
		}
		return view.Harvest{}, err
	}
	s, err := harvest.NewSource(spec, h.o.Fetch, false, h.o.Now())
	if err != nil {
		return view.Harvest{}, err
	}
	err = pages.Change(ctx, h.o.Store, v.Name, "harvest_added", map[string]any{"source": s.ID, "url": s.URL, "library": s.Library},
		func(tx *store.DB) error {
			return tx.Harvest.AddSource(ctx, s)
		})
	if err != nil {
		return view.Harvest{}, err
	}
	return h.One(ctx, s.ID)
}

// Run starts reading a source. If whole is set, it reads everything that the source lists.
func (h Harvests) Run(ctx context.Context, v *pages.Visitor, id string, whole bool) error {
	ask := ""
	if whole {
		ask = harvest.AskWhole
	}
	return pages.Change(ctx, h.o.Store, v.Name, "harvest_asked", map[string]any{"source": id, "whole": whole}, func(tx *store.DB) error {
		return tx.Harvest.PlanSource(ctx, id, h.o.Now(), ask)
	})
}

// Remove removes a source. Its documents are kept.
func (h Harvests) Remove(ctx context.Context, v *pages.Visitor, id string) error {
	return pages.Change(ctx, h.o.Store, v.Name, "harvest_source_removed", map[string]any{"source": id}, func(tx *store.DB) error {
		return tx.Harvest.RemoveSource(ctx, id)
	})
}

// listPage lists the sources.
type listPage struct {
	Sources   []view.Harvest
	Libraries []store.Library
	MayChange bool
	Problem   string
	Asked     url.Values
	Busy      bool // a source is being read
}

// Field returns the value of a field of the form.
func (p listPage) Field(name string) string { return p.Asked.Get(name) }

func (h Harvests) page(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	h.show(rw, r, v, http.StatusOK, listPage{Asked: url.Values{"every": {"24"}}})
}

func (h Harvests) show(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, status int, p listPage) {
	var err error
	p.MayChange = v.Role == store.RoleAdministrator && h.o.Fetch != nil
	if p.Sources, err = h.All(r.Context()); err == nil {
		p.Libraries, err = h.o.Store.Catalogue.Libraries(r.Context())
	}
	if err != nil {
		h.frame.Fail(rw, r, v, err)
		return
	}
	p.Busy = slices.ContainsFunc(p.Sources, func(s view.Harvest) bool { return s.Running })
	h.frame.Show(rw, r, v, status, "admin_harvest", "admin.harvest", p)
}

func (h Harvests) addForm(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	if err == nil {
		f := r.PostForm
		var every time.Duration
		if every, err = time.ParseDuration(strings.TrimSpace(f.Get("every")) + "h"); err != nil {
			err = message.Invalid("wrong.hours", f.Get("every"))
		} else {
			_, err = h.Add(r.Context(), v, harvest.Spec{URL: f.Get("url"), Library: concordat.LibraryID(f.Get("library")),
				Set:    strings.TrimSpace(f.Get("set")),
				Format: strings.TrimSpace(f.Get("format")), Every: every, Withdrawn: f.Get("withdrawn"),
				ID: strings.TrimSpace(f.Get("name"))})
		}
	}
	switch {
	case errors.Is(err, concordat.ErrInvalid), errors.Is(err, concordat.ErrExists):
		words, _ := message.LanguageOf(r).Reason(err)
		if errors.Is(err, concordat.ErrExists) {
			words = message.LanguageOf(r).Say("harvest.taken")
		}
		h.show(rw, r, v, http.StatusBadRequest, listPage{Problem: words, Asked: r.PostForm})
	case err != nil:
		h.frame.Fail(rw, r, v, err)
	default:
		http.Redirect(rw, r, "/admin/harvest", http.StatusSeeOther)
	}
}

// sourcePage shows one source.
type sourcePage struct {
	Source    view.Harvest
	State     store.HarvestRecordState
	States    []store.HarvestRecordState
	Records   []view.HarvestRecord
	Older     string // address of the next page of records
	MayChange bool
}

// shownRecords is the number of records on a page.
const shownRecords = 100

func (h Harvests) onePage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	q := r.URL.Query()
	p := sourcePage{State: store.HarvestRecordState(q.Get("state")), States: store.HarvestRecordStates,
		MayChange: v.Role == store.RoleAdministrator}
	var err error
	if p.State != "" && !slices.Contains(store.HarvestRecordStates, p.State) {
		p.State = ""
	}
	if p.Source, err = h.One(r.Context(), r.PathValue("id")); err == nil {
		p.Records, err = h.Records(r.Context(), p.Source.ID, p.State, q.Get("after"), shownRecords)
	}
	if err != nil {
		h.frame.Fail(rw, r, v, err)
		return
	}
	if n := len(p.Records); n == shownRecords {
		p.Older = "/admin/harvest/" + p.Source.ID + "?" + url.Values{"state": {string(p.State)}, "after": {p.Records[n-1].ID}}.Encode()
	}
	h.frame.Show(rw, r, v, http.StatusOK, "admin_harvest_one", "admin.harvest", p)
}

func (h Harvests) change(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	id, to := r.PathValue("id"), "/admin/harvest"
	err := pages.ParseForm(rw, r)
	if err == nil {
		switch r.PostForm.Get("action") {
		case "run", "whole":
			err = h.Run(r.Context(), v, id, r.PostForm.Get("action") == "whole")
			to += "/" + id
		case "remove":
			err = h.Remove(r.Context(), v, id)
		default:
			err = message.Invalid("wrong.action", r.PostForm.Get("action"))
		}
	}
	if err != nil {
		h.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}
