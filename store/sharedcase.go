package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"concordat"
	"concordat/store/engine"
)

// Cases contains the cases that this site shares with partners.
type Cases struct{ base }

// SharedCase is a case about a document that one of two sites reported to the other in an alert. It contains the content of the alert and
// the decisions of people at both sites since then.
type SharedCase struct {
	Seq       int64 // set by the store, from 1
	ID        concordat.CaseID
	Side      AlertSide // AlertTold: the document is this site's
	Partner   concordat.SiteID
	Job       concordat.JobID
	Handle    concordat.Handle // zero: no document was named
	Task      concordat.TaskID // task of AlertFound; empty: it is deleted
	Source    concordat.Ref    // as in Alert; without a document if that was not named or is deleted
	Title     string
	Level     concordat.Show
	Sentences int
	Opened    time.Time
	State     concordat.CaseState // state on which both sides agree; otherwise open
	Own       CasePosition
	Theirs    CasePosition
	Questions int      // sentences of the partner that were deleted at its decision
	Erasure   string   // latest deletion of this site about the case
	Work      CaseWork // work that is still to be done
}

// CaseWork names the work about a case that is still to be done.
type CaseWork string

// The kinds of work.
const (
	CaseErase   CaseWork = "erase"   // the partner's data here must be deleted, since it has decided
	CaseReceipt CaseWork = "receipt" // the partner is sent the receipt of Erasure once there is one
	CaseWait    CaseWork = "wait"    // this site's document is to be deleted at Own.Due
)

// CasePosition is the position of one side of a case. The zero value means that it has said nothing.
type CasePosition struct {
	State    concordat.CaseState    `json:"state,omitempty"`
	Words    string                 `json:"words,omitempty"`
	Contact  string                 `json:"contact,omitempty"`
	By       string                 `json:"by,omitempty"` // person at this site
	At       time.Time              `json:"at,omitzero"`
	Decision concordat.CaseDecision `json:"decision,omitempty"`
	Receipt  string                 `json:"receipt,omitempty"` // SHA-256 of a receipt, in hexadecimal
	Due      time.Time              `json:"due,omitzero"`      // when the decision deletes this site's document; zero: it did, or never
}

// plain returns the position with its texts as single lines without control characters, since the partner's texts are also printed on
// terminals.
func (p CasePosition) plain() CasePosition {
	for _, s := range []*string{&p.Words, &p.Contact} {
		*s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(*s, "\uFFFD"), func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r)
		}), " ")
	}
	p.At, p.Due = p.At.UTC(), p.Due.UTC() // so that equal positions are equal in Go, too
	return p
}

// caseEvent is the data of an event about a shared case.
type caseEvent struct {
	Case    string              `json:"case"`
	State   concordat.CaseState `json:"state"`
	Partner concordat.SiteID    `json:"partner"`
	Change  string              `json:"change"` // own or partner
}

const caseColumns = `seq, id, side, partner, job, handle, task, site, library, document, title, level, sentences, opened, state, own, theirs,
	questions, erasure, work`

func scanCase(s engine.Scanner) (SharedCase, error) {
	var x SharedCase
	var id, job, handle, own, theirs string
	var opened int64
	err := s.Scan(&x.Seq, &id, &x.Side, &x.Partner, &job, &handle, &x.Task, &x.Source.Site, &x.Source.Library, &x.Source.Document, &x.Title,
		&x.Level, &x.Sentences, &opened, &x.State, &own, &theirs, &x.Questions, &x.Erasure, &x.Work)
	if err != nil {
		return x, err
	}
	x.Opened = instant(opened)
	err = errors.Join(fixedHex(x.ID[:], id), fixedHex(x.Job[:], job), fixedHex(x.Handle[:], handle))
	if e := errors.Join(json.Unmarshal([]byte(own), &x.Own), json.Unmarshal([]byte(theirs), &x.Theirs)); e != nil {
		err = errors.Join(err, fmt.Errorf("%w: case %s: %w", concordat.ErrCorrupt, id, e))
	}
	return x, err
}

// Open opens a case from an alert. An existing case is updated from the alert and otherwise stays as it is. If one question already has
// MaxAlerts cases, no case is opened.
func (db *Cases) Open(ctx context.Context, x SharedCase) error {
	err := checkName("partner", x.Partner)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			job := hex.EncodeToString(x.Job[:])
			n, err := c.Exec(ctx, `UPDATE shared_case SET level = ?, sentences = ?, title = ? WHERE id = ? AND document <> ''`, x.Level,
				x.Sentences, cleanText(x.Title), x.ID.String())
			if err != nil || n > 0 {
				return err
			}
			var held int
			if err := c.Row(ctx, `SELECT count(*) FROM shared_case WHERE partner = ? AND job = ?`, x.Partner, job).Scan(&held); err != nil {
				return err
			}
			if held >= MaxAlerts {
				return nil
			}
			_, err = c.Exec(ctx, `INSERT INTO shared_case (id, side, partner, job, handle, task, site, library, document, title, level, sentences,
				opened, state, own, theirs, questions, erasure, work) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '{}', '{}', 0, '', '')
				ON CONFLICT (id) DO NOTHING`, x.ID.String(), x.Side, x.Partner, job, hex.EncodeToString(x.Handle[:]), x.Task, x.Source.Site,
				x.Source.Library, x.Source.Document, cleanText(x.Title), x.Level, x.Sentences, stamp(x.Opened), concordat.CaseOpen)
			return err
		})
	}
	return db.fail(err, "open case %s", x.ID)
}

// Case returns a case, or concordat.ErrNotFound.
func (db *Cases) Case(ctx context.Context, id concordat.CaseID) (SharedCase, error) {
	x, err := scanCase(db.read().Row(ctx, `SELECT `+caseColumns+` FROM shared_case WHERE id = ?`, id.String()))
	return x, db.fail(err, "case %s", id)
}

// List returns cases before a number, latest first: at most limit. If open is set, it returns only those on which the two sides have not
// agreed.
func (db *Cases) List(ctx context.Context, open bool, before int64, limit int) ([]SharedCase, error) {
	where, args := []string{"1 = 1"}, []any{}
	if open {
		where, args = append(where, "state = ?"), append(args, concordat.CaseOpen)
	}
	if before > 0 {
		where, args = append(where, "seq < ?"), append(args, before)
	}
	xs, err := engine.Collect(ctx, db.read(), scanCase, `SELECT `+caseColumns+` FROM shared_case WHERE `+strings.Join(where, " AND ")+
		` ORDER BY seq DESC LIMIT ?`, append(args, page(limit))...)
	return xs, db.fail(err, "list cases")
}

// Waiting returns cases, after a number, whose documents are to be deleted later, in order: at most limit.
func (db *Cases) Waiting(ctx context.Context, after int64, limit int) ([]SharedCase, error) {
	xs, err := engine.Collect(ctx, db.read(), scanCase, `SELECT `+caseColumns+` FROM shared_case WHERE work = ? AND seq > ? ORDER BY seq LIMIT ?`,
		CaseWait, after, page(limit))
	return xs, db.fail(err, "cases that wait")
}

// ToDo returns cases with work that can be done now, oldest first: at most limit.
func (db *Cases) ToDo(ctx context.Context, limit int) ([]SharedCase, error) {
	xs, err := engine.Collect(ctx, db.read(), scanCase, `SELECT `+caseColumns+` FROM shared_case WHERE work <> '' AND work <> ? ORDER BY seq LIMIT ?`,
		CaseWait, page(limit))
	return xs, db.fail(err, "cases with work")
}

// Keep stores the positions of both sides of a case, its erasure and its work, and notifies webhooks of which side acted: own or partner.
// It fails with concordat.ErrChanged if the case has changed since it was read.
func (db *Cases) Keep(ctx context.Context, was, x SharedCase, moved string) error {
	x.State = concordat.CaseOpen
	if x.Own.State == x.Theirs.State && x.Own.State != "" {
		x.State = x.Own.State
	}
	err := db.write(ctx, func(c engine.Conn) error {
		now, err := scanCase(c.Row(ctx, `SELECT `+caseColumns+` FROM shared_case WHERE id = ?`, x.ID.String()))
		if err != nil {
			return err
		}
		if now.Own != was.Own || now.Theirs != was.Theirs || now.Work != was.Work {
			return concordat.ErrChanged
		}
		own, err := json.Marshal(x.Own.plain())
		if err != nil {
			return err
		}
		theirs, err := json.Marshal(x.Theirs.plain())
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `UPDATE shared_case SET state = ?, own = ?, theirs = ?, questions = ?, erasure = ?, work = ? WHERE id = ?`,
			x.State, cleanText(string(own)), cleanText(string(theirs)), x.Questions, x.Erasure, x.Work, x.ID.String()); err != nil {
			return err
		}
		return db.announce(ctx, c, EventCaseChanged, "", caseEvent{x.ID.String(), x.State, x.Partner, moved})
	})
	return db.fail(err, "keep case %s", x.ID)
}

// StandingSentences returns the number of standing sentences in a partner's question.
func (db *Partners) StandingSentences(ctx context.Context, partner concordat.SiteID, job concordat.JobID) (n int, err error) {
	err = db.read().Row(ctx, `SELECT COALESCE(sum(sentences), 0) FROM standing_ask WHERE partner = ? AND job = ?`, partner,
		hex.EncodeToString(job[:])).Scan(&n)
	return n, db.fail(err, "standing sentences of %s", partner)
}

// Requests returns the requests for passages of the document of a case, the oldest first.
func (db *Cases) Requests(ctx context.Context, x SharedCase) ([]Disclosure, error) {
	direction := DisclosureOut
	if x.Side == AlertTold {
		direction = DisclosureIn
	}
	return (&Answers{db.base}).DisclosuresOf(ctx, direction, x.Partner, x.Job, x.Handle)
}
