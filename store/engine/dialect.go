package engine

import (
	"context"
	"database/sql"
	"time"

	"github.com/pressly/goose/v3"
)

// A dialect contains all differences between database engines.
type dialect struct {
	name  string // name used in migrations
	goose goose.Dialect
	// versioned is a query that reports whether the table of versions exists.
	versioned string
	// translate converts the SQL in one line of a migration to the engine's dialect.
	translate func(code string) string
	// rebind converts the ? placeholders of a statement to the engine's form. Statements of this package contain no other question mark.
	rebind func(query string) string
	// begin runs first in each writing transaction, to serialise such transactions across all processes; nil runs nothing.
	begin func(ctx context.Context, db *DB, c Conn) error
	// lost reports whether err means that the connection or server is gone; lost is nil if the engine has no connection to lose.
	lost func(err error) bool
	// snapshot is the kind of transaction that sees a single moment.
	snapshot *sql.TxOptions
	// sentinel returns the root package's error that corresponds to a driver's error, or nil.
	sentinel func(error) error
	// check reads everything and reports the first inconsistency.
	check func(ctx context.Context, db *DB) error
	// freeze returns the current state for a copy; nil if the engine does not support it.
	freeze func(ctx context.Context, reader *sql.DB) (frozen, error)
	// purge erases deleted rows from disk, and reports whether no bytes of them remain.
	purge func(ctx context.Context, db *DB, whole bool) (bool, error)
	// info reads the engine's version, size and settings.
	info func(ctx context.Context, c Conn, now func() time.Time) (Info, error)
	// tables describes the tables of the store.
	tables func(ctx context.Context, c Conn) ([]table, error)
	// numbered and setNumbered get and set the last number assigned in an identity column, 0 for none.
	numbered    func(ctx context.Context, c Conn, t table) (int64, error)
	setNumbered func(ctx context.Context, c Conn, t table, last int64) error
}
