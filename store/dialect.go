package store

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"
)

// A dialect is all that differs between database engines.
type dialect struct {
	goose      goose.Dialect
	migrations string // folder of the migrations
	// rebind writes the ? placeholders of a statement as the engine wants them. Statements of this
	// package hold no other question mark.
	rebind func(query string) string
	// skipLocked ends a SELECT that picks a row to be updated, so that two workers do not wait for
	// the same one.
	skipLocked string
	// sentinel returns the error of the root package that stands for a driver's error, or nil.
	sentinel func(error) error
	// check reads everything and reports the first inconsistency.
	check func(ctx context.Context, c conn) error
	// backup writes a copy into the empty file at path.
	backup func(ctx context.Context, db *sql.DB, path string) error
	// freeze returns the present state for a copy; nil: the engine does not offer it.
	freeze func(ctx context.Context, reader *sql.DB) (frozen, error)
	// purge leaves no bytes of deleted rows behind; nil: the engine does not offer it.
	purge func(ctx context.Context, writer *sql.DB, whole bool) error
}
