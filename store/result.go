package store

import (
	"context"
	"fmt"
	"math"
	"strings"

	"concordat"
	"concordat/store/engine"
)

// Result is one passage of a submission with one source, that is, a row of the results table, which is meant for SQL queries and exports.
// PutFindings stores complete findings, with texts.
type Result struct {
	Span       concordat.Span // span in the submission's text
	Kind       concordat.Kind
	Similarity float64 // 0 to 1
	Source     concordat.Ref
	Title      string         // title of the source
	SourceSpan concordat.Span // span in the source's text
	Documents  int            // number of documents that contain some sentence of the passage exactly
}

const resultColumns = `span_start, span_end, kind, similarity, site, library, document, title, source_start, source_end, documents`

// PutResults replaces the results of a task. If there is no such task, it fails with concordat.ErrNotFound; after any error, the previous
// results remain.
func (db *Checks) PutResults(ctx context.Context, id concordat.TaskID, results []Result) error {
	for i, r := range results {
		if err := checkResult(r); err != nil {
			return db.fail(err, "store the results of task %s: row %d", id, i)
		}
	}
	err := db.write(ctx, func(c engine.Conn) error {
		var task string
		if err := c.Row(ctx, `SELECT id FROM task WHERE id = ?`, id).Scan(&task); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `DELETE FROM result WHERE task = ?`, id); err != nil {
			return err
		}
		put, err := c.Prepare(ctx, `INSERT INTO result (task, ordinal, `+resultColumns+`)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		defer put.Close()
		for i, r := range results {
			_, err := put.ExecContext(ctx, id, i, r.Span.Start, r.Span.End, r.Kind, r.Similarity, r.Source.Site,
				r.Source.Library, r.Source.Document, cleanText(r.Title), r.SourceSpan.Start, r.SourceSpan.End, r.Documents)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "store the results of task %s", id)
}

func checkResult(r Result) error {
	if math.IsNaN(r.Similarity) || r.Similarity < 0 || r.Similarity > 1 {
		return fmt.Errorf("%w: the similarity %v is out of range", concordat.ErrInvalid, r.Similarity)
	}
	if err := checkName("site", r.Source.Site); err != nil {
		return err
	}
	if err := checkName("library", r.Source.Library); err != nil {
		return err
	}
	return checkName("document", r.Source.Document)
}

// Score states how much of a submission counts. It is valid for the findings and rules it was computed from.
type Score struct {
	Revision int64  // revision of the findings
	Rules    string // digest of the rules, in the caller's format
	Measured bool   // whether anything was compared
	Covered  float64
	Flags    int // number of kinds of flags that can conceal something
	Leads    int // number of leads; 0 if there are none, or they were not requested
}

// PutScore stores the score of a task, replacing the previous one. If there is no such task, it fails with concordat.ErrNotFound.
func (db *Checks) PutScore(ctx context.Context, id concordat.TaskID, s Score) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO score (task, revision, rules, measured, covered, flags, leads) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (task) DO UPDATE SET revision = excluded.revision, rules = excluded.rules, measured = excluded.measured, covered = excluded.covered,
				flags = excluded.flags, leads = excluded.leads`,
			id, s.Revision, s.Rules, s.Measured, s.Covered, s.Flags, s.Leads)
		return err
	})
	return db.fail(err, "get the score of task %s", id)
}

// Scores returns the scores of those tasks whose findings have not changed since the score was computed. At most 500 can be requested at
// once.
func (db *Checks) Scores(ctx context.Context, ids []concordat.TaskID) (map[concordat.TaskID]Score, error) {
	out := map[concordat.TaskID]Score{}
	if len(ids) == 0 {
		return out, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	type one struct {
		id concordat.TaskID
		Score
	}
	rows, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (r one, err error) {
		return r, s.Scan(&r.id, &r.Revision, &r.Rules, &r.Measured, &r.Covered, &r.Flags, &r.Leads)
	}, `SELECT s.task, s.revision, s.rules, s.measured, s.covered, s.flags, s.leads FROM score s
		JOIN findings f ON f.task = s.task AND f.revision = s.revision WHERE s.flags >= 0 AND s.task IN (?`+strings.Repeat(`, ?`, len(ids)-1)+`)`, args...)
	for _, r := range rows {
		out[r.id] = r.Score
	}
	return out, db.fail(err, "get the scores of %d tasks", len(ids))
}
