// Package storetest provides tests with stores of both engines, and makes their calls fail by script. Package store contains the test
// suite that every engine must pass.
package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"concordat/store"
)

// empty returns the file of an empty store. Tests copy it, because creating its tables takes most of the time of opening a new store.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "concordat-store-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the folder for temporary files
	path := filepath.Join(dir, "site.db")
	db, err := store.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("a closed store still has a log")
	}
	return os.ReadFile(path)
})

// SQLitePath returns the path of an empty store in a folder of the test.
func SQLitePath(t testing.TB) string {
	t.Helper()
	b, err := empty()
	path := filepath.Join(t.TempDir(), "site.db")
	if err = errors.Join(err, os.WriteFile(path, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// SQLite returns an empty store in a folder of the test, closed when the test ends.
func SQLite(t testing.TB) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), SQLitePath(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
