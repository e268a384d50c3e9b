package engine

import (
	"context"
	"database/sql"
	"time"
)

// retrying runs statements that change nothing, repeating them if the connection breaks.
type retrying struct{ db *DB }

// retryPause is the delay before the next attempt after the connection to the server breaks.
const retryPause = 100 * time.Millisecond

// retry runs f until it no longer fails because of a lost connection, for up to Options.Busy. Each failure drops one connection of the
// pool, so the first attempts follow without a delay, one for each connection that could be lost.
func (db *DB) retry(ctx context.Context, f func() error) error {
	began := time.Now()
	for try := 0; ; try++ {
		err := f()
		if err == nil || db.d.lost == nil || !db.d.lost(err) || time.Since(began) > db.busy {
			return err
		}
		if try < db.reader.Stats().MaxOpenConnections {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

func (p retrying) ExecContext(ctx context.Context, query string, args ...any) (r sql.Result, err error) {
	err = p.db.retry(ctx, func() error { r, err = p.db.reader.ExecContext(ctx, query, args...); return err })
	return r, err
}

func (p retrying) QueryContext(ctx context.Context, query string, args ...any) (r *sql.Rows, err error) {
	err = p.db.retry(ctx, func() error { r, err = p.db.reader.QueryContext(ctx, query, args...); return err })
	return r, err
}

func (p retrying) QueryRowContext(ctx context.Context, query string, args ...any) (r *sql.Row) {
	_ = p.db.retry(ctx, func() error { r = p.db.reader.QueryRowContext(ctx, query, args...); return r.Err() })
	return r // it contains the error
}

func (p retrying) PrepareContext(ctx context.Context, query string) (s *sql.Stmt, err error) {
	err = p.db.retry(ctx, func() error { s, err = p.db.reader.PrepareContext(ctx, query); return err })
	return s, err
}
