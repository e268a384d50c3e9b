package people

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"concordat"
	"concordat/store"
)

// SessionTime is how long a browser remains signed in.
const SessionTime = 12 * time.Hour

// maxAgent is the maximum number of bytes stored of a browser's User-Agent.
const maxAgent = 200

// Begin begins a session of an account and returns its secret, which is always new, so that no one else can have planted it. former is
// the browser's previous secret, whose session ends, or empty. The notes are added to the audit in the same transaction.
func (r *Registry) Begin(ctx context.Context, account, former, agent string, notes ...store.AuditNote) (secret string, err error) {
	agent = strings.ToValidUTF8(agent, "\ufffd")
	agent = strings.ToValidUTF8(agent[:min(len(agent), maxAgent)], "")
	secret = rand.Text()
	now := r.o.Now()
	return secret, r.o.Store.Atomic(ctx, func(tx *store.DB) error {
		if former != "" {
			if err := tx.People.DeleteToken(ctx, former); err != nil {
				return err
			}
		}
		err := tx.People.PutToken(ctx, secret, store.Token{Purpose: store.PurposeSession, Account: account, Made: now,
			Expires: now.Add(SessionTime), Name: agent})
		if err != nil {
			return err
		}
		return tx.Audit.Notes(ctx, notes...)
	})
}

// End ends the session with the given secret, if it exists.
func (r *Registry) End(ctx context.Context, secret string) error {
	return r.o.Store.People.DeleteToken(ctx, secret)
}

// Others, used as a session ID, means all sessions except the caller's.
const Others store.TokenID = "others"

// EndSessions signs out one browser of an account or, for Others, all of them except the one with session here. It fails with
// concordat.ErrInvalid if which is not a valid ID.
func (r *Registry) EndSessions(ctx context.Context, account string, which, here store.TokenID) error {
	if which != Others && len(which) != 32 {
		return fmt.Errorf("session %q: %w", which, concordat.ErrInvalid)
	}
	return r.change(ctx, account, "sessions_ended", map[string]any{"which": which}, func(tx *store.DB) error {
		if which == Others {
			return tx.People.EndSessions(ctx, account, here)
		}
		return tx.People.RevokeToken(ctx, account, which)
	})
}

// SetPassword sets the password of an account, given as a hash, and ends the account's sessions and links. If revoke is set, it also
// revokes the account's tokens. It fails with concordat.ErrNotFound if the account does not exist or is disabled.
func (r *Registry) SetPassword(ctx context.Context, account, password string, revoke bool) error {
	return r.change(ctx, account, "password_changed", nil, func(tx *store.DB) error {
		if err := tx.People.SetPassword(ctx, account, password); err != nil || !revoke {
			return err
		}
		ids, _, err := tx.People.Tokens(ctx, account, store.PurposeAPI)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := tx.People.RevokeToken(ctx, account, id); err != nil {
				return err
			}
		}
		return tx.Audit.Note(ctx, account, "tokens_revoked", map[string]any{"tokens": len(ids)})
	})
}
