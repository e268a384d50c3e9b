package engine

import (
	"context"
	"database/sql"
)

// Script makes statements of a database fail at the points that a test chooses.
type Script interface {
	// Next is called before each transaction that writes, before each statement outside of one, and before Purge. If it returns
	// an error, the transaction, statement or Purge fails with it and does nothing.
	Next(ctx context.Context) error
}

// Scripted returns the same database with statements that fail by a script. Close only one of the two.
func (db *DB) Scripted(s Script) *DB {
	scripted := *db
	scripted.script = s
	return &scripted
}

// next returns the error with which the next statement fails, or nil.
func (db *DB) next(ctx context.Context) error {
	if db.script == nil {
		return nil
	}
	return db.script.Next(ctx)
}

// obeying runs statements that change nothing, unless the script of the database makes them fail.
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
		ctx = ended{ctx, err} // a row can return its error in no other way
	}
	return o.q.QueryRowContext(ctx, query, args...)
}

func (o obeying) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := o.db.next(ctx); err != nil {
		return nil, err
	}
	return o.q.PrepareContext(ctx, query)
}

// ended is a context that has ended with an error.
type ended struct {
	context.Context
	err error
}

var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (e ended) Done() <-chan struct{} { return over }

func (e ended) Err() error { return e.err }
