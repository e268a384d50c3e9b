package store

import (
	"context"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Identity is a person's account at a sign-in provider. Issuer and subject together identify a person permanently (OpenID Connect Core
// 1.0, section 5.7); an e-mail address does not.
type Identity struct {
	Issuer, Subject string
	Account         string
	Made, Used      time.Time
}

const identityColumns = `issuer, subject, account, made, used`

func scanIdentity(s engine.Scanner) (Identity, error) {
	var i Identity
	var made, used int64
	err := s.Scan(&i.Issuer, &i.Subject, &i.Account, &made, &used)
	i.Made, i.Used = instant(made), instant(used)
	return i, err
}

// LinkIdentity links a person at a provider to an account. It fails with concordat.ErrExists if the person is already linked, and with
// concordat.ErrNotFound if there is no such account.
func (db *People) LinkIdentity(ctx context.Context, i Identity) error {
	err := i.validate()
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error { return linkIdentity(ctx, c, i) })
	}
	return db.fail(err, "link account %s", i.Account)
}

func (i Identity) validate() error {
	if i.Issuer == "" || i.Subject == "" || len(i.Issuer) > 1000 || len(i.Subject) > 1000 {
		return fmt.Errorf("%w: the issuer and the subject must have between 1 and 1000 bytes each", concordat.ErrInvalid)
	}
	return checkName("account", i.Account)
}

func linkIdentity(ctx context.Context, c engine.Conn, i Identity) error {
	var name string
	if err := c.Row(ctx, `SELECT name FROM account WHERE name = ?`, i.Account).Scan(&name); err != nil {
		return err
	}
	_, err := c.Exec(ctx, `INSERT INTO identity (`+identityColumns+`) VALUES (?, ?, ?, ?, ?)`,
		i.Issuer, i.Subject, i.Account, stamp(i.Made), stamp(i.Used))
	return err
}

// CreateLinked creates an account and links a person to it, in one transaction. It fails like CreateAccount and LinkIdentity.
func (db *People) CreateLinked(ctx context.Context, a Account, i Identity) error {
	i.Account = a.Name
	err := a.validate()
	if err == nil {
		err = i.validate()
	}
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			if err := insertAccount(ctx, c, a); err != nil {
				return err
			}
			return linkIdentity(ctx, c, i)
		})
	}
	return db.fail(err, "create account %s", a.Name)
}

// Identity returns the account linked to a person at a provider, or concordat.ErrNotFound.
func (db *People) Identity(ctx context.Context, issuer, subject string) (Identity, error) {
	i, err := scanIdentity(db.read().Row(ctx, `SELECT `+identityColumns+` FROM identity WHERE issuer = ? AND subject = ?`, issuer, subject))
	return i, db.fail(err, "identity")
}

// UseIdentity records a sign-in.
func (db *People) UseIdentity(ctx context.Context, issuer, subject string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `UPDATE identity SET used = ? WHERE issuer = ? AND subject = ?`, stamp(db.now()), issuer, subject)
		return err
	})
	return db.fail(err, "identity")
}

// Identities returns the links of an account, or of all accounts if account is empty, ordered by account, issuer and subject.
func (db *People) Identities(ctx context.Context, account string) ([]Identity, error) {
	const from = `SELECT ` + identityColumns + ` FROM identity `
	const order = ` ORDER BY account, issuer, subject`
	var is []Identity
	var err error
	if account == "" {
		is, err = engine.Collect(ctx, db.read(), scanIdentity, from+order)
	} else {
		is, err = engine.Collect(ctx, db.read(), scanIdentity, from+`WHERE account = ?`+order, account)
	}
	return is, db.fail(err, "list the identities of %s", account)
}

// UnlinkIdentity ends a link, or fails with concordat.ErrNotFound. Sessions that were started with the link end too.
func (db *People) UnlinkIdentity(ctx context.Context, issuer, subject string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		var account string
		if err := c.Row(ctx, `DELETE FROM identity WHERE issuer = ? AND subject = ? RETURNING account`, issuer,
			subject).Scan(&account); err != nil {
			return err
		}
		_, err := c.Exec(ctx, `DELETE FROM token WHERE account = ? AND purpose = ?`, account, PurposeSession)
		return err
	})
	return db.fail(err, "unlink")
}

// maxFlows is the maximum number of waiting flows of one kind, because strangers can start them.
const maxFlows = 100_000

// PutFlow stores data under a secret of at least 128 random bits until it expires. It fails with concordat.ErrUnavailable if too many
// flows are waiting, and with concordat.ErrExists if the secret was used before.
func (db *People) PutFlow(ctx context.Context, kind, secret, data string, expires time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		if _, err := c.Exec(ctx, `DELETE FROM flow WHERE expires <= ?`, stamp(db.now())); err != nil {
			return err
		}
		var n int
		if err := c.Row(ctx, `SELECT COUNT(*) FROM flow WHERE kind = ?`, kind).Scan(&n); err != nil {
			return err
		}
		if n >= maxFlows {
			return fmt.Errorf("%w: %d attempts are already in progress", concordat.ErrUnavailable, n)
		}
		_, err := c.Exec(ctx, `INSERT INTO flow (kind, hash, data, expires) VALUES (?, ?, ?, ?)`, kind, tokenHash(secret), data, stamp(expires))
		return err
	})
	return db.fail(err, "keep %s", kind)
}

// TakeFlow returns the data under a secret and deletes it, so that only one of two callers gets it. If the secret is unknown, taken or
// expired, it fails with concordat.ErrNotFound.
func (db *People) TakeFlow(ctx context.Context, kind, secret string) (string, error) {
	var data string
	err := db.write(ctx, func(c engine.Conn) error {
		return c.Row(ctx, `DELETE FROM flow WHERE kind = ? AND hash = ? AND expires > ? RETURNING data`, kind, tokenHash(secret),
			stamp(db.now())).Scan(&data)
	})
	return data, db.fail(err, "take %s", kind)
}

// Flow is TakeFlow without the deletion.
func (db *People) Flow(ctx context.Context, kind, secret string) (string, error) {
	var data string
	err := db.read().Row(ctx, `SELECT data FROM flow WHERE kind = ? AND hash = ? AND expires > ?`, kind, tokenHash(secret),
		stamp(db.now())).Scan(&data)
	return data, db.fail(err, "%s", kind)
}
