package store

import (
	"context"

	"concordat/store/engine"
)

// Types of package engine used by callers of the store.
type (
	// Engine describes the engine of the store.
	Engine = engine.Info
	// Snapshot is the state of the store at one moment.
	Snapshot = engine.Snapshot
	// Copy configures the copying of a store.
	Copy = engine.Copy
	// Copied is a table copied by CopyTo.
	Copied = engine.Copied
)

// IsURL reports whether a place is the address of a PostgreSQL database rather than a file.
func IsURL(place string) bool { return engine.IsURL(place) }

// Redacted removes the password from the address of a place, so that it can be displayed.
func Redacted(place string) string { return engine.Redacted(place) }

// Engine reads the engine's version, size and settings.
func (db *DB) Engine(ctx context.Context) (Engine, error) { return db.engine.Info(ctx) }

// Check reads the whole database and fails with concordat.ErrCorrupt at the first inconsistency. Its cost grows with the size of the
// database; for the audit log, call VerifyAudit.
func (db *DB) Check(ctx context.Context) error { return db.engine.Check(ctx) }

// Purge erases deleted and replaced rows from disk if the engine can; see [engine.DB.Purge].
func (db *DB) Purge(ctx context.Context, whole bool) (purged bool, err error) {
	return db.engine.Purge(ctx, whole)
}

// Snapshot returns the current state of the store; see [engine.DB.Snapshot]. The caller must close it.
func (db *DB) Snapshot(ctx context.Context) (*Snapshot, error) { return db.engine.Snapshot(ctx) }

// CopyTo copies the store, as of one moment, to an empty store with any engine; see [engine.DB.CopyTo].
func (db *DB) CopyTo(ctx context.Context, to *DB, o Copy) ([]Copied, error) {
	return db.engine.CopyTo(ctx, to.engine, o)
}

// Restored prepares a store restored from an earlier copy for use, so that nothing that has ended since then becomes valid again. It ends
// browser sessions, links for choosing a password, flows at a provider and open invitations of partners. Mirrors, which are not backed
// up, start over. It can be called repeatedly.
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
	return db.fail(err, "prepare the restored store")
}

// ofFederations lists the tables about this site and its partners, in an order in which they can be emptied.
var ofFederations = []string{"shared_case", "mirror_document", "mirror", "standing_ask", "disclosure", "outbox", "inbox", "showing",
	"shipped", "spent",
	"partner_alarm", "answer_question", "outlined", "answer_hit", "answer_document", "answer_job", "epoch_document", "epoch", "share",
	"ask", "exposure", "witness", "federation_member", "federation", "invitation", "partner", "card", "taken", "keystore"}

// LeaveFederations deletes everything about other sites: cards, partners, federations, this site's disclosures to them and its questions
// to them. Libraries, checks, accounts and the audit log remain. It is meant for a copy of a site used alongside the original, since only
// the original keeps the identity.
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
