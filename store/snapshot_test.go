package store_test

import (
	"errors"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/store"
)

// TestSnapshot: a copy of a snapshot has the contents at the time of the snapshot, whatever is written in the meantime.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(dir, "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	set := func(v string) {
		t.Helper()
		if err := db.SetSetting(t.Context(), "word", v); err != nil {
			t.Fatal(err)
		}
	}
	set("before")
	s, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set("after")
	path := filepath.Join(dir, "copy.db")
	if err := s.CopyTo(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	set("later") // writers can continue after the copy
	if err := s.CopyTo(t.Context(), path); !errors.Is(err, concordat.ErrExists) {
		t.Errorf("a second copy to one place: %v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := c.Setting(t.Context(), "word"); got != "before" || err != nil {
		t.Errorf("the copy says %q, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got, err := db.Setting(t.Context(), "word"); got != "later" || err != nil {
		t.Errorf("the store says %q, %v", got, err)
	}
}
