package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Library is a named collection of documents, with its policy.
type Library struct {
	ID        concordat.LibraryID
	Title     string
	Policy    Policy
	Created   time.Time
	Documents int // set by the store; ignored on input
}

// Policy is the set of rules that a library's owner sets for everyone. Each partner that can query the library also has a Share.
type Policy struct {
	// Forward determines which sentences are forwarded in checks that name this library: unmatched, all or none; empty for the site's
	// setting. The strictest setting of several libraries applies; a choice made in the check overrides them all.
	Forward string `json:"forward,omitempty"`
	// Template names the section template for the library's documents, and for submissions checked against it alone or with libraries
	// that have the same template, unless a check names another one; empty for none.
	Template string `json:"template,omitempty"`
	// Meaning determines whether its documents are indexed by meaning: MeaningOff, or empty for the site's setting.
	Meaning string `json:"meaning,omitempty"`
	// Partners get no answer before Embargo; zero for no embargo.
	Embargo time.Time `json:"embargo,omitzero"`
	// The library gives no answers at or after Expires; zero for no expiry.
	Expires time.Time `json:"expires,omitzero"`
	// KeepDays is the number of days after which the library's documents are deleted; 0 for never.
	KeepDays int `json:"keep_days,omitempty"`
	// If the settings for all machines contain this policy, Central is their version, and the policy can be changed only there; 0 if the
	// policy belongs to this store.
	Central int64 `json:"central,omitempty"`
}

// MeaningOff is the policy of a library whose documents have no meaning cells.
const MeaningOff = "off"

// Validate returns nil or an error that wraps concordat.ErrInvalid.
func (p Policy) Validate() error {
	switch p.Forward {
	case "", "unmatched", "all", "none":
	default:
		return fmt.Errorf("%w: unknown value %q for forward", concordat.ErrInvalid, p.Forward)
	}
	if p.Meaning != "" && p.Meaning != MeaningOff {
		return fmt.Errorf("%w: unknown value %q for meaning; want off or an empty value", concordat.ErrInvalid, p.Meaning)
	}
	if p.KeepDays < 0 || p.KeepDays > 100_000 {
		return fmt.Errorf("%w: the retention period of %d days is out of range", concordat.ErrInvalid, p.KeepDays)
	}
	return nil
}

const libraryColumns = `l.id, l.title, l.policy, l.created,
	(SELECT count(*) FROM document d WHERE d.library = l.id)`

func scanLibrary(s engine.Scanner) (Library, error) {
	var l Library
	var policy string
	var created int64
	if err := s.Scan(&l.ID, &l.Title, &policy, &created, &l.Documents); err != nil {
		return Library{}, err
	}
	l.Created = instant(created)
	// A rule unknown to this program must not be dropped silently.
	dec := json.NewDecoder(bytes.NewReader([]byte(policy)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l.Policy); err != nil {
		return Library{}, fmt.Errorf("%w: cannot decode the policy of library %s: %w", concordat.ErrCorrupt, l.ID, err)
	}
	return l, nil
}

// CreateLibrary creates l. If its id exists, it fails with concordat.ErrExists.
func (db *Catalogue) CreateLibrary(ctx context.Context, l Library) error {
	policy, err := encodeLibrary(l)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			_, err := c.Exec(ctx, `INSERT INTO library (id, title, policy, created) VALUES (?, ?, ?, ?)`,
				l.ID, cleanText(l.Title), policy, stamp(l.Created))
			return err
		})
	}
	return db.fail(err, "create library %s", l.ID)
}

// UpdateLibrary sets the title and policy of the library with l's id, or fails with concordat.ErrNotFound. The time of creation does not
// change. If the current policy has Central set, it can only be replaced by a policy of a later version, or released unchanged with
// Central 0; otherwise, the call fails with concordat.ErrRefused.
func (db *Catalogue) UpdateLibrary(ctx context.Context, l Library) error {
	policy, err := encodeLibrary(l)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			var held string
			if err := c.Row(ctx, `SELECT policy FROM library WHERE id = ?`, l.ID).Scan(&held); err != nil {
				return err
			}
			var now Policy
			if err := json.Unmarshal([]byte(held), &now); err != nil {
				return fmt.Errorf("%w: cannot decode the policy: %w", concordat.ErrCorrupt, err)
			}
			let := now
			let.Central = 0
			released, err := json.Marshal(let)
			if err != nil {
				return err
			}
			if now.Central > 0 && l.Policy.Central <= now.Central && policy != held && policy != string(released) {
				return fmt.Errorf("%w: the policy comes from version %d of the cluster's settings and can be changed only there", concordat.ErrRefused,
					now.Central)
			}
			n, err := c.Exec(ctx, `UPDATE library SET title = ?, policy = ? WHERE id = ?`, cleanText(l.Title), policy, l.ID)
			return oneOf(n, err)
		})
	}
	return db.fail(err, "update library %s", l.ID)
}

func encodeLibrary(l Library) (policy string, err error) {
	if err := checkName("library", l.ID); err != nil {
		return "", err
	}
	if _, ok := l.ID.Batch(); ok {
		return "", fmt.Errorf("%w: names of this form are reserved for batches: %s", concordat.ErrInvalid, l.ID)
	}
	if err := l.Policy.Validate(); err != nil {
		return "", err
	}
	b, err := json.Marshal(l.Policy)
	return string(b), err
}

// oneOf returns concordat.ErrNotFound if a statement changed no rows.
func oneOf(n int64, err error) error {
	if err == nil && n == 0 {
		return concordat.ErrNotFound
	}
	return err
}

// Library returns the library with its number of documents, or concordat.ErrNotFound.
func (db *Catalogue) Library(ctx context.Context, id concordat.LibraryID) (Library, error) {
	l, err := scanLibrary(db.read().Row(ctx, `SELECT `+libraryColumns+` FROM library l WHERE l.id = ?`, id))
	return l, db.fail(err, "library %s", id)
}

// Libraries returns all libraries ordered by id, with their numbers of documents.
func (db *Catalogue) Libraries(ctx context.Context) ([]Library, error) {
	ls, err := engine.Collect(ctx, db.read(), scanLibrary, `SELECT `+libraryColumns+` FROM library l ORDER BY l.id`)
	return ls, db.fail(err, "list libraries")
}

// DeleteLibrary deletes an empty library and its ingest records. It fails with concordat.ErrNotFound if there is no such library, and
// with concordat.ErrInvalid if it still has documents.
func (db *Catalogue) DeleteLibrary(ctx context.Context, id concordat.LibraryID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		l, err := scanLibrary(c.Row(ctx, `SELECT `+libraryColumns+` FROM library l WHERE l.id = ?`, id))
		if err != nil {
			return err
		}
		if l.Documents > 0 {
			return fmt.Errorf("%w: the library still contains %d documents", concordat.ErrInvalid, l.Documents)
		}
		_, err = c.Exec(ctx, `DELETE FROM library WHERE id = ?`, id)
		return err
	})
	return db.fail(err, "delete library %s", id)
}
