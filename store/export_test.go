package store

import (
	"context"

	"concordat/store/engine"
)

// Hold begins a writing transaction at the first signal and ends it at the next.
func Hold(ctx context.Context, db *DB, told <-chan struct{}) {
	_ = db.write(ctx, func(engine.Conn) error {
		<-told
		<-told
		return nil
	})
}

// Turns returns the query that determines whose turn it is in a lane.
func (l Lane) Turns() string { return l.turns() }
