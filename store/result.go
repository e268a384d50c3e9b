package store

import (
	"context"
	"fmt"
	"math"

	"concordat/store/engine"

	"concordat"
)

// Result is one passage of a submission with one source: a row of the results table, which serves
// SQL queries and exports. Whole findings, with texts, are kept by PutFindings.
type Result struct {
	Span       concordat.Span // of the submission's text
	Kind       concordat.Kind
	Similarity float64 // 0 to 1
	Source     concordat.Ref
	Title      string         // of the source
	SourceSpan concordat.Span // of the source's text
	Documents  int            // that hold one of the passage's sentences exactly
}

const resultColumns = `span_start, span_end, kind, similarity, site, library, document, title, source_start, source_end, documents`

func scanResult(s engine.Scanner) (Result, error) {
	var r Result
	err := s.Scan(&r.Span.Start, &r.Span.End, &r.Kind, &r.Similarity, &r.Source.Site, &r.Source.Library,
		&r.Source.Document, &r.Title, &r.SourceSpan.Start, &r.SourceSpan.End, &r.Documents)
	return r, err
}

// PutResults replaces the results of a task by the given ones. It fails with concordat.ErrNotFound
// where there is no such task; then, as after any error, the former results stay.
func (db *DB) PutResults(ctx context.Context, id concordat.TaskID, results []Result) error {
	for i, r := range results {
		if err := checkResult(r); err != nil {
			return db.fail(err, "put results of task %s: row %d", id, i)
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
	return db.fail(err, "put results of task %s", id)
}

func checkResult(r Result) error {
	if math.IsNaN(r.Similarity) || r.Similarity < 0 || r.Similarity > 1 {
		return fmt.Errorf("%w: similarity %v", concordat.ErrInvalid, r.Similarity)
	}
	if err := checkName("site", r.Source.Site); err != nil {
		return err
	}
	if err := checkName("library", r.Source.Library); err != nil {
		return err
	}
	return checkName("document", r.Source.Document)
}

// Results returns the results of a task in the order in which they were put; none for a task
// without results or one that is not there.
func (db *DB) Results(ctx context.Context, id concordat.TaskID) ([]Result, error) {
	rs, err := engine.Collect(ctx, db.read(), scanResult,
		`SELECT `+resultColumns+` FROM result WHERE task = ? ORDER BY ordinal`, id)
	return rs, db.fail(err, "results of task %s", id)
}
