package engine_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"concordat/internal/storetest"
	"concordat/store/engine"
)

// value returns what a query finds in its only row.
func value[T any](t *testing.T, db *engine.DB, query string, args ...any) (v T) {
	t.Helper()
	if err := db.Read().Row(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestAfterRestart: a check, a copy and a snapshot do not fail because the server of the database was started again before.
func TestAfterRestart(t *testing.T) {
	s := storetest.Postgres(t)
	db, to := open(t, s.Schema(t)), open(t, filepath.Join(t.TempDir(), "copy.db"))
	for name, call := range map[string]func() error{
		"check": func() error { return db.Check(t.Context()) },
		"copy":  func() error { _, err := db.CopyTo(t.Context(), to, engine.Copy{}); return err },
		"snapshot": func() error {
			x, err := db.Snapshot(t.Context())
			if err == nil {
				err = x.Close()
			}
			return err
		},
	} {
		value[int](t, db, `SELECT 1`) // over a connection that is kept
		if err := errors.Join(s.Stop(syscall.SIGINT), s.Start()); err != nil {
			t.Fatal(err)
		}
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
