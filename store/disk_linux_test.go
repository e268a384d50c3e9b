package store_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"concordat/store"
)

// The disk itself is full, not only the file's own bound reached.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	fill(t, filepath.Join(dir, "store.db"), store.Options{})
}
