package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat/instance/backup"
)

// TestFullDisk: a disk that fills up during a backup leaves the previous backup complete.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	from := t.TempDir()
	original(t, from, "one")
	makeBackup(t, dir, from, "first")
	original(t, from, strings.Repeat("large", 1<<20))
	m, err := backup.Begin(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.AddOriginals(t.Context(), from); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("on a full disk: %v", err)
	}
	if err := m.Abandon(); err != nil {
		t.Error(err)
	}
	b, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if faults, err := b.Verify(nil); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, backup.Originals, "*", "*", "*.part")); len(left) > 0 {
		t.Errorf("half files: %v", left)
	}
	if err := os.RemoveAll(from); err != nil {
		t.Fatal(err)
	}
	from = t.TempDir()
	makeBackup(t, dir, from, "second") // once space is available again
}
