package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Standing is a check that later documents are compared with.
type Standing struct {
	Task      concordat.TaskID
	Scheme    concordat.Scheme
	Made      time.Time
	Sentences []concordat.Sentence // without their sections
}

// Alert says that a later document matches a standing check.
type Alert struct {
	Seq       int64 // set by the store, from 1
	Task      concordat.TaskID
	At        time.Time
	Source    concordat.Ref // of a partner's document: its pseudonym; Document may be empty where it is not told
	Title     string
	Author    string
	Contact   string
	Level     concordat.Show   // of a partner; empty: a document of this site
	Sentences int              // of the check that match
	Words     string           // for people
	Spans     []concordat.Span // of the submission, that match
}

// PutStanding keeps a standing check, replacing one of the same task. It fails with
// concordat.ErrNotFound if there is no such task.
func (db *Checks) PutStanding(ctx context.Context, s Standing) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO standing (task, scheme, made, sentences) VALUES (?, ?, ?, ?)
			ON CONFLICT (task) DO UPDATE SET scheme = excluded.scheme, made = excluded.made, sentences = excluded.sentences`,
			s.Task, s.Scheme, stamp(s.Made), packSentences(s.Sentences))
		return err
	})
	return db.fail(err, "put standing check %s", s.Task)
}

// EndStanding forgets a standing check, or fails with concordat.ErrNotFound.
func (db *Checks) EndStanding(ctx context.Context, task concordat.TaskID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `DELETE FROM standing WHERE task = ?`, task)
		return oneOf(n, err)
	})
	return db.fail(err, "end standing check %s", task)
}

// StandingTasks returns the tasks with a standing check, in order.
func (db *Checks) StandingTasks(ctx context.Context) ([]concordat.TaskID, error) {
	ids, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (id concordat.TaskID, err error) { return id, s.Scan(&id) },
		`SELECT task FROM standing ORDER BY task`)
	return ids, db.fail(err, "standing checks")
}

// Standing returns a standing check, or concordat.ErrNotFound.
func (db *Checks) Standing(ctx context.Context, task concordat.TaskID) (Standing, error) {
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

// MostAlerts is of how many documents of one partner alerts of a task are kept.
const MostAlerts = 1000

// PutAlert keeps an alert and returns its number, or 0 where one for the same task and document is
// there: that one then has the new words and spans. Of a partner that told of MostAlerts no more are kept.
func (db *Checks) PutAlert(ctx context.Context, a Alert) (seq int64, err error) {
	err = db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE alert SET sentences = ?, words = ?, spans = ?, level = ?
			WHERE task = ? AND site = ? AND library = ? AND document = ?`, a.Sentences, cleanText(a.Words), packSpans(a.Spans), a.Level,
			a.Task, a.Source.Site, a.Source.Library, a.Source.Document)
		if err != nil || n > 0 {
			return err
		}
		if a.Source.Site != "" {
			var told int
			if err := c.Row(ctx, `SELECT count(*) FROM alert WHERE task = ? AND site = ?`, a.Task, a.Source.Site).Scan(&told); err != nil {
				return err
			}
			if told >= MostAlerts {
				return nil
			}
		}
		return c.Row(ctx, `INSERT INTO alert (task, at, site, library, document, title, author, contact, level, sentences, words, spans)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
			a.Task, stamp(a.At), a.Source.Site, a.Source.Library, a.Source.Document, cleanText(a.Title), cleanText(a.Author),
			cleanText(a.Contact), a.Level, a.Sentences, cleanText(a.Words), packSpans(a.Spans)).Scan(&seq)
	})
	return seq, db.fail(err, "put alert of task %s", a.Task)
}

func scanAlert(s engine.Scanner) (Alert, error) {
	var a Alert
	var at int64
	var spans []byte
	err := s.Scan(&a.Seq, &a.Task, &at, &a.Source.Site, &a.Source.Library, &a.Source.Document, &a.Title, &a.Author,
		&a.Contact, &a.Level, &a.Sentences, &a.Words, &spans)
	if err != nil {
		return a, err
	}
	a.At = instant(at)
	a.Spans, err = unpackSpans(spans)
	return a, err
}

// Alerts returns the alerts after the given number, oldest first: at most limit, or MaxPage where
// limit is 0 or larger.
func (db *Checks) Alerts(ctx context.Context, after int64, limit int) ([]Alert, error) {
	as, err := engine.Collect(ctx, db.read(), scanAlert, `SELECT seq, task, at, site, library, document, title, author, contact, level, sentences, words, spans
		FROM alert WHERE seq > ? ORDER BY seq LIMIT ?`, after, page(limit))
	return as, db.fail(err, "alerts")
}

// packSentences and unpackSentences are inverse: fingerprint, gate, and the span as in packSpans.
func packSentences(ss []concordat.Sentence) []byte {
	b := make([]byte, 0, 20*len(ss))
	for _, s := range ss {
		b, _ = s.Fingerprint.AppendBinary(b) // never fails
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
			return nil, fmt.Errorf("%w: half a sentence", concordat.ErrCorrupt)
		}
		f, err := concordat.ParseFingerprint(b[:concordat.FingerprintBytes])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", concordat.ErrCorrupt, err)
		}
		s := concordat.Sentence{Fingerprint: f, Gate: int(b[concordat.FingerprintBytes]), Section: -1}
		b = b[concordat.FingerprintBytes+1:]
		start, n := binary.Uvarint(b)
		if n <= 0 || start > mostOffset {
			return nil, fmt.Errorf("%w: sentence without its place", concordat.ErrCorrupt)
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 || length > mostOffset {
			return nil, fmt.Errorf("%w: sentence without its place", concordat.ErrCorrupt)
		}
		s.Span = concordat.Span{Start: int(start), End: int(start + length)}
		b = b[n+m:]
		out = append(out, s)
	}
	return out, nil
}
