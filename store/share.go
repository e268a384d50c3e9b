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

// Share opens a library to one partner. Without a share a partner gets no answer.
type Share struct {
	Library concordat.LibraryID `json:"library"`
	Partner concordat.SiteID    `json:"partner"`
	Rule    ShareRule           `json:"rule"`

	// The rest is set by the store.

	Version int       `json:"version"` // version of the rule, from 1
	Made    time.Time `json:"made"`
	Changed time.Time `json:"changed"`
}

// ShareRule says what a partner may ask about a library and what it is shown.
type ShareRule struct {
	// Level is the most that the partner is shown. Passages also need a person's approval each time.
	Level concordat.Show `json:"level"`
	// Outline is the form in which a matching document is shown for alignment: OutlineWords,
	// OutlineFingerprints, or empty for none.
	Outline string `json:"outline,omitempty"`
	// NoEdges refuses the edge round, which reveals the order of words around a literal copy.
	NoEdges bool `json:"no_edges,omitempty"`
	// Purposes are the purposes for which the library may be asked; empty: any.
	Purposes []string `json:"purposes,omitempty"`
	// Closeness is the largest distance in bits that counts as a match, 1 to 100; 0: the gate of
	// the scheme.
	Closeness int `json:"closeness,omitempty"`
	// Matches is the number of sentences of one job that must match sentences of one document before the document is named; 0:
	// 2.
	Matches int `json:"matches,omitempty"`
	// Limits bound what the partner asks and is shown.
	Limits Limits `json:"limits,omitzero"`
	// Until Embargo, nothing is answered; zero: there is no embargo.
	Embargo time.Time `json:"embargo,omitzero"`
	// From Expires on, nothing is answered; zero: the share does not expire.
	Expires time.Time `json:"expires,omitzero"`
	// Ship lets the partner keep a mirror of the library's fingerprints.
	Ship bool `json:"ship,omitempty"`
	// Standing lets the partner leave questions that later documents answer.
	Standing bool `json:"standing,omitempty"`
	// Leads lets the partner ask by cells of meaning which documents may say the same in other words. It needs ShowMetadata.
	Leads bool `json:"leads,omitempty"`
	// ExcludeAuthors leaves out documents of the authors named by the asker.
	ExcludeAuthors bool `json:"exclude_authors,omitempty"`
	// Approval is how long a request for a passage waits for a person, and how long a granted passage can be read; 0: 14 days.
	Approval time.Duration `json:"approval,omitempty"`
	// Contact says whom people at the partner can contact.
	Contact string `json:"contact,omitempty"`
}

// Limits apply to one partner at one library. For each, 0 means the default and a negative value no limit. Days and hours are sliding
// windows that move in steps of SpendSlot.
type Limits struct {
	Sentences   int `json:"sentences,omitempty"`   // asked in a day, padded; 20,000
	Burst       int `json:"burst,omitempty"`       // asked in an hour, dummies included; 10,000
	Disclosures int `json:"disclosures,omitempty"` // matching sentences disclosed in a day; 500
	Documents   int `json:"documents,omitempty"`   // documents disclosed in a day; 50
	Characters  int `json:"characters,omitempty"`  // of text shown in a day; 20,000
	// Opened bounds the sentences of one document that are opened in a year at level overlap or above: this number, or 5 % of the document
	// if that is more. The default is 25.
	Opened int `json:"opened,omitempty"`

	// Units bounds the sentences of one document that outlines show in a year although only sentences next to them matched: this number, or
	// a quarter of the document if that is more. The default is 100.
	Units int `json:"units,omitempty"`

	// These apply to questions by cells of meaning, separately from the others.

	LeadCells     int `json:"lead_cells,omitempty"`     // asked in a day, padded; 10,000
	LeadSentences int `json:"lead_sentences,omitempty"` // disclosed in a day; 100
	LeadDocuments int `json:"lead_documents,omitempty"` // disclosed in a day; 20
}

// Defaults of a ShareRule (doc/federation.md).
const (
	DefaultMatches  = 2
	DefaultApproval = 14 * 24 * time.Hour
)

// DefaultShareRule returns the default rule for opening a library. With outlines the asking site aligns matches as it aligns
// its own documents; without them it has only an estimate.
func DefaultShareRule() ShareRule {
	return ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords}
}

// Filled returns r with defaults in place of zeros.
func (r ShareRule) Filled() ShareRule {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&r.Matches, DefaultMatches)
	def(&r.Limits.Sentences, 20_000)
	def(&r.Limits.Burst, 10_000)
	def(&r.Limits.Disclosures, 500)
	def(&r.Limits.Documents, 50)
	def(&r.Limits.Characters, 20_000)
	def(&r.Limits.Opened, 25)
	def(&r.Limits.Units, 100)
	def(&r.Limits.LeadCells, 10_000)
	def(&r.Limits.LeadSentences, 100)
	def(&r.Limits.LeadDocuments, 20)
	if r.Approval == 0 {
		r.Approval = DefaultApproval
	}
	return r
}

// Validate returns nil or an error that wraps concordat.ErrInvalid.
func (r ShareRule) Validate() error {
	known := false
	for _, l := range concordat.Levels() {
		known = known || l == r.Level
	}
	switch {
	case !known:
		return fmt.Errorf("%w: level %q", concordat.ErrInvalid, r.Level)
	case r.Outline != "" && r.Outline != concordat.OutlineWords && r.Outline != concordat.OutlineFingerprints:
		return fmt.Errorf("%w: outline %q", concordat.ErrInvalid, r.Outline)
	case r.Closeness < 0 || r.Closeness > concordat.Bits:
		return fmt.Errorf("%w: closeness of %d bits, want 0 to %d", concordat.ErrInvalid, r.Closeness, concordat.Bits)
	case r.Matches < 0:
		return fmt.Errorf("%w: %d matches", concordat.ErrInvalid, r.Matches)
	case r.Approval < 0:
		return fmt.Errorf("%w: approval within %s", concordat.ErrInvalid, r.Approval)
	case !r.Embargo.IsZero() && !r.Expires.IsZero() && !r.Embargo.Before(r.Expires):
		return fmt.Errorf("%w: the embargo ends after the share expires", concordat.ErrInvalid)
	}
	for _, p := range r.Purposes {
		if err := checkName("purpose", p); err != nil {
			return err
		}
	}
	return nil
}

const shareColumns = `library, partner, rule, version, made, changed`

func scanShare(s engine.Scanner) (Share, error) {
	var x Share
	var rule string
	var made, changed int64
	if err := s.Scan(&x.Library, &x.Partner, &rule, &x.Version, &made, &changed); err != nil {
		return Share{}, err
	}
	x.Made, x.Changed = instant(made), instant(changed)
	// A rule that this program does not know must not be dropped silently.
	dec := json.NewDecoder(bytes.NewReader([]byte(rule)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&x.Rule); err != nil {
		return Share{}, fmt.Errorf("%w: rule of %s for %s: %w", concordat.ErrCorrupt, x.Library, x.Partner, err)
	}
	return x, nil
}

// PutShare opens the library to the partner under the rule, or replaces the rule, and returns what is stored. It fails with
// concordat.ErrNotFound if the library does not exist.
func (db *Answers) PutShare(ctx context.Context, x Share) (Share, error) {
	rule, err := encodeShare(x)
	if err != nil {
		return Share{}, db.fail(err, "share %s with %s", x.Library, x.Partner)
	}
	now := stamp(db.now())
	err = db.write(ctx, func(c engine.Conn) error {
		x, err = scanShare(c.Row(ctx, `INSERT INTO share (`+shareColumns+`) VALUES (?, ?, ?, 1, ?, ?)
			ON CONFLICT (library, partner) DO UPDATE SET rule = excluded.rule, changed = excluded.changed, version = share.version + 1
			RETURNING `+shareColumns, x.Library, x.Partner, rule, now, now))
		return err
	})
	return x, db.fail(err, "share %s with %s", x.Library, x.Partner)
}

func encodeShare(x Share) (string, error) {
	if err := checkName("library", x.Library); err != nil {
		return "", err
	}
	if err := checkName("partner", x.Partner); err != nil {
		return "", err
	}
	if err := x.Rule.Validate(); err != nil {
		return "", err
	}
	b, err := json.Marshal(x.Rule)
	return string(b), err
}

// Share returns the rule that opens the library to the partner, or concordat.ErrNotFound.
func (db *Answers) Share(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID) (Share, error) {
	x, err := scanShare(db.read().Row(ctx, `SELECT `+shareColumns+` FROM share WHERE library = ? AND partner = ?`, lib, partner))
	return x, db.fail(err, "share of %s with %s", lib, partner)
}

// Shares returns all shares in order of library and partner. If library or partner is not empty, it returns only the shares of that library
// or with that partner.
func (db *Answers) Shares(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID) ([]Share, error) {
	xs, err := engine.Collect(ctx, db.read(), scanShare, `SELECT `+shareColumns+` FROM share
		WHERE (? = '' OR library = ?) AND (? = '' OR partner = ?) ORDER BY library, partner`, lib, lib, partner, partner)
	return xs, db.fail(err, "list shares")
}

// DeleteShare closes the library to the partner, or fails with concordat.ErrNotFound.
func (db *Answers) DeleteShare(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		return oneOf(c.Exec(ctx, `DELETE FROM share WHERE library = ? AND partner = ?`, lib, partner))
	})
	return db.fail(err, "unshare %s with %s", lib, partner)
}
