package engine

import (
	"context"
	"database/sql"
	"time"

	"github.com/pressly/goose/v3"
)

// A dialect contains all differences between database engines.
type dialect struct {
	name  string // in migrations
	goose goose.Dialect
	// translate converts the SQL in a line of a migration for the engine.
	translate func(code string) string
	// rebind writes the ? placeholders of a statement in the engine's form. Statements of this package contain no other question mark.
	rebind func(query string) string
	// begin runs first in each transaction that writes; nil: nothing runs. It makes the transactions of all processes run one after
	// another.
	begin func(ctx context.Context, db *DB, c Conn) error
	// lost reports whether err says that the connection or the server is gone; nil: the engine has no connection to lose.
	lost func(err error) bool
	// snapshot is a transaction that sees one moment.
	snapshot *sql.TxOptions
	// sentinel returns the error of the root package that corresponds to a driver's error, or nil.
	sentinel func(error) error
	// check reads everything and reports the first inconsistency.
	check func(ctx context.Context, db *DB) error
	// freeze returns the present state for a copy; nil: the engine does not support it.
	freeze func(ctx context.Context, reader *sql.DB) (frozen, error)
	// purge removes the bytes of deleted rows from the disk, and reports whether no such bytes are left.
	purge func(ctx context.Context, db *DB, whole bool) (bool, error)
	// info reads the engine's version, size and settings.
	info func(ctx context.Context, c Conn, now func() time.Time) (Info, error)
	// tables describes the tables of the store.
	tables func(ctx context.Context, c Conn) ([]table, error)
	// numbered and setNumbered get and set the last number given in an identity column, 0 for none.
	numbered    func(ctx context.Context, c Conn, t table) (int64, error)
	setNumbered func(ctx context.Context, c Conn, t table, last int64) error
}
