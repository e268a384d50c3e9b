package store

import (
	"context"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// sessionGrain is the precision of the recorded time of a session's last use, which limits writes to one per minute instead of one per
// request.
const sessionGrain = time.Minute

// UseSession returns the session with the given secret and records the use. If there is none, or it has expired or not been used for
// longer than idle (0 for no limit), it returns concordat.ErrNotFound.
func (db *People) UseSession(ctx context.Context, secret string, idle time.Duration) (Token, error) {
	t, err := db.Token(ctx, secret, PurposeSession)
	if err != nil {
		return t, err
	}
	now := db.now()
	last := t.Used
	if last.IsZero() {
		last = t.Made
	}
	if idle > 0 && now.Sub(last) > idle {
		return Token{}, db.fail(fmt.Errorf("%w: the session has not been used since %s", concordat.ErrNotFound,
			last.UTC().Format(time.RFC3339)), "session")
	}
	if now.Sub(last) < sessionGrain {
		return t, nil
	}
	t.Used = instant(stamp(now.Truncate(sessionGrain)))
	err = db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `UPDATE token SET used = ? WHERE hash = ?`, stamp(t.Used), tokenHash(secret))
		return err
	})
	return t, db.fail(err, "session")
}

// SecretID returns the TokenID of a secret.
func SecretID(secret string) TokenID { return TokenID(tokenHash(secret)[:32]) }

// EndSessions signs an account out everywhere except in the session with the given token id, or everywhere if that is empty.
func (db *People) EndSessions(ctx context.Context, account string, but TokenID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM token WHERE account = ? AND purpose = ? AND substr(hash, 1, 32) <> ?`, account, PurposeSession,
			string(but))
		return err
	})
	return db.fail(err, "end sessions of %s", account)
}

// SetPassword sets the password of an account that can sign in, signs it out everywhere and ends links for choosing its password; tokens
// for programs remain valid. If there is no such account, or it is disabled, it fails with concordat.ErrNotFound.
func (db *People) SetPassword(ctx context.Context, account, password string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE account SET password = ? WHERE name = ? AND disabled = 0`, password, account)
		if err := oneOf(n, err); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `DELETE FROM token WHERE account = ? AND purpose IN (?, ?)`, account, PurposeSession, PurposeJoin)
		return err
	})
	return db.fail(err, "set the password of %s", account)
}

// DeleteUnjoined deletes public accounts without a password or a link to a provider that were created before the given time, so that no
// one can reserve a name by requesting it. It returns the number deleted.
func (db *People) DeleteUnjoined(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := db.write(ctx, func(c engine.Conn) error {
		const those = `public = 1 AND password = '' AND created < ? AND name NOT IN (SELECT account FROM identity)`
		if _, err := c.Exec(ctx, `DELETE FROM token WHERE account IN (SELECT name FROM account WHERE `+those+`)`, stamp(before)); err != nil {
			return err
		}
		var err error
		n, err = c.Exec(ctx, `DELETE FROM account WHERE `+those, stamp(before))
		return err
	})
	return int(n), db.fail(err, "delete unused accounts")
}

// OpenTasks counts an owner's unfinished tasks, and the unfinished tasks of all public accounts together.
func (db *People) OpenTasks(ctx context.Context, owner string) (own, public int, err error) {
	err = db.read().Row(ctx, `SELECT
		(SELECT count(*) FROM task WHERE state IN (?, ?) AND owner = ?),
		(SELECT count(*) FROM task WHERE state IN (?, ?) AND owner IN (SELECT name FROM account WHERE public = 1))`,
		concordat.TaskQueued, concordat.TaskRunning, owner, concordat.TaskQueued, concordat.TaskRunning).Scan(&own, &public)
	return own, public, db.fail(err, "count the open tasks of %s", owner)
}

// PublicAccounts counts the public accounts.
func (db *People) PublicAccounts(ctx context.Context) (n int, err error) {
	err = db.read().Row(ctx, `SELECT count(*) FROM account WHERE public = 1`).Scan(&n)
	return n, db.fail(err, "count public accounts")
}
