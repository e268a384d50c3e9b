package web

import (
	"context"
	"slices"

	"concordat"
	"concordat/site/batch"
	"concordat/store"
)

// seesMore lists the levels of access to findings, lowest first.
var seesMore = []See{SeeNothing, SeeScore, SeeReport, SeeEverything}

// batchSees returns the visitor's current level of access to the findings among a batch's documents. It is the lowest level for any of
// their reports, since a pair reveals something about both documents.
func (w batchPages) batchSees(ctx context.Context, v *Visitor, members []store.BatchMember) (See, error) {
	if v.SeesAll() {
		return SeeEverything, nil
	}
	if w.o.Policy.From == FromDone {
		return w.o.Policy.See, nil
	}
	least := w.o.Policy.See
	for _, m := range members {
		switch {
		case !m.Cause.IsZero():
			continue // the document has no report
		case m.Task == "":
			return SeeNothing, nil
		}
		now, err := w.Reviews.OfTask(ctx, m.Task)
		if err != nil {
			return SeeNothing, err
		}
		if s := w.Sees(v, now); !shows(s, least) {
			least = s
		}
	}
	return least, nil
}

// shows reports whether level s permits findings that require at least level least.
func shows(s, least See) bool { return slices.Index(seesMore, s) >= slices.Index(seesMore, least) }

// SeenBatch returns the part of a batch's findings so far that the visitor may see, and the visitor's level.
func (w batchPages) SeenBatch(ctx context.Context, v *Visitor, id string) (*batch.View, See, error) {
	b, err := w.VisibleBatch(ctx, v, id)
	if err != nil {
		return nil, SeeNothing, err
	}
	view, err := batch.Open(ctx, w.o.Store, b.ID)
	if err != nil {
		return nil, SeeNothing, err
	}
	s, err := w.batchSees(ctx, v, view.Members)
	if err != nil {
		return nil, SeeNothing, err
	}
	if !shows(s, SeeReport) {
		view = view.WithoutPairs()
	}
	if !shows(s, SeeScore) {
		view = view.WithoutShares()
	}
	return view, s, nil
}

// PairsOf is like SeenBatch, but fails with ErrNotShown if the visitor may not see pairs.
func (w batchPages) PairsOf(ctx context.Context, v *Visitor, id string) (*batch.View, error) {
	view, s, err := w.SeenBatch(ctx, v, id)
	if err == nil && !shows(s, SeeReport) {
		return nil, ErrNotShown
	}
	return view, err
}

// seesFresh reports whether the visitor may see which sources a recheck found for the first time.
func (w batchPages) seesFresh(ctx context.Context, v *Visitor, r store.Recheck) (bool, error) {
	if v.SeesAll() {
		return true, nil
	}
	if r.Kind == store.RecheckBatch {
		members, err := w.o.Store.Batches.BatchMembers(ctx, r.Target)
		if err != nil {
			return false, err
		}
		s, err := w.batchSees(ctx, v, members)
		return shows(s, SeeReport), err
	}
	id := r.Latest
	if id == "" {
		id = r.Target
	}
	s, err := w.batchSees(ctx, v, []store.BatchMember{{Task: concordat.TaskID(id)}})
	return shows(s, SeeReport), err
}
