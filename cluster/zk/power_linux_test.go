package zk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// TestIdentityPowerLoss cuts the power at every moment while a node's record of its cluster is replaced. ZooKeeper relies on what the
// node read there, so a record that was read must not be lost either.
func TestIdentityPowerLoss(t *testing.T) {
	powertest.Replaces(t, suite.Rounds(6, 60), 6, func(dir string, version int) error {
		m := memory{Cluster: strings.Repeat("0", 32), Node: "a", Instance: strings.Repeat("1", 32), Config: int64(version)}
		return m.write(filepath.Join(dir, "node.json"))
	}, func(dir string) (int, error) {
		m, err := openMemory(filepath.Join(dir, "node.json"), "a")
		return int(m.Config), err
	})
}

// TestIdentityNotReplaced: on a full disk, and where the file cannot be replaced, the write fails, the record stays as it was, and no
// partial file is left beside it.
func TestIdentityNotReplaced(t *testing.T) {
	dir := powertest.SmallDisk(t, "16k")
	files := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("got files %v, %v, want %v", got, err, want)
		}
	}
	path, ballast := filepath.Join(dir, "node.json"), filepath.Join(dir, "ballast")
	m := memory{Format: memoryFormat, Cluster: strings.Repeat("0", 32), Node: "a", Instance: strings.Repeat("1", 32), Config: 1}
	if err := m.write(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	next := m
	next.Config = 2
	if err := next.write(path); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full disk: got %v, want %v", err, syscall.ENOSPC)
	}
	files("ballast", "node.json")
	if got, err := openMemory(path, "a"); got != m || err != nil {
		t.Errorf("full disk: got %+v, %v, want %+v", got, err, m)
	}
	if err := errors.Join(os.Remove(ballast), os.Remove(path), os.MkdirAll(filepath.Join(path, "folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := next.write(path); err == nil {
		t.Error("a folder was replaced by a file")
	}
	files("node.json")
}

// TestIdentityNotSynced: a record whose name could not be made durable is not taken for written, and one that was read must be durable.
func TestIdentityNotSynced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "node.json")
	m := memory{Cluster: strings.Repeat("0", 32), Node: "a", Instance: strings.Repeat("1", 32), Config: 1}
	powertest.Unreadable(t, dir, func() {
		if err := m.write(path); !errors.Is(err, os.ErrPermission) {
			t.Errorf("write: got %v, want %v", err, os.ErrPermission)
		}
		if _, err := openMemory(path, "a"); !errors.Is(err, os.ErrPermission) {
			t.Errorf("open: got %v, want %v", err, os.ErrPermission)
		}
	})
}
