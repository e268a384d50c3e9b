package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"concordat/internal/powertest"
)

// TestStoreOnTheDisk: after a loss of power, a new SQLite store and all its acknowledged changes are still there.
func TestStoreOnTheDisk(t *testing.T) {
	if !powertest.Alone(t) {
		return
	}
	root := t.TempDir()
	d := powertest.Watch(t, root)
	db := open(t, filepath.Join(root, "store.db"))
	found := func() int {
		t.Helper()
		path := filepath.Join(d.Lost(), "store.db")
		if _, err := os.Stat(path); err != nil { // opening it would create a new one
			t.Fatal(err)
		}
		return value[int](t, open(t, path), `SELECT count(*) FROM setting WHERE name LIKE 'held%'`)
	}
	if n := found(); n != 0 {
		t.Errorf("%d rows in a new store", n)
	}
	for i, statement := range []string{`INSERT INTO setting (name, value) VALUES ('held 1', '')`,
		`INSERT INTO setting (name, value) VALUES ('held 2', '')`} {
		change(t, db, statement)
		if n := found(); n != i+1 {
			t.Errorf("power lost after change %d: %d rows", i+1, n)
		}
	}
}
