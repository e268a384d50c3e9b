package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Role determines what a person is allowed to do at a site.
type Role string

// The roles.
const (
	RoleAdministrator Role = "administrator" // unrestricted
	RoleOfficer       Role = "officer"       // runs checks and reads all reports
	RoleSubmitter     Role = "submitter"     // submits and reads only their own work
	RoleAuditor       Role = "auditor"       // reads reports and the audit; changes nothing
)

// Account is a person who can sign in.
type Account struct {
	Name     string
	Title    string // the person's name
	Role     Role
	Password string // argon2id in PHC form; empty if there is no password
	Created  time.Time
	Disabled bool
	Public   bool // created by the person themselves, at a public site
}

const accountColumns = `name, title, role, password, created, disabled, public`

func scanAccount(s engine.Scanner) (Account, error) {
	var a Account
	var created int64
	err := s.Scan(&a.Name, &a.Title, &a.Role, &a.Password, &created, &a.Disabled, &a.Public)
	a.Created = instant(created)
	return a, err
}

func (a Account) validate() error {
	switch a.Role {
	case RoleAdministrator, RoleOfficer, RoleSubmitter, RoleAuditor:
	default:
		return fmt.Errorf("%w: unknown role %q", concordat.ErrInvalid, a.Role)
	}
	return checkName("account", a.Name)
}

// CreateAccount creates a. If its name exists, it fails with concordat.ErrExists.
func (db *People) CreateAccount(ctx context.Context, a Account) error {
	err := a.validate()
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error { return insertAccount(ctx, c, a) })
	}
	return db.fail(err, "create account %s", a.Name)
}

func insertAccount(ctx context.Context, c engine.Conn, a Account) error {
	_, err := c.Exec(ctx, `INSERT INTO account (`+accountColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		a.Name, cleanText(a.Title), a.Role, a.Password, stamp(a.Created), flag(a.Disabled), flag(a.Public))
	return err
}

// flag returns b as stored.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// UpdateAccount sets title, role, password, Disabled and Public of the account with a's name, or fails with concordat.ErrNotFound. An
// account that is disabled, or whose password or role changes, is signed out everywhere.
func (db *People) UpdateAccount(ctx context.Context, a Account) error {
	err := a.validate()
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			old, err := scanAccount(c.Row(ctx, `SELECT `+accountColumns+` FROM account WHERE name = ?`, a.Name))
			if err != nil {
				return err
			}
			if a.Disabled || a.Password != old.Password || a.Role != old.Role {
				if _, err := c.Exec(ctx, `DELETE FROM token WHERE account = ?`, a.Name); err != nil {
					return err
				}
			}
			_, err = c.Exec(ctx, `UPDATE account SET title = ?, role = ?, password = ?, disabled = ?, public = ? WHERE name = ?`,
				cleanText(a.Title), a.Role, a.Password, flag(a.Disabled), flag(a.Public), a.Name)
			return err
		})
	}
	return db.fail(err, "update account %s", a.Name)
}

// Account returns an account, or concordat.ErrNotFound.
func (db *People) Account(ctx context.Context, name string) (Account, error) {
	a, err := scanAccount(db.read().Row(ctx, `SELECT `+accountColumns+` FROM account WHERE name = ?`, name))
	return a, db.fail(err, "account %s", name)
}

// Accounts returns all accounts ordered by name.
func (db *People) Accounts(ctx context.Context) ([]Account, error) {
	as, err := engine.Collect(ctx, db.read(), scanAccount, `SELECT `+accountColumns+` FROM account ORDER BY name`)
	return as, db.fail(err, "list accounts")
}

// Purpose is the purpose of a token.
type Purpose string

// The purposes.
const (
	PurposeSession Purpose = "session" // a signed-in browser
	PurposeFirst   Purpose = "first"   // creates the first administrator; valid once
	PurposeJoin    Purpose = "join"    // sets an account's password; valid once
	PurposeAPI     Purpose = "api"     // a program acting for an account
)

// Token is a credential of an account. The store keeps only a hash of its secret.
type Token struct {
	Purpose Purpose
	Account string // empty for PurposeFirst
	Made    time.Time
	Expires time.Time
	Name    string    // for PurposeAPI, the token's purpose; for PurposeSession, the browser
	Scopes  []string  // for PurposeAPI, what it is allowed to do
	Origins []string  // for PurposeAPI, prefixes of addresses from which it accepts notifications
	Used    time.Time // time of the last use, to the hour for PurposeAPI and to the minute for PurposeSession; zero for never
}

// TokenID identifies a token without revealing it; it is the first half of the token's hash.
type TokenID string

const tokenColumns = `hash, purpose, account, made, expires, name, scopes, used, origins`

func scanToken(s engine.Scanner) (TokenID, Token, error) {
	var t Token
	var hash, scopes, origins string
	var made, expires, used int64
	err := s.Scan(&hash, &t.Purpose, &t.Account, &made, &expires, &t.Name, &scopes, &used, &origins)
	t.Made, t.Expires, t.Used = instant(made), instant(expires), instant(used)
	if scopes != "" {
		t.Scopes = strings.Fields(scopes)
	}
	if origins != "" {
		t.Origins = strings.Fields(origins)
	}
	return TokenID(hash[:min(len(hash), 32)]), t, err
}

func tokenHash(secret string) string {
	h := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(h[:])
}

// MaxTokens is the maximum number of program tokens of an account.
const MaxTokens = 50

// PutToken stores the token with this secret, which must have at least 128 random bits. If the account already has MaxTokens for
// programs, it fails with concordat.ErrChanged.
func (db *People) PutToken(ctx context.Context, secret string, t Token) error {
	err := db.write(ctx, func(c engine.Conn) error {
		if _, err := c.Exec(ctx, `DELETE FROM token WHERE expires <= ?`, stamp(db.now())); err != nil {
			return err
		}
		if t.Purpose == PurposeAPI {
			var n int
			if err := c.Row(ctx, `SELECT count(*) FROM token WHERE account = ? AND purpose = ?`, t.Account, t.Purpose).Scan(&n); err != nil {
				return err
			}
			if n >= MaxTokens {
				return full(fmt.Sprintf("an account can have at most %d tokens; revoke one first", MaxTokens))
			}
		}
		_, err := c.Exec(ctx, `INSERT INTO token (`+tokenColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)`,
			tokenHash(secret), t.Purpose, t.Account, stamp(t.Made), stamp(t.Expires), cleanText(t.Name), strings.Join(t.Scopes, " "),
			strings.Join(t.Origins, " "))
		return err
	})
	return db.fail(err, "store a token")
}

// Token returns the token with that secret and purpose, or concordat.ErrNotFound if there is none or it has expired.
func (db *People) Token(ctx context.Context, secret string, p Purpose) (Token, error) {
	_, t, err := scanToken(db.read().Row(ctx, `SELECT `+tokenColumns+` FROM token WHERE hash = ? AND purpose = ? AND expires > ?`,
		tokenHash(secret), p, stamp(db.now())))
	return t, db.fail(err, "token")
}

// UseToken returns a token like Token, and records its use.
func (db *People) UseToken(ctx context.Context, secret string, p Purpose) (Token, error) {
	t, err := db.Token(ctx, secret, p)
	now := db.now().UTC().Truncate(time.Hour)
	if err != nil || t.Used.Equal(now) {
		return t, err
	}
	t.Used = now
	err = db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `UPDATE token SET used = ? WHERE hash = ?`, stamp(now), tokenHash(secret))
		return err
	})
	return t, db.fail(err, "token")
}

// Tokens returns an account's unexpired tokens for a purpose, newest first, with their TokenIDs.
func (db *People) Tokens(ctx context.Context, account string, p Purpose) ([]TokenID, []Token, error) {
	var ids []TokenID
	ts, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (Token, error) {
		id, t, err := scanToken(s)
		ids = append(ids, id)
		return t, err
	}, `SELECT `+tokenColumns+` FROM token WHERE account = ? AND purpose = ? AND expires > ? ORDER BY made DESC, hash`, account, p,
		stamp(db.now()))
	return ids, ts, db.fail(err, "list the tokens of %s", account)
}

// RevokeToken deletes an account's token with the given TokenID; if it does not exist, that is not an error.
func (db *People) RevokeToken(ctx context.Context, account string, id TokenID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM token WHERE account = ? AND substr(hash, 1, 32) = ?`, account, string(id))
		return err
	})
	return db.fail(err, "revoke a token of %s", account)
}

const (
	// repeatTime is how long an answer can be repeated.
	repeatTime = 24 * time.Hour
	// workTime is how long work can take before it counts as abandoned.
	workTime = time.Hour
)

// BeginOnce begins work requested by an account under a key, for example an Idempotency-Key, or returns the answer to the first request.
// It fails with concordat.ErrInvalid if the key was used for a different request, and with concordat.ErrUnavailable while the first
// request is in progress. request is a hash of the request.
func (db *People) BeginOnce(ctx context.Context, account, key, request string) (answer string, err error) {
	err = db.write(ctx, func(c engine.Conn) error {
		now := db.now()
		if _, err := c.Exec(ctx, `DELETE FROM repeatable WHERE expires <= ?`, stamp(now)); err != nil {
			return err
		}
		var before string
		err := c.Row(ctx, `SELECT request, answer FROM repeatable WHERE account = ? AND key = ?`, account, key).Scan(&before, &answer)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			_, err = c.Exec(ctx, `INSERT INTO repeatable (account, key, request, answer, expires) VALUES (?, ?, ?, '', ?)`,
				account, key, request, stamp(now.Add(workTime)))
			return err
		case err != nil:
			return err
		case before != request:
			return fmt.Errorf("%w: the key has already been used for a different request", concordat.ErrInvalid)
		case answer == "":
			return fmt.Errorf("%w: the first request with this key is still running", concordat.ErrUnavailable)
		}
		return nil
	})
	if err != nil {
		answer = ""
	}
	return answer, db.fail(err, "key %s", key)
}

// EndOnce stores the answer to work begun by BeginOnce; an empty answer allows the key to be used again.
func (db *People) EndOnce(ctx context.Context, account, key, answer string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		var err error
		if answer == "" {
			_, err = c.Exec(ctx, `DELETE FROM repeatable WHERE account = ? AND key = ?`, account, key)
		} else {
			_, err = c.Exec(ctx, `UPDATE repeatable SET answer = ?, expires = ? WHERE account = ? AND key = ?`, answer,
				stamp(db.now().Add(repeatTime)), account, key)
		}
		return err
	})
	return db.fail(err, "key %s", key)
}

// DeleteToken deletes a token; if it does not exist, that is not an error.
func (db *People) DeleteToken(ctx context.Context, secret string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM token WHERE hash = ?`, tokenHash(secret))
		return err
	})
	return db.fail(err, "delete a token")
}

// JoinAccount uses up a token of PurposeJoin and sets the password of its account, in one transaction. The account is signed out
// everywhere, and its other links stop working. It returns the account. If the token is unknown, used or expired, it fails with
// concordat.ErrNotFound.
func (db *People) JoinAccount(ctx context.Context, secret, password string) (Account, error) {
	var a Account
	err := db.write(ctx, func(c engine.Conn) error {
		var name string
		err := c.Row(ctx, `SELECT account FROM token WHERE hash = ? AND purpose = ? AND expires > ?`, tokenHash(secret), PurposeJoin,
			stamp(db.now())).Scan(&name)
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `DELETE FROM token WHERE account = ?`, name); err != nil {
			return err
		}
		a, err = scanAccount(c.Row(ctx, `UPDATE account SET password = ? WHERE name = ? AND disabled = 0 RETURNING `+accountColumns, password,
			name))
		return err
	})
	return a, db.fail(err, "set a password")
}

// FirstAccount uses up a token of PurposeFirst and creates an administrator, in one transaction. It fails with concordat.ErrNotFound if
// the token is unknown, used or expired, and with concordat.ErrExists if an account exists.
func (db *People) FirstAccount(ctx context.Context, secret string, a Account) error {
	a.Role = RoleAdministrator
	err := a.validate()
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			n, err := c.Exec(ctx, `DELETE FROM token WHERE hash = ? AND purpose = ? AND expires > ?`, tokenHash(secret), PurposeFirst,
				stamp(db.now()))
			if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("%w: the link has already been used or has expired", concordat.ErrNotFound)
			}
			if err := c.Row(ctx, `SELECT COUNT(*) FROM account`).Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				return fmt.Errorf("%w: an account already exists", concordat.ErrExists)
			}
			return insertAccount(ctx, c, a)
		})
	}
	return db.fail(err, "create the first account, %s", a.Name)
}
