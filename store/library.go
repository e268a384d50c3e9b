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

// Library is a named collection of documents with its policy.
type Library struct {
	ID        concordat.LibraryID
	Title     string
	Policy    Policy
	Created   time.Time
	Documents int // counted by the store; not read from a caller
}

// Policy is the set of rules that the owner of a library sets for everyone. Each partner for which the library is open also has a Share.
type Policy struct {
	// Forward says which sentences of checks that name this library are forwarded: unmatched, all or none; empty: the
	// site's setting. The strictest of several libraries applies, and a check's own choice overrides all.
	Forward string `json:"forward,omitempty"`
	// Template names the section template of its documents, and of submissions checked against it alone or with libraries of
	// the same template, unless a check names its own; empty: none.
	Template string `json:"template,omitempty"`
	// Meaning says whether its documents are indexed by meaning: MeaningOff, or empty for the site's setting.
	Meaning string `json:"meaning,omitempty"`
	// Until Embargo, partners get no answer; zero: there is no embargo.
	Embargo time.Time `json:"embargo,omitzero"`
	// From Expires on, the library no longer answers anyone; zero: it always answers.
	Expires time.Time `json:"expires,omitzero"`
	// KeepDays is the number of days after which a document of the library is deleted; 0: never.
	KeepDays int `json:"keep_days,omitempty"`
	// Central is the version of the settings for all machines that contains this policy, which can then only be changed there; 0: the
	// policy is this store's own.
	Central int64 `json:"central,omitempty"`
}

// MeaningOff is the policy of a library whose documents have no cells of meaning.
const MeaningOff = "off"

// Validate returns nil or an error that wraps concordat.ErrInvalid.
func (p Policy) Validate() error {
	switch p.Forward {
	case "", "unmatched", "all", "none":
	default:
		return fmt.Errorf("%w: forward %q", concordat.ErrInvalid, p.Forward)
	}
	if p.Meaning != "" && p.Meaning != MeaningOff {
		return fmt.Errorf("%w: meaning %q, want off or nothing", concordat.ErrInvalid, p.Meaning)
	}
	if p.KeepDays < 0 || p.KeepDays > 100_000 {
		return fmt.Errorf("%w: keep for %d days", concordat.ErrInvalid, p.KeepDays)
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
	// A rule that this program does not know must not be dropped silently.
	dec := json.NewDecoder(bytes.NewReader([]byte(policy)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l.Policy); err != nil {
		return Library{}, fmt.Errorf("%w: policy of library %s: %w", concordat.ErrCorrupt, l.ID, err)
	}
	return l, nil
}

// CreateLibrary creates l. It fails with concordat.ErrExists if its id is taken.
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

// UpdateLibrary sets the title and the policy of the library with l's id, or fails with concordat.ErrNotFound. The time of creation stays.
// If the present policy has Central set, it can only be replaced by one of a later version or released unchanged with Central 0; otherwise
// the call fails with concordat.ErrRefused.
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
				return fmt.Errorf("%w: policy: %w", concordat.ErrCorrupt, err)
			}
			let := now
			let.Central = 0
			released, err := json.Marshal(let)
			if err != nil {
				return err
			}
			if now.Central > 0 && l.Policy.Central <= now.Central && policy != held && policy != string(released) {
				return fmt.Errorf("%w: its policy is that of the cluster's settings, version %d, and is changed there", concordat.ErrRefused,
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
		return "", fmt.Errorf("%w: a library cannot be named as a batch is: %s", concordat.ErrInvalid, l.ID)
	}
	if err := l.Policy.Validate(); err != nil {
		return "", err
	}
	b, err := json.Marshal(l.Policy)
	return string(b), err
}

// oneOf returns concordat.ErrNotFound if a statement changed no row.
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

// Libraries returns all libraries in order of id, with their numbers of documents.
func (db *Catalogue) Libraries(ctx context.Context) ([]Library, error) {
	ls, err := engine.Collect(ctx, db.read(), scanLibrary, `SELECT `+libraryColumns+` FROM library l ORDER BY l.id`)
	return ls, db.fail(err, "list libraries")
}

// DeleteLibrary deletes an empty library and its record of ingest. It fails with concordat.ErrNotFound if there is no such library, and
// with concordat.ErrInvalid while it has documents.
func (db *Catalogue) DeleteLibrary(ctx context.Context, id concordat.LibraryID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		l, err := scanLibrary(c.Row(ctx, `SELECT `+libraryColumns+` FROM library l WHERE l.id = ?`, id))
		if err != nil {
			return err
		}
		if l.Documents > 0 {
			return fmt.Errorf("%w: it holds %d documents", concordat.ErrInvalid, l.Documents)
		}
		_, err = c.Exec(ctx, `DELETE FROM library WHERE id = ?`, id)
		return err
	})
	return db.fail(err, "delete library %s", id)
}
