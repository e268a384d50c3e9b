package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Term determines how long a library document is hidden and how long it is kept.
type Term struct {
	Library  concordat.LibraryID
	Document concordat.DocumentID
	// Until Hidden, the document counts in checks but is not displayed; zero if it is not hidden.
	Hidden time.Time
	// Expires is when the document is deleted; zero for never.
	Expires time.Time
}

func scanTerm(s engine.Scanner) (Term, error) {
	var t Term
	var hidden, expires int64
	err := s.Scan(&t.Library, &t.Document, &hidden, &expires)
	t.Hidden, t.Expires = instant(hidden), instant(expires)
	return t, err
}

// SetTerm sets a document's term, or removes it if both times are zero. If there is no such document, it fails with
// concordat.ErrNotFound.
func (db *Retention) SetTerm(ctx context.Context, t Term) error {
	err := db.write(ctx, func(c engine.Conn) error {
		var id string
		if err := c.Row(ctx, `SELECT id FROM document WHERE library = ? AND id = ?`, t.Library, t.Document).Scan(&id); err != nil {
			return err
		}
		if t.Hidden.IsZero() && t.Expires.IsZero() {
			_, err := c.Exec(ctx, `DELETE FROM term WHERE library = ? AND document = ?`, t.Library, t.Document)
			return err
		}
		_, err := c.Exec(ctx, `INSERT INTO term (library, document, hidden, expires) VALUES (?, ?, ?, ?)
			ON CONFLICT (library, document) DO UPDATE SET hidden = excluded.hidden, expires = excluded.expires`,
			t.Library, t.Document, stamp(t.Hidden), stamp(t.Expires))
		return err
	})
	return db.fail(err, "term of %s/%s", t.Library, t.Document)
}

// Term returns a document's term, with zero times if it has none. If there is no such document, it fails with concordat.ErrNotFound.
func (db *Retention) Term(ctx context.Context, lib concordat.LibraryID, id concordat.DocumentID) (Term, error) {
	t, err := scanTerm(db.read().Row(ctx, `SELECT d.library, d.id, COALESCE(t.hidden, 0), COALESCE(t.expires, 0) FROM document d
		LEFT JOIN term t ON t.library = d.library AND t.document = d.id WHERE d.library = ? AND d.id = ?`, lib, id))
	return t, db.fail(err, "term of %s/%s", lib, id)
}

// Terms returns terms of a library's documents ordered by id, starting after the given one, up to limit, or up to MaxPage if limit is 0
// or exceeds it.
func (db *Retention) Terms(ctx context.Context, lib concordat.LibraryID, after concordat.DocumentID, limit int) ([]Term, error) {
	ts, err := engine.Collect(ctx, db.read(), scanTerm, `SELECT library, document, hidden, expires FROM term
		WHERE library = ? AND document > ? ORDER BY document LIMIT ?`, lib, after, page(limit))
	return ts, db.fail(err, "terms of %s", lib)
}

// ExpiredDocuments returns up to limit documents with terms expired by the given time, ordered by library and id.
func (db *Retention) ExpiredDocuments(ctx context.Context, at time.Time, limit int) ([]Term, error) {
	ts, err := engine.Collect(ctx, db.read(), scanTerm, `SELECT library, document, hidden, expires FROM term
		WHERE expires > 0 AND expires <= ? ORDER BY library, document LIMIT ?`, stamp(at), page(limit))
	return ts, db.fail(err, "list expired documents")
}

// OldDocuments returns up to limit documents of a library added before the given time, ordered by id.
func (db *Retention) OldDocuments(ctx context.Context, lib concordat.LibraryID, before time.Time, limit int) ([]DocumentRow, error) {
	ds, err := engine.Collect(ctx, db.read(), scanDocument,
		`SELECT `+documentColumns+` FROM document WHERE library = ? AND added < ? ORDER BY id LIMIT ?`,
		lib, stamp(before), page(limit))
	return ds, db.fail(err, "list old documents of %s", lib)
}

// EndedTasks returns up to limit tasks that ended before the given time, in order of creation, starting after the one with Seq after.
func (db *Retention) EndedTasks(ctx context.Context, before time.Time, after int64, limit int) ([]Task, error) {
	ts, err := engine.Collect(ctx, db.read(), scanTask,
		`SELECT `+taskColumns+` FROM task WHERE seq > ? AND finished > 0 AND finished < ? ORDER BY seq LIMIT ?`,
		after, stamp(before), page(limit))
	return ts, db.fail(err, "list ended tasks")
}

// Citing returns, in order, the tasks with results that name a document.
func (db *Retention) Citing(ctx context.Context, r concordat.Ref) ([]concordat.TaskID, error) {
	ids, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (concordat.TaskID, error) {
		var id concordat.TaskID
		return id, s.Scan(&id)
	}, `SELECT DISTINCT task FROM result WHERE site = ? AND library = ? AND document = ? ORDER BY task`, r.Site, r.Library, r.Document)
	return ids, db.fail(err, "list tasks that cite %s", r)
}

// SetRequest replaces the request of a task that has ended, for example with a smaller one, and stops keeping the task's file. If the
// task has not ended, it fails with concordat.ErrInvalid.
func (db *Retention) SetRequest(ctx context.Context, id concordat.TaskID, request []byte) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE task SET request = ? WHERE id = ? AND state NOT IN (?, ?)`, request, id, concordat.TaskQueued,
			concordat.TaskRunning)
		if err != nil || n == 1 {
			if err == nil {
				_, err = c.Exec(ctx, `DELETE FROM original WHERE task = ?`, id)
			}
			return err
		}
		var found string
		if err := c.Row(ctx, `SELECT id FROM task WHERE id = ?`, id).Scan(&found); err != nil {
			return err
		}
		return fmt.Errorf("%w: the task has not ended yet", concordat.ErrInvalid)
	})
	return db.fail(err, "change the request of task %s", id)
}

// Originals returns the files that a task needs.
func (db *Retention) Originals(ctx context.Context, id concordat.TaskID) ([]string, error) {
	hs, err := engine.Collect(ctx, db.read(), scanString, `SELECT hash FROM original WHERE task = ? ORDER BY hash`, id)
	return hs, db.fail(err, "list the files of task %s", id)
}

func scanString(s engine.Scanner) (string, error) {
	var x string
	return x, s.Scan(&x)
}

// OriginalNeeded reports whether any task needs the file.
func (db *Retention) OriginalNeeded(ctx context.Context, hash string) (bool, error) {
	var n int
	err := db.read().Row(ctx,
		`SELECT (SELECT count(*) FROM original WHERE hash = ?) + (SELECT count(*) FROM batch_input WHERE place = ? AND done = 0)`, hash,
		hash).Scan(&n)
	return n > 0, db.fail(err, "file %s", hash)
}

// OriginalShared reports whether a task other than the given one needs the file.
func (db *Retention) OriginalShared(ctx context.Context, hash string, id concordat.TaskID) (bool, error) {
	var n int
	err := db.read().Row(ctx,
		`SELECT (SELECT count(*) FROM original WHERE hash = ? AND task <> ?) + (SELECT count(*) FROM batch_input WHERE place = ? AND done = 0)`,
		hash, id, hash).Scan(&n)
	return n > 0, db.fail(err, "file %s", hash)
}

// Erased counts the data deleted with a task.
type Erased struct {
	Findings int64 `json:"findings_bytes"` // size as stored
	Results  int64 `json:"results"`
	Reviews  int64 `json:"reviews"`
	Request  int64 `json:"request_bytes"`
	Answers  int64 `json:"kept_answers"` // stored answers to programs
}

// EraseTask deletes a task like DeleteTask. It also deletes stored answers to programs that name the task, the records of its asset at a
// learning platform, and the notification that requested it. It returns the number of items deleted. If the task does not exist, it
// returns zeros and no error.
func (db *Retention) EraseTask(ctx context.Context, id concordat.TaskID) (Erased, error) {
	var e Erased
	err := db.write(ctx, func(c engine.Conn) error {
		err := c.Row(ctx, `SELECT COALESCE((SELECT length(data) FROM findings WHERE task = ?), 0), (SELECT count(*) FROM result WHERE task = ?),
			(SELECT count(*) FROM review WHERE task = ?), COALESCE((SELECT length(request) FROM task WHERE id = ?), 0)`, id, id, id, id).
			Scan(&e.Findings, &e.Results, &e.Reviews, &e.Request)
		if err != nil {
			return err
		}
		if e.Answers, err = c.Exec(ctx, `DELETE FROM repeatable WHERE answer LIKE ?`, `%"`+string(id)+`"%`); err != nil {
			return err
		}
		if _, err = c.Exec(ctx, `UPDATE shared_case SET task = '' WHERE task = ?`, id); err != nil {
			return err
		}
		for _, of := range []string{`notification WHERE task`, `lti_asset WHERE task`, `lti_check WHERE task`, `task WHERE id`} {
			if _, err = c.Exec(ctx, `DELETE FROM `+of+` = ?`, id); err != nil {
				return err
			}
		}
		return nil
	})
	return e, db.fail(err, "erase task %s", id)
}

// ErasureState is the progress of a deletion.
type ErasureState string

// The states of a deletion.
const (
	ErasureAsked   ErasureState = "asked"   // nothing, or not everything, has been deleted
	ErasureDeleted ErasureState = "deleted" // no query finds the target; bytes can remain on disk
	ErasureDone    ErasureState = "done"    // the bytes are gone
)

// EraseTraces deletes other records that name documents of this site, namely alerts of standing checks and matches reported to partners,
// and returns their number. The record of disclosures to partners remains.
func (db *Retention) EraseTraces(ctx context.Context, site concordat.SiteID, lib concordat.LibraryID,
	ids []concordat.DocumentID) (alerts, answers int64, err error) {
	err = db.write(ctx, func(c engine.Conn) error {
		for _, id := range ids {
			n, err := c.Exec(ctx, `DELETE FROM standing_alert WHERE site = ? AND library = ? AND document = ?`, site, lib, id)
			if err != nil {
				return err
			}
			alerts += n
			if _, err = c.Exec(ctx, `UPDATE shared_case SET document = '', title = '' WHERE site = ? AND library = ? AND document = ?`, site, lib,
				id); err != nil {
				return err
			}
			if _, err = c.Exec(ctx, `DELETE FROM answer_hit WHERE EXISTS (SELECT 1 FROM answer_document d WHERE d.partner = answer_hit.partner
				AND d.job = answer_hit.job AND d.handle = answer_hit.handle AND d.library = ? AND d.document = ?)`, lib, id); err != nil {
				return err
			}
			for _, table := range []string{"answer_question", "outlined"} {
				if _, err = c.Exec(ctx, `DELETE FROM `+table+` WHERE library = ? AND document = ?`, lib, id); err != nil {
					return err
				}
			}
			if n, err = c.Exec(ctx, `DELETE FROM answer_document WHERE library = ? AND document = ?`, lib, id); err != nil {
				return err
			}
			answers += n
		}
		return nil
	})
	return alerts, answers, db.fail(err, "delete the traces of %d documents of %s", len(ids), lib)
}

// Erasure is a requested deletion.
type Erasure struct {
	Seq     int64 // order of requests, from 1; set by the store
	ID      string
	Made    time.Time
	Actor   string
	Reason  string
	State   ErasureState
	Target  json.RawMessage // in the caller's format; nil once nothing remains to be found
	Receipt json.RawMessage // nil before anything is deleted
	Done    time.Time       // zero if it is not done
}

const erasureColumns = `seq, id, made, actor, reason, state, target, receipt, done`

func scanErasure(s engine.Scanner) (Erasure, error) {
	var e Erasure
	var made, done int64
	var target, receipt string
	err := s.Scan(&e.Seq, &e.ID, &made, &e.Actor, &e.Reason, &e.State, &target, &receipt, &done)
	e.Made, e.Done = instant(made), instant(done)
	if target != "" {
		e.Target = json.RawMessage(target)
	}
	if receipt != "" {
		e.Receipt = json.RawMessage(receipt)
	}
	return e, err
}

// AskErasure stores a requested deletion, with State asked.
func (db *Retention) AskErasure(ctx context.Context, e Erasure) error {
	err := checkName("erasure", e.ID)
	if err == nil && !json.Valid(e.Target) {
		err = fmt.Errorf("%w: the target is not valid JSON", concordat.ErrInvalid)
	}
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			_, err := c.Exec(ctx, `INSERT INTO erasure (id, made, actor, reason, state, target, receipt, done) VALUES (?, ?, ?, ?, ?, ?, '', 0)`,
				e.ID, stamp(e.Made), cleanText(e.Actor), cleanText(e.Reason), ErasureAsked, cleanText(string(e.Target)))
			return err
		})
	}
	return db.fail(err, "request deletion %s", e.ID)
}

// StepErasure records the progress of a deletion. After the state is past asked, the target is removed, since it can name deleted data.
// If there is no deletion with that id, it fails with concordat.ErrNotFound.
func (db *Retention) StepErasure(ctx context.Context, id string, state ErasureState, receipt json.RawMessage) error {
	err := db.write(ctx, func(c engine.Conn) error {
		set, args := `state = ?, receipt = ?`, []any{state, cleanText(string(receipt))}
		if state != ErasureAsked {
			set += `, target = ''`
		}
		if state == ErasureDone {
			set += `, done = ?`
			args = append(args, stamp(db.now()))
		}
		n, err := c.Exec(ctx, `UPDATE erasure SET `+set+` WHERE id = ?`, append(args, id)...)
		return oneOf(n, err)
	})
	return db.fail(err, "deletion %s", id)
}

// Erasure returns a deletion, or concordat.ErrNotFound.
func (db *Retention) Erasure(ctx context.Context, id string) (Erasure, error) {
	e, err := scanErasure(db.read().Row(ctx, `SELECT `+erasureColumns+` FROM erasure WHERE id = ?`, id))
	return e, db.fail(err, "deletion %s", id)
}

// Erasures returns deletions, newest first, starting before the one with Seq before (0 for the newest), up to limit, or up to MaxPage if
// limit is 0 or exceeds it.
func (db *Retention) Erasures(ctx context.Context, before int64, limit int) ([]Erasure, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	es, err := engine.Collect(ctx, db.read(), scanErasure, `SELECT `+erasureColumns+` FROM erasure WHERE seq < ? ORDER BY seq DESC LIMIT ?`,
		before, page(limit))
	return es, db.fail(err, "list deletions")
}

// OpenErasures returns the deletions that are not done, oldest first.
func (db *Retention) OpenErasures(ctx context.Context) ([]Erasure, error) {
	es, err := engine.Collect(ctx, db.read(), scanErasure, `SELECT `+erasureColumns+` FROM erasure WHERE state <> ? ORDER BY seq`, ErasureDone)
	return es, db.fail(err, "list open deletions")
}
