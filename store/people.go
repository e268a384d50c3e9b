package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"concordat"
)

// Role says what a person may do at a site.
type Role string

// The roles.
const (
	RoleAdministrator Role = "administrator" // everything
	RoleOfficer       Role = "officer"       // checks, and reads all reports
	RoleSubmitter     Role = "submitter"     // checks own work, and reads own reports
	RoleAuditor       Role = "auditor"       // reads reports and the audit, and changes nothing
)

// Account is a person who may sign in.
type Account struct {
	Name     string
	Title    string // the person's name
	Role     Role
	Password string // argon2id in PHC form; empty: no password
	Created  time.Time
	Disabled bool
}

const accountColumns = `name, title, role, password, created, disabled`

func scanAccount(s scanner) (Account, error) {
	var a Account
	var created int64
	err := s.Scan(&a.Name, &a.Title, &a.Role, &a.Password, &created, &a.Disabled)
	a.Created = instant(created)
	return a, err
}

func (a Account) validate() error {
	switch a.Role {
	case RoleAdministrator, RoleOfficer, RoleSubmitter, RoleAuditor:
	default:
		return fmt.Errorf("%w: role %q", concordat.ErrInvalid, a.Role)
	}
	return checkName("account", a.Name)
}

// CreateAccount makes a. It fails with concordat.ErrExists where its name is taken.
func (db *DB) CreateAccount(ctx context.Context, a Account) error {
	err := a.validate()
	if err == nil {
		err = db.write(ctx, func(c conn) error { return insertAccount(ctx, c, a) })
	}
	return db.fail(err, "create account %s", a.Name)
}

func insertAccount(ctx context.Context, c conn, a Account) error {
	_, err := c.exec(ctx, `INSERT INTO account (`+accountColumns+`) VALUES (?, ?, ?, ?, ?, ?)`,
		a.Name, prose(a.Title), a.Role, a.Password, stamp(a.Created), flag(a.Disabled))
	return err
}

// flag returns b as the store keeps it.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// UpdateAccount sets title, role, password and Disabled of the account with a's name, or fails with
// concordat.ErrNotFound. An account that is disabled, or whose password or role changes, is signed
// out everywhere.
func (db *DB) UpdateAccount(ctx context.Context, a Account) error {
	err := a.validate()
	if err == nil {
		err = db.write(ctx, func(c conn) error {
			old, err := scanAccount(c.row(ctx, `SELECT `+accountColumns+` FROM account WHERE name = ?`, a.Name))
			if err != nil {
				return err
			}
			if a.Disabled || a.Password != old.Password || a.Role != old.Role {
				if _, err := c.exec(ctx, `DELETE FROM token WHERE account = ?`, a.Name); err != nil {
					return err
				}
			}
			_, err = c.exec(ctx, `UPDATE account SET title = ?, role = ?, password = ?, disabled = ? WHERE name = ?`,
				prose(a.Title), a.Role, a.Password, flag(a.Disabled), a.Name)
			return err
		})
	}
	return db.fail(err, "update account %s", a.Name)
}

// Account returns an account, or concordat.ErrNotFound.
func (db *DB) Account(ctx context.Context, name string) (Account, error) {
	a, err := scanAccount(db.read().row(ctx, `SELECT `+accountColumns+` FROM account WHERE name = ?`, name))
	return a, db.fail(err, "account %s", name)
}

// Accounts returns all accounts in order of name.
func (db *DB) Accounts(ctx context.Context) ([]Account, error) {
	as, err := collect(ctx, db.read(), scanAccount, `SELECT `+accountColumns+` FROM account ORDER BY name`)
	return as, db.fail(err, "list accounts")
}

// Purpose says what a token is good for.
type Purpose string

// The purposes.
const (
	PurposeSession Purpose = "session" // a browser that is signed in
	PurposeFirst   Purpose = "first"   // makes the first administrator, once
	PurposeJoin    Purpose = "join"    // lets somebody choose the password of an account, once
)

// Token is what proves who somebody is. The store keeps its hash only.
type Token struct {
	Purpose Purpose
	Account string // empty for PurposeFirst
	Made    time.Time
	Expires time.Time
}

func tokenHash(secret string) string {
	h := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(h[:])
}

// PutToken keeps the token whose secret this is. A secret is at least 128 random bits.
func (db *DB) PutToken(ctx context.Context, secret string, t Token) error {
	err := db.write(ctx, func(c conn) error {
		if _, err := c.exec(ctx, `DELETE FROM token WHERE expires <= ?`, stamp(db.now())); err != nil {
			return err
		}
		_, err := c.exec(ctx, `INSERT INTO token (hash, purpose, account, made, expires) VALUES (?, ?, ?, ?, ?)`,
			tokenHash(secret), t.Purpose, t.Account, stamp(t.Made), stamp(t.Expires))
		return err
	})
	return db.fail(err, "keep a token")
}

// Token returns the token of that secret and purpose while it has not expired, or
// concordat.ErrNotFound.
func (db *DB) Token(ctx context.Context, secret string, p Purpose) (Token, error) {
	t := Token{Purpose: p}
	var made, expires int64
	err := db.read().row(ctx, `SELECT account, made, expires FROM token WHERE hash = ? AND purpose = ? AND expires > ?`,
		tokenHash(secret), p, stamp(db.now())).Scan(&t.Account, &made, &expires)
	t.Made, t.Expires = instant(made), instant(expires)
	return t, db.fail(err, "token")
}

// DeleteToken forgets a token; one that is not there is no error.
func (db *DB) DeleteToken(ctx context.Context, secret string) error {
	err := db.write(ctx, func(c conn) error {
		_, err := c.exec(ctx, `DELETE FROM token WHERE hash = ?`, tokenHash(secret))
		return err
	})
	return db.fail(err, "forget a token")
}

// JoinAccount uses up the token of PurposeJoin and sets the password of its account, both or
// neither; the account is signed out everywhere and other links to it stop working. It returns the
// account, and fails with concordat.ErrNotFound where the token is unknown, used or expired.
func (db *DB) JoinAccount(ctx context.Context, secret, password string) (Account, error) {
	var a Account
	err := db.write(ctx, func(c conn) error {
		var name string
		err := c.row(ctx, `SELECT account FROM token WHERE hash = ? AND purpose = ? AND expires > ?`, tokenHash(secret), PurposeJoin, stamp(db.now())).Scan(&name)
		if err != nil {
			return err
		}
		if _, err := c.exec(ctx, `DELETE FROM token WHERE account = ?`, name); err != nil {
			return err
		}
		a, err = scanAccount(c.row(ctx, `UPDATE account SET password = ? WHERE name = ? AND disabled = 0 RETURNING `+accountColumns, password, name))
		return err
	})
	return a, db.fail(err, "set a password")
}

// FirstAccount uses up the token of PurposeFirst and makes an administrator, both or neither. It
// fails with concordat.ErrNotFound where the token is unknown, used or expired, and with
// concordat.ErrExists where there is an account already.
func (db *DB) FirstAccount(ctx context.Context, secret string, a Account) error {
	a.Role = RoleAdministrator
	err := a.validate()
	if err == nil {
		err = db.write(ctx, func(c conn) error {
			n, err := c.exec(ctx, `DELETE FROM token WHERE hash = ? AND purpose = ? AND expires > ?`, tokenHash(secret), PurposeFirst, stamp(db.now()))
			if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("%w: the link was used or has expired", concordat.ErrNotFound)
			}
			if err := c.row(ctx, `SELECT COUNT(*) FROM account`).Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				return fmt.Errorf("%w: there is an account already", concordat.ErrExists)
			}
			return insertAccount(ctx, c, a)
		})
	}
	return db.fail(err, "first account %s", a.Name)
}
