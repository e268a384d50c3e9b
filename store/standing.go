package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Standing is a check that is compared with later documents.
type Standing struct {
	Task      concordat.TaskID
	Scheme    concordat.Scheme
	Made      time.Time
	Sentences []concordat.Sentence // sentences without their sections
}

// PutStanding stores a standing check, replacing any earlier one for the same task. If there is no such task, it fails with
// concordat.ErrNotFound.
func (db *Alerts) PutStanding(ctx context.Context, s Standing) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO standing (task, scheme, made, sentences) VALUES (?, ?, ?, ?)
			ON CONFLICT (task) DO UPDATE SET scheme = excluded.scheme, made = excluded.made, sentences = excluded.sentences`,
			s.Task, s.Scheme, stamp(s.Made), packSentences(s.Sentences))
		return err
	})
	return db.fail(err, "put standing check %s", s.Task)
}

// EndStanding deletes a standing check, or fails with concordat.ErrNotFound.
func (db *Alerts) EndStanding(ctx context.Context, task concordat.TaskID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `DELETE FROM standing WHERE task = ?`, task)
		return oneOf(n, err)
	})
	return db.fail(err, "end standing check %s", task)
}

// StandingTasks returns the tasks with a standing check, in order.
func (db *Alerts) StandingTasks(ctx context.Context) ([]concordat.TaskID, error) {
	ids, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (id concordat.TaskID, err error) { return id, s.Scan(&id) },
		`SELECT task FROM standing ORDER BY task`)
	return ids, db.fail(err, "list standing checks")
}

// StandingSince returns the time since which later documents are compared with a check, or concordat.ErrNotFound.
func (db *Alerts) StandingSince(ctx context.Context, task concordat.TaskID) (time.Time, error) {
	var made int64
	err := db.read().Row(ctx, `SELECT made FROM standing WHERE task = ?`, task).Scan(&made)
	return instant(made), db.fail(err, "standing check %s", task)
}

// Standing returns a standing check, or concordat.ErrNotFound.
func (db *Alerts) Standing(ctx context.Context, task concordat.TaskID) (Standing, error) {
	s := Standing{Task: task}
	var made int64
	var packed []byte
	err := db.read().Row(ctx, `SELECT scheme, made, sentences FROM standing WHERE task = ?`, task).Scan(&s.Scheme, &made, &packed)
	if err == nil {
		s.Made = instant(made)
		s.Sentences, err = unpackSentences(packed)
	}
	return s, db.fail(err, "standing check %s", task)
}

// AlertSide is this site's side of a standing check.
type AlertSide string

// The sides.
const (
	AlertFound AlertSide = "found" // a check of this site found a later document, here or at a partner
	AlertTold  AlertSide = "told"  // a partner was notified that a later document of this site matches the partner's check
)

// Alert reports that a later document matches a standing check. For a partner's check, it contains only what was disclosed to the partner
// about the document.
type Alert struct {
	Seq  int64 // from 1; set by the store
	Side AlertSide
	Task concordat.TaskID // task of AlertFound; otherwise empty
	At   time.Time
	// For AlertTold: the partner, the hexadecimal job of its question, and the question's purpose and time.
	Partner concordat.SiteID
	Job     string
	Purpose string
	Asked   time.Time
	// Source is the document. A partner's document appears under its pseudonym; so does a document of this site, for AlertTold, if its
	// identity was not disclosed to the partner (Spans is then empty). Document is empty if even the pseudonym is unknown.
	Source    concordat.Ref
	Title     string
	Author    string
	Contact   string
	Level     concordat.Show   // disclosure level of the notice between sites; empty if check and document are both this site's
	Sentences int              // matching sentences of the check; 0 if not disclosed
	Words     string           // for display
	Spans     []concordat.Span // matching spans in the submission or, for AlertTold, in this site's document
	Read      AlertMark
	Handled   AlertMark
}

// AlertMark records who has read or handled an alert, and when. The zero value means that no one has.
type AlertMark struct {
	By string
	At time.Time
}

// MaxAlerts is the maximum number of documents of one partner with alerts for one task, and of documents of this site with alerts for one
// question of a partner.
const MaxAlerts = 1000

// alertEvent is the data of an event about an alert. It names no document; the receiver requests the document with a token, subject to
// its rights.
type alertEvent struct {
	Alert   int64               `json:"alert"`
	Check   concordat.TaskID    `json:"check,omitempty"`
	Partner concordat.SiteID    `json:"partner,omitempty"`
	Library concordat.LibraryID `json:"library"`
}

// PutAlert stores an alert, announces it to webhooks, and returns its number. If there is already an alert for the same check and
// document, PutAlert returns 0 and updates the words and spans of that alert. If these differ, or no document is named, that alert
// becomes unread and is announced again. If there are already MaxAlerts, it stores nothing. An empty Side means AlertFound.
func (db *Alerts) PutAlert(ctx context.Context, a Alert) (seq int64, err error) {
	if a.Side == "" {
		a.Side = AlertFound
	}
	err = db.write(ctx, func(c engine.Conn) error {
		known, err := db.sameAlert(ctx, c, &a)
		if err != nil || known {
			return err
		}
		if a.Source.Site != "" {
			var told int
			err := c.Row(ctx, `SELECT count(*) FROM standing_alert WHERE side = ? AND COALESCE(task, '') = ? AND partner = ? AND job = ? AND site = ?`,
				a.Side, a.Task, a.Partner, a.Job, a.Source.Site).Scan(&told)
			if err != nil || told >= MaxAlerts {
				return err
			}
		}
		var task any // NULL if absent, since it references a row
		if a.Side == AlertFound {
			task = a.Task
		}
		err = c.Row(ctx, `INSERT INTO standing_alert (side, task, at, partner, job, purpose, asked, site, library, document, title, author, contact,
			level, sentences, words, spans, read_by, read_at, handled_by, handled_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, '', 0) RETURNING seq`,
			a.Side, task, stamp(a.At), a.Partner, a.Job, cleanText(a.Purpose), stamp(a.Asked), a.Source.Site, a.Source.Library, a.Source.Document,
			cleanText(a.Title), cleanText(a.Author), cleanText(a.Contact), a.Level, a.Sentences, cleanText(a.Words),
			packSpans(a.Spans)).Scan(&seq)
		if err != nil {
			return err
		}
		return db.alerted(ctx, c, seq, &a)
	})
	return seq, db.fail(err, "store an alert for task %s%s", a.Task, a.Job)
}

// sameAlert updates the alert for the same check and document, and reports whether there is one.
func (db base) sameAlert(ctx context.Context, c engine.Conn, a *Alert) (bool, error) {
	const same = ` WHERE side = ? AND COALESCE(task, '') = ? AND partner = ? AND job = ? AND site = ? AND library = ? AND document = ?`
	var seq int64
	of := []any{a.Side, a.Task, a.Partner, a.Job, a.Source.Site, a.Source.Library, a.Source.Document}
	now := []any{a.Sentences, packSpans(a.Spans)}
	err := c.Row(ctx, `UPDATE standing_alert SET read_by = '', read_at = 0, handled_by = '', handled_at = 0`+same+
		` AND (sentences <> ? OR spans <> ? OR document = '') RETURNING seq`, append(of[:len(of):len(of)], now...)...).Scan(&seq)
	if err == nil {
		err = db.alerted(ctx, c, seq, a)
	} else if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil {
		return false, err
	}
	n, err := c.Exec(ctx, `UPDATE standing_alert SET sentences = ?, spans = ?, words = ?, level = ?, title = ?`+same,
		append(append(now, cleanText(a.Words), a.Level, cleanText(a.Title)), of...)...)
	return n > 0, err
}

// alerted announces an alert, including to the check's owner if the check is this site's.
func (db base) alerted(ctx context.Context, c engine.Conn, seq int64, a *Alert) error {
	e := alertEvent{Alert: seq, Check: a.Task, Partner: a.Partner, Library: a.Source.Library}
	if a.Side == AlertTold {
		return db.announce(ctx, c, EventAlertTold, "", e)
	}
	if a.Level != "" {
		e.Partner = a.Source.Site
	}
	var owner string
	if err := c.Row(ctx, `SELECT owner FROM task WHERE id = ?`, a.Task).Scan(&owner); err != nil {
		return err
	}
	return db.announce(ctx, c, EventAlertFound, owner, e)
}

const alertColumns = `seq, side, COALESCE(task, ''), at, partner, job, purpose, asked, site, library, document, title, author, contact, level,
	sentences, words, spans, read_by, read_at, handled_by, handled_at`

func scanAlert(s engine.Scanner) (Alert, error) {
	var a Alert
	var at, asked, read, handled int64
	var spans []byte
	err := s.Scan(&a.Seq, &a.Side, &a.Task, &at, &a.Partner, &a.Job, &a.Purpose, &asked, &a.Source.Site, &a.Source.Library, &a.Source.Document,
		&a.Title, &a.Author, &a.Contact, &a.Level, &a.Sentences, &a.Words, &spans, &a.Read.By, &read, &a.Handled.By, &handled)
	if err != nil {
		return a, err
	}
	a.At, a.Asked, a.Read.At, a.Handled.At = instant(at), instant(asked), instant(read), instant(handled)
	a.Spans, err = unpackSpans(spans)
	return a, err
}

// Alerts returns alerts after the given number, oldest first, up to limit, or up to MaxPage if limit is 0 or exceeds it.
func (db *Alerts) Alerts(ctx context.Context, after int64, limit int) ([]Alert, error) {
	as, err := engine.Collect(ctx, db.read(), scanAlert, `SELECT `+alertColumns+` FROM standing_alert WHERE seq > ? ORDER BY seq LIMIT ?`,
		after, page(limit))
	return as, db.fail(err, "alerts")
}

// AlertFilter selects alerts. The zero value selects all.
type AlertFilter struct {
	Side AlertSide        // empty for both
	Task concordat.TaskID // empty for all
	Open bool             // only unhandled ones
}

func (f AlertFilter) where() (string, []any) {
	conditions, args := []string{"1 = 1"}, []any{}
	if f.Side != "" {
		conditions, args = append(conditions, "side = ?"), append(args, f.Side)
	}
	if f.Task != "" {
		conditions, args = append(conditions, "task = ?"), append(args, f.Task)
	}
	if f.Open {
		conditions = append(conditions, "handled_at = 0")
	}
	return strings.Join(conditions, " AND "), args
}

// FilterAlerts returns selected alerts before the given number (0 for no limit), latest first, up to limit, or up to MaxPage if limit is
// 0 or exceeds it.
func (db *Alerts) FilterAlerts(ctx context.Context, f AlertFilter, before int64, limit int) ([]Alert, error) {
	where, args := f.where()
	if before > 0 {
		where, args = where+" AND seq < ?", append(args, before)
	}
	as, err := engine.Collect(ctx, db.read(), scanAlert,
		`SELECT `+alertColumns+` FROM standing_alert WHERE `+where+` ORDER BY seq DESC LIMIT ?`, append(args, page(limit))...)
	return as, db.fail(err, "alerts")
}

// Alert returns an alert, or concordat.ErrNotFound.
func (db *Alerts) Alert(ctx context.Context, seq int64) (Alert, error) {
	a, err := scanAlert(db.read().Row(ctx, `SELECT `+alertColumns+` FROM standing_alert WHERE seq = ?`, seq))
	return a, db.fail(err, "alert %d", seq)
}

// UnreadAlerts returns the number of unread alerts, up to most.
func (db *Alerts) UnreadAlerts(ctx context.Context, most int) (n int, err error) {
	err = db.read().Row(ctx, `SELECT count(*) FROM (SELECT 1 FROM standing_alert WHERE read_at = 0 LIMIT ?) AS unread`, most).Scan(&n)
	return n, db.fail(err, "count unread alerts")
}

// AlertChange is an action on an alert.
type AlertChange string

// The changes. A handled alert counts as read.
const (
	AlertRead   AlertChange = "read"
	AlertHandle AlertChange = "handle"
	AlertReopen AlertChange = "reopen" // reopens the alert
)

// ChangeAlert marks an alert and reports whether that changed anything. The first person who read or handled it remains recorded.
// ChangeAlert fails with concordat.ErrNotFound for an unknown alert, and with concordat.ErrInvalid for an unknown change.
func (db *Alerts) ChangeAlert(ctx context.Context, seq int64, change AlertChange, by string, at time.Time) (changed bool, err error) {
	err = db.write(ctx, func(c engine.Conn) error {
		var read, handled int64
		if err := c.Row(ctx, `SELECT read_at, handled_at FROM standing_alert WHERE seq = ?`, seq).Scan(&read, &handled); err != nil {
			return err
		}
		set := func(what string, args ...any) error {
			n, err := c.Exec(ctx, `UPDATE standing_alert SET `+what+` WHERE seq = ?`, append(args, seq)...)
			changed = changed || n > 0
			return err
		}
		var err error
		switch change {
		case AlertRead, AlertHandle:
			if read == 0 {
				err = set(`read_by = ?, read_at = ?`, by, stamp(at))
			}
			if err == nil && change == AlertHandle && handled == 0 {
				err = set(`handled_by = ?, handled_at = ?`, by, stamp(at))
			}
		case AlertReopen:
			if handled != 0 {
				err = set(`handled_by = '', handled_at = 0`)
			}
		default:
			err = fmt.Errorf("%w: unknown change %q", concordat.ErrInvalid, change)
		}
		return err
	})
	return changed, db.fail(err, "%s alert %d", change, seq)
}

// ForgetAlerts deletes alerts for partners that were sent before the given time.
func (db *Alerts) ForgetAlerts(ctx context.Context, before time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM standing_alert WHERE side = ? AND at < ?`, AlertTold, stamp(before))
		return err
	})
	return db.fail(err, "delete old alerts")
}

// packSentences encodes the fingerprint, the gate and, like packSpans, the span of each sentence. unpackSentences is its inverse.
func packSentences(ss []concordat.Sentence) []byte {
	b := make([]byte, 0, 20*len(ss))
	for _, s := range ss {
		b, _ = s.Fingerprint.AppendBinary(b) // this never fails
		b = append(b, byte(s.Gate))
		b = binary.AppendUvarint(b, uint64(s.Span.Start))
		b = binary.AppendUvarint(b, uint64(s.Span.Len()))
	}
	return b
}

func unpackSentences(b []byte) ([]concordat.Sentence, error) {
	var out []concordat.Sentence
	for len(b) > 0 {
		if len(b) <= concordat.FingerprintBytes {
			return nil, fmt.Errorf("%w: a sentence is truncated", concordat.ErrCorrupt)
		}
		f, err := concordat.ParseFingerprint(b[:concordat.FingerprintBytes])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", concordat.ErrCorrupt, err)
		}
		s := concordat.Sentence{Fingerprint: f, Gate: int(b[concordat.FingerprintBytes]), Section: -1}
		b = b[concordat.FingerprintBytes+1:]
		start, n := binary.Uvarint(b)
		if n <= 0 || start > maxOffset {
			return nil, fmt.Errorf("%w: the position of a sentence is not valid", concordat.ErrCorrupt)
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 || length > maxOffset {
			return nil, fmt.Errorf("%w: the length of a sentence is not valid", concordat.ErrCorrupt)
		}
		s.Span = concordat.Span{Start: int(start), End: int(start + length)}
		b = b[n+m:]
		out = append(out, s)
	}
	return out, nil
}
