package store

import (
	"context"

	"concordat/store/engine"
)

// The words of the engine that callers of the store use.
type (
	// Engine describes the engine that keeps the store.
	Engine = engine.Info
	// Snapshot is the state of the store at one moment.
	Snapshot = engine.Snapshot
	// Copy says how a store is copied.
	Copy = engine.Copy
	// Copied is a table that CopyTo copied.
	Copied = engine.Copied
)

// IsURL reports whether a place is the address of a PostgreSQL database, else it is a file.
func IsURL(place string) bool { return engine.IsURL(place) }

// Redacted returns a place as it may be shown: an address without its password.
func Redacted(place string) string { return engine.Redacted(place) }

// Engine reads the engine's version, size and settings.
func (db *DB) Engine(ctx context.Context) (Engine, error) { return db.engine.Info(ctx) }

// Check reads the whole database and fails with concordat.ErrCorrupt at the first inconsistency. Its cost grows with the
// size of the database; the audit has its own VerifyAudit.
func (db *DB) Check(ctx context.Context) error { return db.engine.Check(ctx) }

// Purge takes the bytes of deleted and replaced rows off the disk, as far as the engine can; see [engine.DB.Purge].
func (db *DB) Purge(ctx context.Context, whole bool) (purged bool, err error) {
	return db.engine.Purge(ctx, whole)
}

// Snapshot returns the present state of the store; see [engine.DB.Snapshot]. The caller closes it.
func (db *DB) Snapshot(ctx context.Context) (*Snapshot, error) { return db.engine.Snapshot(ctx) }

// CopyTo copies the store, as of one moment, to another one of whatever engine, which must be empty; see
// [engine.DB.CopyTo].
func (db *DB) CopyTo(ctx context.Context, to *DB, o Copy) ([]Copied, error) {
	return db.engine.CopyTo(ctx, to.engine, o)
}
