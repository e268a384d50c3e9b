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

// SessionTime is how long a browser stays signed in.
const SessionTime = 12 * time.Hour

// maxAgent bounds, in bytes, the part of a browser's self-description that is stored.
const maxAgent = 200

// Begin begins a session of an account and returns its secret, which is always new, so that no one else can have planted it. former
// is the browser's previous secret, whose session ends, or empty. The notes go into the audit with the session.
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

// End ends the session with the secret, if there is one.
func (r *Registry) End(ctx context.Context, secret string) error {
	return r.o.Store.People.DeleteToken(ctx, secret)
}

// Others, as the id of a session, means all sessions except the caller's.
const Others store.TokenID = "others"

// EndSessions signs out one browser of an account or, for Others, all but the one with the session here. It fails with concordat.ErrInvalid
// if which cannot be an id.
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

// SetPassword sets the password of an account, given as a hash, and ends the account's sessions and links, and with revoke also its tokens.
// It fails with concordat.ErrNotFound if there is no such account or it is disabled.
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
