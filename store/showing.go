package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Forms of a showing, that is, which part of a text of this site was sent to a partner. A partner gets at most one of the two sketches of
// a text, FormFingerprints and FormWords, because together they reveal most of its words (doc/federation.md).
const (
	FormMatches      = "matches"      // which sentences match, and titles
	FormLeads        = "leads"        // which sentences might say the same, and titles
	FormCells        = "cells"        // meaning cells of its sentences
	FormFingerprints = "fingerprints" // fingerprints of its sentences
	FormWords        = "words"        // keyed sets of words
	FormEdges        = "edges"        // the order of the words in a passage
	FormOverlap      = "overlap"      // words common to both sides
	FormPassage      = "passage"      // text
)

// sketchForms maps each sketch to the other.
var sketchForms = map[string]string{FormFingerprints: FormWords, FormWords: FormFingerprints}

// Showing records the part of a text sent to a partner.
type Showing struct {
	Partner  concordat.SiteID     `json:"partner"`
	Hash     string               `json:"hash"` // hexadecimal SHA-256 of the text
	Form     string               `json:"form"`
	Library  concordat.LibraryID  `json:"library"`
	Document concordat.DocumentID `json:"document"`
	Epoch    concordat.Epoch      `json:"epoch"` // epoch of the latest showing

	// When a showing is recorded, Sentences and Characters count that showing; in lists, they count all showings.
	Sentences  int `json:"sentences"`
	Characters int `json:"characters"`

	// The store sets the remaining fields.

	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Times int       `json:"times"`
}

const showingColumns = `partner, hash, form, library, document, federation, number, first, last, times, sentences, characters`

func scanShowing(s engine.Scanner) (Showing, error) {
	var x Showing
	var first, last int64
	err := s.Scan(&x.Partner, &x.Hash, &x.Form, &x.Library, &x.Document, &x.Epoch.Federation, &x.Epoch.Number,
		&first, &last, &x.Times, &x.Sentences, &x.Characters)
	x.First, x.Last = instant(first), instant(last)
	return x, err
}

// Show records the showings in one transaction. If a showing is a sketch and the partner already has the other sketch of the text, or of
// any text of the document, it fails with concordat.ErrRefused. Concurrent calls never send both.
func (db *Asks) Show(ctx context.Context, xs ...Showing) error {
	if len(xs) == 0 {
		return nil
	}
	err := db.write(ctx, func(c engine.Conn) error {
		put, err := c.Prepare(ctx, `INSERT INTO showing (`+showingColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
			ON CONFLICT (partner, hash, form, library, document) DO UPDATE SET
				federation = excluded.federation, number = excluded.number, last = excluded.last, times = showing.times + 1,
				sentences = showing.sentences + excluded.sentences, characters = showing.characters + excluded.characters`)
		if err != nil {
			return err
		}
		defer put.Close()
		now := stamp(db.now())
		for _, x := range xs {
			if err := mayShow(ctx, c, x); err != nil {
				return err
			}
			if _, err := put.ExecContext(ctx, x.Partner, x.Hash, x.Form, x.Library, cleanText(string(x.Document)), x.Epoch.Federation,
				x.Epoch.Number, now, now, x.Sentences, x.Characters); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "record what was shown to %s", xs[0].Partner)
}

// mayShow fails with concordat.ErrRefused if the partner has the other sketch of the text or document.
func mayShow(ctx context.Context, c engine.Conn, x Showing) error {
	for _, name := range []string{string(x.Partner), x.Hash, x.Form} {
		if err := checkName("part of a showing", name); err != nil {
			return err
		}
	}
	other := sketchForms[x.Form]
	if other == "" {
		return nil
	}
	var hash string
	err := c.Row(ctx, `SELECT hash FROM showing WHERE partner = ? AND form = ?
		AND (hash = ? OR (library = ? AND document = ?)) LIMIT 1`,
		x.Partner, other, x.Hash, x.Library, x.Document).Scan(&hash)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: partner %s has already received %s of this text", concordat.ErrRefused, x.Partner, other)
}

// Showings returns up to limit showings to a partner, latest first.
func (db *Asks) Showings(ctx context.Context, partner concordat.SiteID, limit int) ([]Showing, error) {
	xs, err := engine.Collect(ctx, db.read(), scanShowing, `SELECT `+showingColumns+` FROM showing WHERE partner = ?
		ORDER BY last DESC, library, document, form, hash LIMIT ?`, partner, page(limit))
	return xs, db.fail(err, "list what was shown to %s", partner)
}

// ShowingSum is the total of showings with one form and library.
type ShowingSum struct {
	Form       string              `json:"form"`
	Library    concordat.LibraryID `json:"library,omitempty"`
	Documents  int                 `json:"documents"` // number of texts
	Times      int                 `json:"times"`
	Sentences  int                 `json:"sentences"`
	Characters int                 `json:"characters"`
	First      time.Time           `json:"first"`
	Last       time.Time           `json:"last"`
}

// ShowingSums returns the totals of everything sent to a partner, ordered by direction, library and form.
func (db *Asks) ShowingSums(ctx context.Context, partner concordat.SiteID) ([]ShowingSum, error) {
	xs, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (ShowingSum, error) {
		var x ShowingSum
		var first, last int64
		err := s.Scan(&x.Form, &x.Library, &x.Documents, &x.Times, &x.Sentences, &x.Characters, &first, &last)
		x.First, x.Last = instant(first), instant(last)
		return x, err
	}, `SELECT form, library, count(DISTINCT hash), sum(times), sum(sentences), sum(characters), min(first), max(last)
		FROM showing WHERE partner = ? GROUP BY library, form ORDER BY library, form`, partner)
	return xs, db.fail(err, "list what was shown to %s", partner)
}

// Outlined identifies a document whose outline is sent to a partner.
type Outlined struct {
	Partner  concordat.SiteID
	Library  concordat.LibraryID
	Document concordat.DocumentID
}

// Outline records which units of a document an outline contains, and returns whether each can be sent. Units already sent to the partner
// since the given time can be sent again, and so can others, in order, up to a total of most; a negative most means no limit. Together,
// concurrent calls never send more.
func (db *Asks) Outline(ctx context.Context, x Outlined, since time.Time, most int, units []int) (shown []bool, err error) {
	shown = make([]bool, len(units))
	err = db.write(ctx, func(c engine.Conn) error {
		known := map[int]bool{}
		seen, err := engine.Collect(ctx, c, func(s engine.Scanner) (unit int, err error) { return unit, s.Scan(&unit) },
			`SELECT unit FROM outlined WHERE partner = ? AND library = ? AND document = ? AND made > ?`, x.Partner, x.Library, x.Document, stamp(since))
		if err != nil {
			return err
		}
		for _, unit := range seen {
			known[unit] = true
		}
		put, err := c.Prepare(ctx, `INSERT INTO outlined (partner, library, document, unit, made) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (partner, library, document, unit) DO UPDATE SET made = excluded.made`)
		if err != nil {
			return err
		}
		defer put.Close()
		for i, unit := range units {
			if shown[i] = known[unit] || most < 0 || len(known) < most; !shown[i] || known[unit] {
				continue
			}
			known[unit] = true
			if _, err := put.ExecContext(ctx, x.Partner, x.Library, x.Document, unit, stamp(db.now())); err != nil {
				return err
			}
		}
		return nil
	})
	return shown, db.fail(err, "record the outline of %s for %s", x.Document, x.Partner)
}

// ForgetOutlined deletes units sent before the given time.
func (db *Asks) ForgetOutlined(ctx context.Context, before time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM outlined WHERE made < ?`, stamp(before))
		return err
	})
	return db.fail(err, "delete old outlines")
}

// Part is a minimum part of a library: one in every Of documents, and at least Least documents.
type Part struct{ Of, Least int }

// MuchShown returns alarms of kind AlarmLibrary, ordered by partner and library, about partners that since the given time have learned of
// part told of a library, or been sent outlines of part outlined.
func (db *Asks) MuchShown(ctx context.Context, since time.Time, told, outlined Part) ([]PartnerAlarm, error) {
	if told.Of <= 0 || outlined.Of <= 0 {
		return nil, fmt.Errorf("%w: the denominators of the shares must be positive, but are %d and %d", concordat.ErrInvalid, told.Of, outlined.Of)
	}
	as, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (a PartnerAlarm, err error) {
		a.Kind = AlarmLibrary
		return a, s.Scan(&a.Partner, &a.Library)
	}, `SELECT partner, library FROM showing WHERE form = ? AND last > ? GROUP BY partner, library
			HAVING count(DISTINCT document) >= ?
				AND count(DISTINCT document) * ? >= (SELECT count(*) FROM document d WHERE d.library = showing.library)
		UNION SELECT partner, library FROM outlined WHERE made > ? GROUP BY partner, library
			HAVING count(DISTINCT document) >= ?
				AND count(DISTINCT document) * ? >= (SELECT count(*) FROM document d WHERE d.library = outlined.library)
		ORDER BY partner, library`, FormMatches, stamp(since), told.Least, told.Of, stamp(since), outlined.Least, outlined.Of)
	return as, db.fail(err, "list partners that were shown much of a library")
}
