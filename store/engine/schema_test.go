package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat/internal/storetest"
	"concordat/store/engine"
)

func TestMain(m *testing.M) {
	code := m.Run()
	storetest.StopPostgres()
	os.Exit(code)
}

func open(t *testing.T, place string) *engine.DB {
	t.Helper()
	db, err := engine.Options{Busy: time.Minute}.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestSchemas: the migrations create the same tables, columns, keys and indexes on both engines.
func TestSchemas(t *testing.T) {
	lite, post := engine.Schema(t, open(t, filepath.Join(t.TempDir(), "lite.db"))), engine.Schema(t, open(t, storetest.Postgres(t).Schema(t)))
	if len(lite) < 300 {
		t.Errorf("only %d lines describe the schema", len(lite))
	}
	if d := cmp.Diff(lite, post); d != "" {
		t.Errorf("SQLite (-) and PostgreSQL (+) differ: %s", d)
	}
}
