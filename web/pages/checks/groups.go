package checks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"concordat"
	"concordat/store"
	"concordat/view"
	"concordat/web/pages"
)

// caseGroup is a batch or an archive in the list of checks.
type caseGroup struct {
	store.GroupSum
	Title   string
	Path    string // path of its page or, for an archive, of the list of its checks
	Inside  string // path of the list of its checks
	ByFlags string // like Inside, but with the most flags first
	State   concordat.State
	Cause   store.Cause
	Archive bool
	LeftOut concordat.LeftOut // files skipped in an archive
	// Figures reports whether the visitor may see figures from the reports.
	Figures bool
}

// groups maps the listed tasks to their batches and archives.
func (w Checks) groups(ctx context.Context, v *pages.Visitor, f caseFilter, tasks []store.Task) (map[concordat.TaskID]*caseGroup, error) {
	out := map[concordat.TaskID]*caseGroup{}
	var batches, archives []string
	for _, t := range tasks {
		switch {
		case t.Cause.Code == store.CauseSplit:
			archives = append(archives, string(t.ID))
		case t.Batch != "" && f.Grouped():
			batches = append(batches, t.Batch)
		}
	}
	inside, err := w.o.Control.Store.Batches.SumArchives(ctx, archives)
	if err != nil {
		return nil, err
	}
	sums, err := w.o.Control.Store.Batches.SumBatches(ctx, batches)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if t.Cause.Code == store.CauseSplit {
			out[t.ID] = f.archive(v, t, inside[string(t.ID)])
			continue
		}
		if !f.Grouped() || t.Batch == "" {
			continue
		}
		g, err := w.batchGroup(ctx, v, f, t.Batch, sums[t.Batch])
		switch {
		case errors.Is(err, concordat.ErrNotFound): // separate checks, submitted together
		case err != nil:
			return nil, err
		default:
			out[t.ID] = g
		}
	}
	return out, nil
}

// underway returns recent batches in progress that have no row among the listed groups.
func underway(ctx context.Context, db *store.Batches, v *pages.Visitor, listed map[concordat.TaskID]*caseGroup) ([]store.Batch, error) {
	shown := map[string]bool{}
	for _, g := range listed {
		shown[g.Path] = true
	}
	bs, err := db.Batches(ctx, v.OwnOnly(), 0, onPage)
	bs = slices.DeleteFunc(bs, func(b store.Batch) bool { return b.State.Ended() || shown[batchPath(b.ID)] })
	for i := range bs {
		bs[i].Title = pages.Visible(bs[i].Title)
	}
	return bs, err
}

// batchPath returns the path of a batch's page.
func batchPath(id string) string { return "/batches/" + url.PathEscape(id) }

// groupOf returns the batch or archive with the given ID, if the visitor may see it.
func (w Checks) groupOf(ctx context.Context, v *pages.Visitor, f caseFilter) (*caseGroup, error) {
	t, err := w.o.Control.Visible(ctx, v, concordat.TaskID(f.In))
	if err == nil && t.Cause.Code == store.CauseSplit {
		return f.archive(v, t, store.GroupSum{}), nil
	}
	if err == nil {
		err = fmt.Errorf("archive %s: %w", f.In, concordat.ErrNotFound)
	}
	if !errors.Is(err, concordat.ErrNotFound) {
		return nil, err
	}
	if _, err := w.o.Batches.VisibleBatch(ctx, v, f.In); err != nil {
		return nil, err
	}
	return w.batchGroup(ctx, v, f, f.In, store.GroupSum{})
}

// inside returns the address of the checks of a group, with the view and minimum share selected in the list.
func (f caseFilter) inside(id string) string {
	f.In, f.From = id, 0
	return f.Path(0)
}

func (f caseFilter) byFlags(id string) string {
	f.Order = store.TasksByFlags
	return f.inside(id)
}

func (f caseFilter) archive(v *pages.Visitor, t store.Task, sum store.GroupSum) *caseGroup {
	inside := f.inside(string(t.ID))
	g := &caseGroup{GroupSum: sum, Title: pages.Visible(t.Title), Path: inside, Inside: inside,
		ByFlags: f.byFlags(string(t.ID)), State: t.State, Archive: true, LeftOut: view.LeftOutOf(t), Figures: v.SeesAll()}
	if sum.Waiting > 0 {
		g.State = concordat.TaskRunning
	}
	return g
}

// batchGroup returns a batch as a row of the list.
func (w Checks) batchGroup(ctx context.Context, v *pages.Visitor, f caseFilter, id string, sum store.GroupSum) (*caseGroup, error) {
	b, err := w.o.Control.Store.Batches.Batch(ctx, id)
	if err != nil {
		return nil, err
	}
	return &caseGroup{GroupSum: sum, Title: pages.Visible(b.Title), Path: batchPath(b.ID), Inside: f.inside(b.ID),
		ByFlags: f.byFlags(b.ID), State: b.State,
		Cause: b.Cause, Figures: v.SeesAll()}, nil
}
