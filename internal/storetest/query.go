package storetest

import (
	"database/sql"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/store"
)

// Query reads tables that the store writes for other programs. It runs a query on a copy of the store, which is a SQLite file for either
// engine, and calls each for every row.
func Query(t testing.TB, db *store.DB, each func(*sql.Rows) error, query string, args ...any) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := db.Snapshot(t.Context())
	must(err)
	path := filepath.Join(t.TempDir(), "copy.db")
	must(s.CopyTo(t.Context(), path))
	must(s.Close())
	file, err := sql.Open("sqlite3", path)
	must(err)
	defer file.Close()
	rows, err := file.QueryContext(t.Context(), query, args...)
	must(err)
	defer rows.Close()
	for rows.Next() {
		must(each(rows))
	}
	must(rows.Err())
}

// Results returns a task's results in the order of storage.
func Results(t testing.TB, db *store.DB, id concordat.TaskID) (out []store.Result) {
	t.Helper()
	Query(t, db, func(s *sql.Rows) error {
		var r store.Result
		err := s.Scan(&r.Span.Start, &r.Span.End, &r.Kind, &r.Similarity, &r.Source.Site, &r.Source.Library,
			&r.Source.Document, &r.Title, &r.SourceSpan.Start, &r.SourceSpan.End, &r.Documents)
		out = append(out, r)
		return err
	}, `SELECT span_start, span_end, kind, similarity, site, library, document, title, source_start, source_end, documents
		FROM result WHERE task = ? ORDER BY ordinal`, id)
	return out
}

// Holder returns the worker that currently performs a leader task, or "".
func Holder(t testing.TB, db *store.DB, task string, now int64) (holder string) {
	t.Helper()
	Query(t, db, func(r *sql.Rows) error { return r.Scan(&holder) }, `SELECT holder FROM duty WHERE name = ? AND until > ?`, task, now)
	return holder
}
