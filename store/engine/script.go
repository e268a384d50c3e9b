package engine

import (
	"context"
	"database/sql"
)

// Script makes statements of a database fail at points chosen by a test.
type Script interface {
	// Next is called before each writing transaction, before each statement outside one, and before Purge. If it returns an error, the
	// transaction, statement or Purge fails with it and does nothing.
	Next(ctx context.Context) error
}

// Scripted returns the same database with statements that fail according to a script. Only one of the two must be closed.
func (db *DB) Scripted(s Script) *DB {
	scripted := *db
	scripted.script = s
	return &scripted
}

// next returns the error for the next statement, or nil.
func (db *DB) next(ctx context.Context) error {
	if db.script == nil {
		return nil
	}
	return db.script.Next(ctx)
}

// obeying runs statements that change nothing, unless the database's script makes them fail.
type obeying struct {
	db *DB
	q  queryer
}

func (o obeying) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := o.db.next(ctx); err != nil {
		return nil, err
	}
	return o.q.ExecContext(ctx, query, args...)
}

func (o obeying) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := o.db.next(ctx); err != nil {
		return nil, err
	}
	return o.q.QueryContext(ctx, query, args...)
}

func (o obeying) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := o.db.next(ctx); err != nil {
		ctx = ended{ctx, err} // a row can return its error only this way
	}
	return o.q.QueryRowContext(ctx, query, args...)
}

func (o obeying) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := o.db.next(ctx); err != nil {
		return nil, err
	}
	return o.q.PrepareContext(ctx, query)
}

// ended is a context that ended with an error.
type ended struct {
	context.Context
	err error
}

var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (e ended) Done() <-chan struct{} { return over }

func (e ended) Err() error { return e.err }
