package store

import (
	"context"

	"concordat/store/engine"
)

// Hold begins a writing transaction when first called for, and ends it on the next call.
func Hold(ctx context.Context, db *DB, told <-chan struct{}) {
	_ = db.write(ctx, func(engine.Conn) error {
		<-told
		<-told
		return nil
	})
}

// Turns returns the query that says whose turn it is in a lane.
func (l Lane) Turns() string { return l.turns() }
