package store

import (
	"context"

	"concordat/store/engine"
)

// Types of package engine that callers of the store use.
type (
	// Engine describes the engine that keeps the store.
	Engine = engine.Info
	// Snapshot is the state of the store at one moment.
	Snapshot = engine.Snapshot
	// Copy says how to copy a store.
	Copy = engine.Copy
	// Copied is a table that CopyTo copied.
	Copied = engine.Copied
)

// IsURL reports whether a place is the address of a PostgreSQL database; otherwise it is a file.
func IsURL(place string) bool { return engine.IsURL(place) }

// Redacted returns a place without the password of its address, so that it may be shown.
func Redacted(place string) string { return engine.Redacted(place) }

// Engine reads the engine's version, size and settings.
func (db *DB) Engine(ctx context.Context) (Engine, error) { return db.engine.Info(ctx) }

// Check reads the whole database and fails with concordat.ErrCorrupt at the first inconsistency. Its cost grows with the
// size of the database; the audit has its own VerifyAudit.
func (db *DB) Check(ctx context.Context) error { return db.engine.Check(ctx) }

// Purge removes the bytes of deleted and replaced rows from the disk if the engine can; see [engine.DB.Purge].
func (db *DB) Purge(ctx context.Context, whole bool) (purged bool, err error) {
	return db.engine.Purge(ctx, whole)
}

// Snapshot returns the present state of the store; see [engine.DB.Snapshot]. The caller closes it.
func (db *DB) Snapshot(ctx context.Context) (*Snapshot, error) { return db.engine.Snapshot(ctx) }

// CopyTo copies the store, as of one moment, to an empty store with any engine; see [engine.DB.CopyTo].
func (db *DB) CopyTo(ctx context.Context, to *DB, o Copy) ([]Copied, error) {
	return db.engine.CopyTo(ctx, to.engine, o)
}

// Restored prepares a store that was restored from an earlier copy, before it is used, so that nothing that ended since then becomes valid
// again. Browser sessions, links to choose a password, flows at a provider and open invitations of partners end. Mirrors, which are not
// backed up, start again. Restored can be called repeatedly.
func (db *DB) Restored(ctx context.Context) error {
	err := db.write(ctx, func(c engine.Conn) error {
		for _, s := range []struct {
			query string
			args  []any
		}{
			{`DELETE FROM token WHERE purpose IN (?, ?, ?)`, []any{PurposeSession, PurposeFirst, PurposeJoin}},
			{`DELETE FROM flow`, nil},
			{`DELETE FROM invitation WHERE used = 0`, nil},
			{`DELETE FROM mirror_document`, nil},
			{`UPDATE mirror SET cursor = ?, synced = 0, complete = 0`, []any{[]byte{}}},
		} {
			if _, err := c.Exec(ctx, s.query, s.args...); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "ready the restored store")
}

// ofFederations are the tables about this site and its partners, in an order in which they can be emptied.
var ofFederations = []string{"shared_case", "mirror_document", "mirror", "standing_ask", "disclosure", "outbox", "inbox", "showing",
	"shipped", "spent",
	"partner_alarm", "answer_question", "outlined", "answer_hit", "answer_document", "answer_job", "epoch_document", "epoch", "share",
	"ask", "exposure", "witness", "federation_member", "federation", "invitation", "partner", "card", "taken", "keystore"}

// LeaveFederations deletes everything about other sites: cards, partners, federations, what this site let them see and what it
// asked them. Libraries, checks, accounts and the audit stay. It is for a copy of a site used next to the original, which
// alone keeps the identity.
func (db *DB) LeaveFederations(ctx context.Context) error {
	err := db.write(ctx, func(c engine.Conn) error {
		for _, table := range ofFederations {
			if _, err := c.Exec(ctx, `DELETE FROM `+table); err != nil {
				return err
			}
		}
		_, err := c.Exec(ctx, `DELETE FROM standing_alert WHERE side = ?`, AlertTold)
		return err
	})
	return db.fail(err, "leave all federations")
}
