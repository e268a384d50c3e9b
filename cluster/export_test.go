package cluster

import (
	"context"
	"errors"
	"time"

	"concordat"
	"concordat/index"
)

// Revision draws a revision as a write at node n would.
func Revision(n *Node) uint64 { return n.router.clock.draw(1) }

// WriteAt makes the copy store profiles under consecutive revisions starting at rev.
func WriteAt(ctx context.Context, c *Copy, rev uint64, ps ...*concordat.Profile) error {
	changes := make([]index.Change, len(ps))
	for i, p := range ps {
		changes[i].Put = p
	}
	_, err := c.writeIn(ctx, operation{Rev: rev}, changes)
	return err
}

// IsLate reports whether a write was refused because of its revision.
func IsLate(err error) bool {
	late := (*lateError)(nil)
	return errors.As(err, &late)
}

// Clock is a clock for tests.
type Clock struct{ c clock }

func NewClock(now func() time.Time) *Clock { return &Clock{clock{now: now}} }
func (c *Clock) Draw(n int) uint64         { return c.c.draw(n) }
func (c *Clock) See(rev uint64)            { c.c.see(rev) }

// Replace makes the copy store profiles for the documents that they were made from, and returns how many it stored.
func Replace(ctx context.Context, c *Copy, ps ...*concordat.Profile) (int, error) {
	_, err := c.replaceIn(ctx, operation{Epoch: anyEpoch}, puts(ps))
	return put(len(ps), err)
}

// PayloadOf is payloadOf.
var PayloadOf = payloadOf
