package store

import (
	"context"

	"concordat/store/engine"
)

// Restored readies a store that was taken back from a copy of an earlier time, before anybody uses it: what
// was ended since then must not be good again. Sessions of browsers, links to choose a password, visits at
// a provider and open invitations of partners end; mirrors, which are not backed up, begin anew. It can be
// called again.
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

// ofFederations are the tables about this site among others, in an order in which they can be emptied.
var ofFederations = []string{"mirror_document", "mirror", "standing_ask", "disclosure", "outbox", "inbox", "showing", "shipped", "spent",
	"answer_hit", "answer_document", "answer_job", "epoch_document", "epoch", "share", "ask", "exposure", "witness",
	"federation_member", "federation", "invitation", "partner", "card", "taken", "keystore"}

// LeaveFederations forgets all that this site is to others: cards, partners, federations, what it let them
// see and asked of them. Libraries, checks, accounts and the audit stay. It is for a copy of a site that
// lives on beside the original, which alone keeps the identity.
func (db *DB) LeaveFederations(ctx context.Context) error {
	err := db.write(ctx, func(c engine.Conn) error {
		for _, table := range ofFederations {
			if _, err := c.Exec(ctx, `DELETE FROM `+table); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "leave all federations")
}
