// Package storetest provides tests with stores of both engines, and makes their calls fail by script. Package store contains the test
// suite that every engine must pass.
package storetest

import (
	"path/filepath"
	"testing"

	"concordat/store"
)

// SQLite returns an empty store in a folder of the test, closed when the test ends.
func SQLite(t testing.TB) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
