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

// Cases contains the cases shared between this site and partners.
type Cases struct{ base }

// SharedCase is a case about a document that one of two sites reported to the other in an alert. It contains the alert and the decisions
// made at both sites since.
type SharedCase struct {
	Seq       int64 // from 1; set by the store
	ID        concordat.CaseID
	Side      AlertSide // AlertTold if the document is this site's
	Partner   concordat.SiteID
	Job       concordat.JobID
	Handle    concordat.Handle // zero if no document was named
	Task      concordat.TaskID // task of AlertFound; empty if deleted
	Source    concordat.Ref    // as in Alert; has no document if none was named or it was deleted
	Title     string
	Level     concordat.Show
	Sentences int
	Opened    time.Time
	State     concordat.CaseState // state that both sides agree on; otherwise open
	Own       CasePosition
	Theirs    CasePosition
	Questions int      // number of the partner's sentences deleted on its decision
	Erasure   string   // this site's latest deletion in the case
	Work      CaseWork // outstanding work
}

// CaseWork is outstanding work in a case.
type CaseWork string

// The kinds of work.
const (
	CaseErase   CaseWork = "erase"   // the partner's decision requires its data here to be deleted
	CaseReceipt CaseWork = "receipt" // the receipt of Erasure must be sent to the partner once available
	CaseWait    CaseWork = "wait"    // this site's document must be deleted at Own.Due
)

// CasePosition is the position of one side in a case. The zero value means that the side has made no statement.
type CasePosition struct {
	State    concordat.CaseState    `json:"state,omitempty"`
	Words    string                 `json:"words,omitempty"`
	Contact  string                 `json:"contact,omitempty"`
	By       string                 `json:"by,omitempty"` // person at this site
	At       time.Time              `json:"at,omitzero"`
	Decision concordat.CaseDecision `json:"decision,omitempty"`
	Receipt  string                 `json:"receipt,omitempty"` // hexadecimal SHA-256 of a receipt
	Due      time.Time              `json:"due,omitzero"`      // when the decision deletes this site's document; zero if done or never
}

// plain returns the position with its texts reduced to single lines without control characters, since the partner's texts are also
// printed on terminals.
func (p CasePosition) plain() CasePosition {
	for _, s := range []*string{&p.Words, &p.Contact} {
		*s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(*s, "\uFFFD"), func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r)
		}), " ")
	}
	p.At, p.Due = p.At.UTC(), p.Due.UTC() // so that equal positions are also equal in Go
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
		err = errors.Join(err, fmt.Errorf("%w: cannot decode case %s: %w", concordat.ErrCorrupt, id, e))
	}
	return x, err
}

// Open opens a case from an alert. An existing case is updated from the alert and otherwise left unchanged. If a question already has
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

// List returns up to limit cases before a number, latest first. If open is set, it returns only cases on which the sides have not agreed.
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

// Waiting returns up to limit cases after a number with documents to be deleted later, in order.
func (db *Cases) Waiting(ctx context.Context, after int64, limit int) ([]SharedCase, error) {
	xs, err := engine.Collect(ctx, db.read(), scanCase, `SELECT `+caseColumns+` FROM shared_case WHERE work = ? AND seq > ? ORDER BY seq LIMIT ?`,
		CaseWait, after, page(limit))
	return xs, db.fail(err, "list waiting cases")
}

// ToDo returns up to limit cases with work that can be done now, oldest first.
func (db *Cases) ToDo(ctx context.Context, limit int) ([]SharedCase, error) {
	xs, err := engine.Collect(ctx, db.read(), scanCase, `SELECT `+caseColumns+` FROM shared_case WHERE work <> '' AND work <> ? ORDER BY seq LIMIT ?`,
		CaseWait, page(limit))
	return xs, db.fail(err, "list cases with pending work")
}

// Keep stores both sides' positions in a case, its erasure and its work, and notifies webhooks of the side that acted: own or partner. If
// the case has changed since it was read, it fails with concordat.ErrChanged.
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
	return db.fail(err, "store case %s", x.ID)
}

// StandingSentences returns the number of standing sentences in a partner's question.
func (db *Partners) StandingSentences(ctx context.Context, partner concordat.SiteID, job concordat.JobID) (n int, err error) {
	err = db.read().Row(ctx, `SELECT COALESCE(sum(sentences), 0) FROM standing_ask WHERE partner = ? AND job = ?`, partner,
		hex.EncodeToString(job[:])).Scan(&n)
	return n, db.fail(err, "count the sentences watched for %s", partner)
}

// Requests returns the requests for passages of a case's document, oldest first.
func (db *Cases) Requests(ctx context.Context, x SharedCase) ([]Disclosure, error) {
	direction := DisclosureOut
	if x.Side == AlertTold {
		direction = DisclosureIn
	}
	return (&Answers{db.base}).DisclosuresOf(ctx, direction, x.Partner, x.Job, x.Handle)
}
