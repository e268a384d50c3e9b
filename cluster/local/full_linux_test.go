package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/cluster/coord"
	"concordat/internal/powertest"
)

// TestFullDisk changes the state on a full disk. The change is refused, and the file stays as it was, without a partial one beside it.
func TestFullDisk(t *testing.T) {
	dir := powertest.SmallDisk(t, "64k")
	path := filepath.Join(dir, "cluster.json")
	s := joined(t, path)
	if _, err := s.Configure(t.Context(), 0, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Configure(t.Context(), 1, make([]byte, coord.MaxConfig)); !errors.Is(err, coord.ErrUnknown) {
		t.Errorf("configuration that does not fit on the disk: got %v, want %v", err, coord.ErrUnknown)
	}
	only(t, dir, "cluster.json")
	if v := <-joined(t, path).View(); string(v.Config.Data) != "old" || v.Config.Version != 1 {
		t.Errorf("got configuration %q of version %d, want the old one", v.Config.Data, v.Config.Version)
	}
}

// TestNotReplaced: a file that cannot be replaced is an error, and the new one is removed.
func TestNotReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "cluster.json")
	s := joined(t, path)
	st := coord.State{ISR: []coord.NodeID{"a"}, Replicas: []coord.NodeID{"a"}}
	if err := s.Create(t.Context(), map[concordat.ShardID]coord.State{"01": st}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	err := s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": st})
	if !errors.Is(err, coord.ErrUnknown) {
		t.Errorf("got %v, want %v", err, coord.ErrUnknown)
	}
	if _, err := s.Read(t.Context(), "00"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("shard that was not stored: got %v, want %v", err, concordat.ErrNotFound)
	}
	only(t, dir, "cluster.json")
}

// TestNameNotSynced: a change whose file could not be made durable under its name is not acknowledged.
func TestNameNotSynced(t *testing.T) {
	dir := t.TempDir()
	s := joined(t, filepath.Join(dir, "cluster.json"))
	powertest.Unreadable(t, dir, func() {
		if _, err := s.Configure(t.Context(), 0, []byte("new")); !errors.Is(err, coord.ErrUnknown) || !errors.Is(err, os.ErrPermission) {
			t.Errorf("got %v, want %v", err, coord.ErrUnknown)
		}
	})
}

// only checks that the folder contains a single file or folder with this name.
func only(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("got %v, %v, want only %s", entries, err, name)
	}
}
