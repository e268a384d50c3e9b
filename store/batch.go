package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"

	"concordat"
	"concordat/store/engine"
)

// Batch is a set of documents compared with each other and with the libraries.
type Batch struct {
	ID     string
	Title  string
	Owner  string // account that submitted it; empty for the command line
	Runner string // worker that runs it, for example serve
	// Work is a hash of the input and options that lets a command find its unfinished batch.
	Work    string
	Request json.RawMessage // in the caller's format
	Lineage json.RawMessage // the pairs that do not count, in the caller's format
	Made    time.Time

	// The store sets the remaining fields.

	Seq         int64 // order of creation, from 1
	State       concordat.State
	Cause       Cause
	Stage       string
	Done, Total int // progress of Stage
	Round       int // number of comparisons with the libraries, from 1
	Started     time.Time
	Finished    time.Time
}

const batchColumns = `seq, id, title, owner, runner, work, request, lineage, state, cause, stage, done, total, round, made, started, finished`

func scanBatch(s engine.Scanner) (Batch, error) {
	var b Batch
	var request, lineage, cause string
	var made, started, finished int64
	err := s.Scan(&b.Seq, &b.ID, &b.Title, &b.Owner, &b.Runner, &b.Work, &request, &lineage, &b.State, &cause, &b.Stage, &b.Done,
		&b.Total, &b.Round, &made, &started, &finished)
	b.Request, b.Lineage = json.RawMessage(request), json.RawMessage(lineage)
	b.Made, b.Started, b.Finished = instant(made), instant(started), instant(finished)
	if err == nil {
		b.Cause, err = causeOf(cause)
	}
	return b, err
}

// BatchInput is a file of a batch: a document, or an archive of them.
type BatchInput struct {
	Number int    // from 0
	Name   string // as displayed
	Place  string // a path, or the hash of an original
}

// CreateBatch adds a batch with its files to the end of the queue, in one transaction. If the id exists, it fails with
// concordat.ErrExists.
func (db *Batches) CreateBatch(ctx context.Context, b Batch, inputs []BatchInput) error {
	err := checkName("batch", b.ID)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			_, err := c.Exec(ctx, `INSERT INTO batch (id, title, owner, runner, work, request, lineage, state, cause, stage, done, total, round, made, started, finished)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', '', 0, 0, 1, ?, 0, 0)`,
				b.ID, cleanText(b.Title), cleanText(b.Owner), cleanText(b.Runner), b.Work, jsonText(b.Request), jsonText(b.Lineage),
				concordat.TaskQueued, stamp(b.Made))
			for i := 0; err == nil && i < len(inputs); i++ {
				_, err = c.Exec(ctx, `INSERT INTO batch_input (batch, number, name, place, done) VALUES (?, ?, ?, ?, 0)`,
					b.ID, inputs[i].Number, cleanText(inputs[i].Name), cleanText(inputs[i].Place))
			}
			return err
		})
	}
	return db.fail(err, "create batch %s", b.ID)
}

// jsonText returns r in the form stored in a text column.
func jsonText(r json.RawMessage) string {
	if r == nil {
		return "null"
	}
	return cleanText(string(r))
}

// Batch returns a batch, or concordat.ErrNotFound.
func (db *Batches) Batch(ctx context.Context, id string) (Batch, error) {
	b, err := scanBatch(db.read().Row(ctx, `SELECT `+batchColumns+` FROM batch WHERE id = ?`, id))
	return b, db.fail(err, "batch %s", id)
}

// Batches returns batches newest first, starting before the one with Seq before (0 for the newest). It returns at most limit batches, or
// MaxPage if limit is 0 or exceeds it. If owner is nil, it returns the batches of all owners.
func (db *Batches) Batches(ctx context.Context, owner *string, before int64, limit int) ([]Batch, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	where, args := `seq < ?`, []any{before}
	if owner != nil {
		where, args = where+` AND owner = ?`, append(args, *owner)
	}
	bs, err := engine.Collect(ctx, db.read(), scanBatch, `SELECT `+batchColumns+` FROM batch WHERE `+where+` ORDER BY seq DESC LIMIT ?`,
		append(args, page(limit))...)
	return bs, db.fail(err, "list batches")
}

// NextBatch returns a runner's oldest batch that has not ended, whether begun or not, or concordat.ErrNotFound. Only one process can work
// on a runner's batches.
func (db *Batches) NextBatch(ctx context.Context, runner string) (Batch, error) {
	b, err := scanBatch(db.read().Row(ctx, `SELECT `+batchColumns+` FROM batch WHERE runner = ? AND state IN (?, ?) ORDER BY seq LIMIT 1`,
		runner, concordat.TaskQueued, concordat.TaskRunning))
	return b, db.fail(err, "get the next batch")
}

// BatchOfWork returns the newest unfinished batch with the given input and options, or concordat.ErrNotFound.
func (db *Batches) BatchOfWork(ctx context.Context, work string) (Batch, error) {
	b, err := scanBatch(db.read().Row(ctx, `SELECT `+batchColumns+` FROM batch WHERE work = ? AND state IN (?, ?) ORDER BY seq DESC LIMIT 1`,
		work, concordat.TaskQueued, concordat.TaskRunning))
	return b, db.fail(err, "find the batch of %s", work)
}

// BatchProgress records the progress of a batch and marks it as running. It fails with ErrLease if the batch has ended, for example
// because it was cancelled, and with concordat.ErrNotFound if the batch is gone.
func (db *Batches) BatchProgress(ctx context.Context, id, stage string, done, total int) error {
	now := stamp(db.now())
	err := db.changeBatch(ctx, id, `state = ?, stage = ?, done = ?, total = ?, started = CASE WHEN started = 0 THEN ? ELSE started END`,
		concordat.TaskRunning, stage, done, total, now)
	return db.fail(err, "batch %s", id)
}

// RewriteBatch gives a batch that has not ended a new request, which includes the results of reading its files. It fails like
// BatchProgress.
func (db *Batches) RewriteBatch(ctx context.Context, id string, request json.RawMessage) error {
	return db.fail(db.changeBatch(ctx, id, `request = ?`, jsonText(request)), "change the request of batch %s", id)
}

// changeBatch updates a batch that has not ended.
func (db *Batches) changeBatch(ctx context.Context, id, set string, args ...any) error {
	return db.write(ctx, func(c engine.Conn) error { return changeBatchIn(ctx, c, id, set, args...) })
}

func changeBatchIn(ctx context.Context, c engine.Conn, id, set string, args ...any) error {
	n, err := c.Exec(ctx, `UPDATE batch SET `+set+` WHERE id = ? AND state IN (?, ?)`,
		append(args, id, concordat.TaskQueued, concordat.TaskRunning)...)
	if err != nil || n == 1 {
		return err
	}
	var found string
	if err := c.Row(ctx, `SELECT id FROM batch WHERE id = ?`, id).Scan(&found); err != nil {
		return err
	}
	return ErrLease
}

// FinishBatch ends a batch as done, partial or failed, with the cause, if any. leads is the number of leads between its documents, which
// is reported to webhooks; it is nil if the batch failed or leads were not requested. It fails like BatchProgress.
func (db *Batches) FinishBatch(ctx context.Context, id string, state concordat.State, cause Cause, leads *concordat.LeadCount) error {
	text, err := cause.column()
	if err != nil {
		return db.fail(err, "finish batch %s", id)
	}
	switch state {
	case concordat.TaskDone, concordat.TaskPartial, concordat.TaskFailed:
		err = db.write(ctx, func(c engine.Conn) error {
			if err := changeBatchIn(ctx, c, id, `state = ?, cause = ?, finished = ?`, state, text, stamp(db.now())); err != nil {
				return err
			}
			return db.batchFinished(ctx, c, id, leads)
		})
	default:
		err = fmt.Errorf("%w: %q is not a final state", concordat.ErrInvalid, state)
	}
	return db.fail(err, "finish batch %s", id)
}

// ReopenBatch puts a batch that has ended back in a runner's queue. If again is set, it is compared with the libraries again; otherwise, it
// resumes where it stopped. It has no effect on a batch that has not ended.
func (db *Batches) ReopenBatch(ctx context.Context, id, runner string, again bool) error {
	more := 0
	if again {
		more = 1
	}
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx,
			`UPDATE batch SET state = ?, runner = ?, cause = '', finished = 0, stage = '', round = round + ? WHERE id = ? AND state NOT IN (?, ?)`,
			concordat.TaskQueued, runner, more, id, concordat.TaskQueued, concordat.TaskRunning)
		if err != nil {
			return err
		}
		var found string
		return c.Row(ctx, `SELECT id FROM batch WHERE id = ?`, id).Scan(&found)
	})
	return db.fail(err, "reopen batch %s", id)
}

// SetBatchLineage sets which pairs of a batch do not count, or fails with concordat.ErrNotFound.
func (db *Batches) SetBatchLineage(ctx context.Context, id string, lineage json.RawMessage) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE batch SET lineage = ? WHERE id = ?`, jsonText(lineage), id)
		return oneOf(n, err)
	})
	return db.fail(err, "set the lineage of batch %s", id)
}

// DeleteBatch deletes a batch with its members and pairs; its members' tasks remain. If the batch does not exist, that is not an error.
func (db *Batches) DeleteBatch(ctx context.Context, id string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM batch WHERE id = ?`, id)
		if err == nil {
			_, err = c.Exec(ctx, `DELETE FROM recheck WHERE kind = 'batch' AND target = ?`, id)
		}
		return err
	})
	return db.fail(err, "delete batch %s", id)
}

// BatchInputs returns all of a batch's files, or only the files with unknown members, ordered by number.
func (db *Batches) BatchInputs(ctx context.Context, id string, waiting bool) ([]BatchInput, error) {
	most := 1
	if waiting {
		most = 0
	}
	in, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (i BatchInput, err error) {
		return i, s.Scan(&i.Number, &i.Name, &i.Place)
	}, `SELECT number, name, place FROM batch_input WHERE batch = ? AND done <= ? ORDER BY number`, id, most)
	return in, db.fail(err, "list the files of batch %s", id)
}

// BatchEvent is a decision about a batch.
type BatchEvent struct {
	Seq    int // from 1; set by the store
	At     time.Time
	By     string
	Action string
	Text   string
}

// AppendBatchEvent adds an event; existing events never change. If there is no such batch, it fails with concordat.ErrNotFound.
func (db *Batches) AppendBatchEvent(ctx context.Context, id string, e BatchEvent) error {
	err := db.write(ctx, func(c engine.Conn) error {
		var found string
		if err := c.Row(ctx, `SELECT id FROM batch WHERE id = ?`, id).Scan(&found); err != nil {
			return err
		}
		_, err := c.Exec(ctx, `INSERT INTO batch_event (batch, seq, at, by, action, text)
			SELECT ?, COALESCE(MAX(seq), 0) + 1, ?, ?, ?, ? FROM batch_event WHERE batch = ?`, id, stamp(e.At), cleanText(e.By), cleanText(e.Action), cleanText(e.Text), id)
		return err
	})
	return db.fail(err, "add an event to batch %s", id)
}

// BatchEvents returns the events of a batch, oldest first.
func (db *Batches) BatchEvents(ctx context.Context, id string) ([]BatchEvent, error) {
	es, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (e BatchEvent, err error) {
		var at int64
		err = s.Scan(&e.Seq, &at, &e.By, &e.Action, &e.Text)
		e.At = instant(at)
		return e, err
	}, `SELECT seq, at, by, action, text FROM batch_event WHERE batch = ? ORDER BY seq`, id)
	return es, db.fail(err, "list the events of batch %s", id)
}

// maxPassages is the maximum size of a pair's passages, in bytes before compression.
const maxPassages = 64 << 20

// packPassages compresses the passages of a pair; an empty slice remains empty.
func packPassages(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return []byte{}, nil
	}
	if len(data) > maxPassages {
		return nil, fmt.Errorf("%w: the passages take up %d bytes, but at most %d are allowed", concordat.ErrInvalid, len(data), maxPassages)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	return enc.EncodeAll(data, nil), nil
}

func unpackPassages(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPassages))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	data, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot decode the passages: %v", concordat.ErrCorrupt, err)
	}
	return data, nil
}
