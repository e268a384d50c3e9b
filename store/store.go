package store

import (
	"context"
	"time"

	"concordat/store/engine"
)

// DB is an open store. It is safe for concurrent use.
type DB struct {
	base
}

// base runs the statements of the store.
type base struct {
	engine *engine.DB
	tx     *transaction // that the calls belong to; nil: each change has its own
}

// read returns the connection for statements that change nothing.
func (b base) read() engine.Conn {
	if b.tx != nil {
		return b.tx.conn
	}
	return b.engine.Read()
}

// write runs f in one transaction; see [engine.DB.Write]. Within Atomic f joins the transaction that runs.
func (b base) write(ctx context.Context, f func(engine.Conn) error) error {
	if b.tx == nil {
		return b.engine.Write(ctx, f)
	}
	err := f(b.tx.conn)
	if b.tx.err == nil {
		b.tx.err = err
	}
	return err
}

// fail names the operation of err, and returns nil for nil; see [engine.DB.Fail].
func (b base) fail(err error, format string, args ...any) error {
	return b.engine.Fail(err, format, args...)
}

func (b base) now() time.Time { return b.engine.Now() }

// Options of a store; the zero value is the default. See [engine.Options].
type Options engine.Options

// Open opens the SQLite file at path with default options, and makes it (readable by its owner only) if it does not
// exist; its folder must exist. A path for which [IsURL] holds is the address of a PostgreSQL database instead. Errors
// are those of [engine.Options.Open].
func Open(ctx context.Context, path string) (*DB, error) {
	return Options{}.Open(ctx, path)
}

// Open is [Open] with options.
func (o Options) Open(ctx context.Context, path string) (*DB, error) {
	e, err := engine.Options(o).Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return newDB(base{engine: e}), nil
}

func newDB(b base) *DB { return &DB{base: b} }

// Close waits for running calls and closes the store. Calls after it fail.
func (db *DB) Close() error { return db.engine.Close() }

// MaxPage is the most rows that one call of a paged list returns.
const MaxPage = 10_000

// page returns the number of rows to ask for: limit, or MaxPage where limit is 0 or beyond it.
func page(limit int) int {
	if limit <= 0 || limit > MaxPage {
		return MaxPage
	}
	return limit
}
