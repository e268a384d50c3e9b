package store

import (
	"context"

	"concordat/store/engine"
)

// Hold begins a transaction that writes when it is told to, and ends it when it is told again.
func Hold(ctx context.Context, db *DB, told <-chan struct{}) {
	_ = db.write(ctx, func(engine.Conn) error {
		<-told
		<-told
		return nil
	})
}
