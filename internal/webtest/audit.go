package webtest

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// Readings counts the audit entries about reports that were read.
func (d *Site) Readings(t *testing.T) (n int) {
	t.Helper()
	lines, err := d.Store.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if l.Action == "report_read" {
			n++
		}
	}
	return n
}

// SQL runs statements on the store, bypassing the site.
func (d *Site) SQL(t *testing.T, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(d.Dir, "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	for _, s := range append([]string{"PRAGMA legacy_alter_table = ON"}, statements...) {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// Without runs f while the table is missing, so that everything that reads it fails.
func (d *Site) Without(t *testing.T, table string, f func()) {
	t.Helper()
	d.SQL(t, "ALTER TABLE "+table+" RENAME TO "+table+"_away")
	defer d.SQL(t, "ALTER TABLE "+table+"_away RENAME TO "+table)
	f()
}

// Audited returns the actions in the audit.
func (d *Site) Audited(t *testing.T) string {
	t.Helper()
	var out []string
	lines, err := d.Store.Audit.Audit(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		out = append(out, l.Action)
	}
	return strings.Join(out, " ")
}

// Actions counts the audit entries by action.
func (d *Site) Actions(t *testing.T) map[string]int {
	t.Helper()
	lines, err := d.Store.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, l := range lines {
		out[l.Action]++
	}
	return out
}
