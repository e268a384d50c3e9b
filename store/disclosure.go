package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Directions of a disclosure.
const (
	DisclosureIn  = "in"  // a partner asks this site
	DisclosureOut = "out" // this site asked a partner
)

// Disclosure is a request for full passages of one document.
type Disclosure struct {
	ID        string               `json:"id"`
	Direction string               `json:"direction"`
	Partner   concordat.SiteID     `json:"partner"`
	Job       concordat.JobID      `json:"-"`
	Handle    concordat.Handle     `json:"-"`
	Library   concordat.LibraryID  `json:"library,omitempty"` // library, for a request to this site
	Document  concordat.DocumentID `json:"document,omitempty"`
	Hash      string               `json:"-"` // hash of the requested text
	Spans     []concordat.Span     `json:"spans"`
	Reason    string               `json:"reason,omitempty"`
	Contact   string               `json:"contact,omitempty"`
	State     string               `json:"state"`
	Words     string               `json:"words,omitempty"` // message of the person who decided
	Actor     string               `json:"actor,omitempty"` // account that decided
	Asked     time.Time            `json:"asked"`
	Decided   time.Time            `json:"decided,omitzero"`
	// Until is when a pending request or a grant expires.
	Until time.Time `json:"until,omitzero"`
}

const disclosureColumns = `id, direction, partner, job, handle, library, document, hash, spans, reason, contact, state, words, actor, asked, decided, until`

func scanDisclosure(s engine.Scanner) (Disclosure, error) {
	var d Disclosure
	var job, handle, spans string
	var asked, decided, until int64
	err := s.Scan(&d.ID, &d.Direction, &d.Partner, &job, &handle, &d.Library, &d.Document, &d.Hash, &spans, &d.Reason, &d.Contact,
		&d.State, &d.Words, &d.Actor, &asked, &decided, &until)
	d.Asked, d.Decided, d.Until = instant(asked), instant(decided), instant(until)
	if err == nil {
		err = fixedHex(d.Job[:], job)
	}
	if err == nil {
		err = fixedHex(d.Handle[:], handle)
	}
	if err == nil {
		if e := json.Unmarshal([]byte(spans), &d.Spans); e != nil {
			err = fmt.Errorf("%w: cannot decode the spans of disclosure %s: %w", concordat.ErrCorrupt, d.ID, e)
		}
	}
	return d, err
}

// PutDisclosure stores a request. The store sets Asked. If the ID exists, it fails with concordat.ErrExists.
func (db *Answers) PutDisclosure(ctx context.Context, d Disclosure) error {
	err := checkName("disclosure", d.ID)
	if err == nil {
		err = checkName("partner", d.Partner)
	}
	if err != nil {
		return db.fail(err, "put disclosure %s", d.ID)
	}
	spans, err := json.Marshal(d.Spans)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			_, err := c.Exec(ctx, `INSERT INTO disclosure (`+disclosureColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				d.ID, d.Direction, d.Partner, hex.EncodeToString(d.Job[:]), hex.EncodeToString(d.Handle[:]), d.Library, d.Document, d.Hash,
				string(spans), cleanText(d.Reason), cleanText(d.Contact), d.State, cleanText(d.Words), cleanText(d.Actor), stamp(db.now()),
				stamp(d.Decided), stamp(d.Until))
			if err != nil {
				return err
			}
			return db.disclosed(ctx, c, d.ID)
		})
	}
	return db.fail(err, "put disclosure %s", d.ID)
}

// Disclosure returns a request, or concordat.ErrNotFound.
func (db *Answers) Disclosure(ctx context.Context, id string) (Disclosure, error) {
	d, err := scanDisclosure(db.read().Row(ctx, `SELECT `+disclosureColumns+` FROM disclosure WHERE id = ?`, id))
	return d, db.fail(err, "disclosure %s", id)
}

// DisclosuresOf returns the requests for one document of a job, oldest first.
func (db *Answers) DisclosuresOf(ctx context.Context, direction string, partner concordat.SiteID, job concordat.JobID,
	h concordat.Handle) ([]Disclosure, error) {
	ds, err := engine.Collect(ctx, db.read(), scanDisclosure, `SELECT `+disclosureColumns+` FROM disclosure
		WHERE direction = ? AND partner = ? AND job = ? AND handle = ? ORDER BY asked, id`,
		direction, partner, hex.EncodeToString(job[:]), hex.EncodeToString(h[:]))
	return ds, db.fail(err, "list the disclosures of %s", partner)
}

// PendingDisclosures counts a partner's requests that await a decision here.
func (db *Answers) PendingDisclosures(ctx context.Context, partner concordat.SiteID) (n int, err error) {
	err = db.read().Row(ctx, `SELECT count(*) FROM disclosure WHERE direction = ? AND partner = ? AND state = ? AND until > ?`,
		DisclosureIn, partner, concordat.DisclosurePending, stamp(db.now())).Scan(&n)
	return n, db.fail(err, "count the pending disclosures of %s", partner)
}

// DisclosuresAfter returns up to limit requests, latest first, starting after the one with the given ID or, if that is empty, with the
// latest. It returns none if the ID is unknown.
func (db *Answers) DisclosuresAfter(ctx context.Context, id string, limit int) ([]Disclosure, error) {
	ds, err := engine.Collect(ctx, db.read(), scanDisclosure, `SELECT `+disclosureColumns+` FROM disclosure
		WHERE ? = '' OR asked < (SELECT asked FROM disclosure WHERE id = ?)
			OR asked = (SELECT asked FROM disclosure WHERE id = ?) AND id > ?
		ORDER BY asked DESC, id LIMIT ?`, id, id, id, id, page(limit))
	return ds, db.fail(err, "list disclosures")
}

// SetDisclosure moves a request from one state to another. If no request with the ID is in the first state, it fails with
// concordat.ErrNotFound, so that only the first of two decisions counts.
func (db *Answers) SetDisclosure(ctx context.Context, id, from, to, actor, words string, until time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE disclosure SET state = ?, actor = ?, words = ?, decided = ?, until = ? WHERE id = ? AND state = ?`,
			to, cleanText(actor), cleanText(words), stamp(db.now()), stamp(until), id, from)
		if err := oneOf(n, err); err != nil {
			return err
		}
		return db.disclosed(ctx, c, id)
	})
	return db.fail(err, "%s disclosure %s", to, id)
}
