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

// Share opens a library to one partner. Without a share, a partner gets no answers.
type Share struct {
	Library concordat.LibraryID `json:"library"`
	Partner concordat.SiteID    `json:"partner"`
	Rule    ShareRule           `json:"rule"`

	// The store sets the remaining fields.

	Version int       `json:"version"` // version of the rule, from 1
	Made    time.Time `json:"made"`
	Changed time.Time `json:"changed"`
}

// ShareRule determines what a partner is allowed to ask about a library, and what is disclosed to it.
type ShareRule struct {
	// Level is the highest level of disclosure. Each passage also requires approval by a person.
	Level concordat.Show `json:"level"`
	// Outline is the form in which a matching document is disclosed for alignment: OutlineWords, OutlineFingerprints, or empty for none.
	Outline string `json:"outline,omitempty"`
	// NoEdges refuses the edge round, which reveals the order of words around a literal copy.
	NoEdges bool `json:"no_edges,omitempty"`
	// Purposes lists the purposes for which the library can be queried; empty for any.
	Purposes []string `json:"purposes,omitempty"`
	// Closeness is the maximum distance in bits of a match, 1 to 100; 0 for the scheme's gate.
	Closeness int `json:"closeness,omitempty"`
	// Matches is the number of sentences in one job that must match one document before it is named; 0 for 2.
	Matches int `json:"matches,omitempty"`
	// Limits restrict what the partner asks and receives.
	Limits Limits `json:"limits,omitzero"`
	// Nothing is answered before Embargo; zero for no embargo.
	Embargo time.Time `json:"embargo,omitzero"`
	// Nothing is answered at or after Expires; zero for no expiry.
	Expires time.Time `json:"expires,omitzero"`
	// Ship allows the partner to keep a mirror of the library's fingerprints.
	Ship bool `json:"ship,omitempty"`
	// Standing allows the partner to leave questions that later documents answer.
	Standing bool `json:"standing,omitempty"`
	// Leads allows the partner to ask, using meaning cells, which documents might say the same in other words. It requires
	// ShowMetadata.
	Leads bool `json:"leads,omitempty"`
	// ExcludeAuthors omits documents by the authors named by the asker.
	ExcludeAuthors bool `json:"exclude_authors,omitempty"`
	// Approval is how long a request for a passage waits for a decision, and how long a partner can read a granted passage; 0 for 14
	// days.
	Approval time.Duration `json:"approval,omitempty"`
	// Contact tells people at the partner whom to contact.
	Contact string `json:"contact,omitempty"`
}

// Limits apply to one partner and one library. In each, 0 means the default and a negative value means no limit. Days and hours are
// sliding windows that move in steps of SpendSlot.
type Limits struct {
	Sentences   int `json:"sentences,omitempty"`   // sentences asked per day, including padding; 20,000
	Burst       int `json:"burst,omitempty"`       // sentences asked per hour, including dummies; 10,000
	Disclosures int `json:"disclosures,omitempty"` // matching sentences disclosed per day; 500
	Documents   int `json:"documents,omitempty"`   // documents disclosed per day; 50
	Characters  int `json:"characters,omitempty"`  // characters of text disclosed per day; 20,000
	// Opened limits the sentences of one document opened per year at level overlap or above, either to this number or to 5 % of the
	// document, whichever is more. The default is 25.
	Opened int `json:"opened,omitempty"`

	// Units limits the sentences of one document that outlines disclose per year only because adjacent sentences matched, either to this
	// number or to a quarter of the document, whichever is more. The default is 100.
	Units int `json:"units,omitempty"`

	// The following limits apply to questions about meaning cells, separately from the others.

	LeadCells     int `json:"lead_cells,omitempty"`     // cells asked per day, including padding; 10,000
	LeadSentences int `json:"lead_sentences,omitempty"` // sentences disclosed per day; 100
	LeadDocuments int `json:"lead_documents,omitempty"` // documents disclosed per day; 20
}

// Defaults for a ShareRule (doc/federation.md).
const (
	DefaultMatches  = 2
	DefaultApproval = 14 * 24 * time.Hour
)

// DefaultShareRule returns the default rule for opening a library. With outlines, the asking site aligns matches as it does for its own
// documents; without them, it has only an estimate.
func DefaultShareRule() ShareRule {
	return ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords}
}

// Filled returns r with zeros replaced by defaults.
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
		return fmt.Errorf("%w: unknown level %q", concordat.ErrInvalid, r.Level)
	case r.Outline != "" && r.Outline != concordat.OutlineWords && r.Outline != concordat.OutlineFingerprints:
		return fmt.Errorf("%w: unknown kind of outline %q", concordat.ErrInvalid, r.Outline)
	case r.Closeness < 0 || r.Closeness > concordat.Bits:
		return fmt.Errorf("%w: the closeness is %d bits, want 0 to %d", concordat.ErrInvalid, r.Closeness, concordat.Bits)
	case r.Matches < 0:
		return fmt.Errorf("%w: the minimum number of matches must not be negative, but is %d", concordat.ErrInvalid, r.Matches)
	case r.Approval < 0:
		return fmt.Errorf("%w: the time for approval must not be negative, but is %s", concordat.ErrInvalid, r.Approval)
	case !r.Embargo.IsZero() && !r.Expires.IsZero() && !r.Embargo.Before(r.Expires):
		return fmt.Errorf("%w: the embargo must end before the share expires", concordat.ErrInvalid)
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
	// A rule unknown to this program must not be dropped silently.
	dec := json.NewDecoder(bytes.NewReader([]byte(rule)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&x.Rule); err != nil {
		return Share{}, fmt.Errorf("%w: cannot decode the rule of library %s for partner %s: %w", concordat.ErrCorrupt, x.Library, x.Partner, err)
	}
	return x, nil
}

// PutShare opens the library to the partner under the rule, or replaces the rule, and returns the stored share. If the library does not
// exist, it fails with concordat.ErrNotFound.
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
	return x, db.fail(err, "get the share of %s with %s", lib, partner)
}

// Shares returns all shares ordered by library and partner. A nonempty library or partner selects only its shares.
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
	return db.fail(err, "stop sharing %s with %s", lib, partner)
}
