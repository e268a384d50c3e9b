package batches

import (
	"context"
	"fmt"

	"concordat"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/pages"
)

// Control finds, stops and repeats batches for people who may do so. It is safe for concurrent use.
type Control struct {
	Store *store.DB
	Queue *batch.Queue // runs batches and scheduled rechecks; if nil, there are none
}

// ErrNone is returned on a site without a batch queue.
var ErrNone = fmt.Errorf("batches: %w", concordat.ErrUnavailable)

// VisibleBatch returns a batch if the visitor may see it; for other visitors it does not exist.
func (c Control) VisibleBatch(ctx context.Context, v *pages.Visitor, id string) (store.Batch, error) {
	b, err := c.Store.Batches.Batch(ctx, id)
	if err == nil && !v.SeesAll() && b.Owner != v.Name {
		err = fmt.Errorf("batch %s: %w", id, concordat.ErrNotFound)
	}
	return b, err
}

// mayChangeBatch reports whether the visitor may cancel a batch or schedule rechecks of it.
func (c Control) mayChangeBatch(v *pages.Visitor, b store.Batch) bool {
	return v.Role != store.RoleAuditor && (b.Owner == v.Name || v.MayReview())
}

// StopBatch cancels a batch, or fails with concordat.ErrRefused if the visitor may not change it.
func (c Control) StopBatch(ctx context.Context, v *pages.Visitor, b store.Batch) error {
	if !c.mayChangeBatch(v, b) {
		return fmt.Errorf("cancel %s: %w", b.ID, concordat.ErrRefused)
	}
	if c.Queue == nil {
		return ErrNone
	}
	return c.Queue.Cancel(ctx, b.ID, store.Cause{Code: store.CauseCancelled, Who: v.Name},
		v.Note("batch_cancelled", map[string]any{"batch": b.ID}))
}

// Rest stops a batch unless it has ended, and returns once no process is working on it.
func (c Control) Rest(ctx context.Context, v *pages.Visitor, b store.Batch) error {
	if !b.State.Ended() {
		if err := c.StopBatch(ctx, v, b); err != nil {
			return err
		}
	}
	if c.Queue == nil {
		return nil
	}
	return c.Queue.Await(ctx, b.ID)
}

// RepeatBatch runs a batch again, or fails with concordat.ErrRefused if the visitor may not change it.
func (c Control) RepeatBatch(ctx context.Context, v *pages.Visitor, b store.Batch) error {
	switch {
	case !c.mayChangeBatch(v, b):
		return fmt.Errorf("repeat %s: %w", b.ID, concordat.ErrRefused)
	case c.Queue == nil:
		return ErrNone
	}
	return c.Queue.Again(ctx, b.ID, v.Note("batch_again", map[string]any{"batch": b.ID}))
}
