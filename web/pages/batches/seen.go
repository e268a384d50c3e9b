package batches

import (
	"context"

	"concordat"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/pages"
	"concordat/web/review"
)

// SeenBatch returns the part of a batch's findings so far that the visitor may see, and the visitor's level.
func (w Batches) SeenBatch(ctx context.Context, v *pages.Visitor, id string) (*batch.View, review.See, error) {
	b, err := w.VisibleBatch(ctx, v, id)
	if err != nil {
		return nil, review.SeeNothing, err
	}
	view, err := batch.Open(ctx, w.Store, b.ID)
	if err != nil {
		return nil, review.SeeNothing, err
	}
	s, err := w.o.Reviews.SeesBatch(ctx, v, view.Members)
	if err != nil {
		return nil, review.SeeNothing, err
	}
	if !s.Shows(review.SeeReport) {
		view = view.WithoutPairs()
	}
	if !s.Shows(review.SeeScore) {
		view = view.WithoutShares()
	}
	return view, s, nil
}

// PairsOf is like SeenBatch, but fails with review.ErrNotShown if the visitor may not see pairs.
func (w Batches) PairsOf(ctx context.Context, v *pages.Visitor, id string) (*batch.View, error) {
	view, s, err := w.SeenBatch(ctx, v, id)
	if err == nil && !s.Shows(review.SeeReport) {
		return nil, review.ErrNotShown
	}
	return view, err
}

// seesFresh reports whether the visitor may see which sources a recheck found for the first time.
func (w Batches) seesFresh(ctx context.Context, v *pages.Visitor, r store.Recheck) (bool, error) {
	if v.SeesAll() {
		return true, nil
	}
	if r.Kind == store.RecheckBatch {
		members, err := w.Store.Batches.BatchMembers(ctx, r.Target)
		if err != nil {
			return false, err
		}
		s, err := w.o.Reviews.SeesBatch(ctx, v, members)
		return s.Shows(review.SeeReport), err
	}
	id := r.Latest
	if id == "" {
		id = r.Target
	}
	s, err := w.o.Reviews.SeesBatch(ctx, v, []store.BatchMember{{Task: concordat.TaskID(id)}})
	return s.Shows(review.SeeReport), err
}
