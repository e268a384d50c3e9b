package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"concordat"
	"concordat/store"
)

// TestNewOnFullDisk creates stores on disks of many sizes. Each store is complete, or the error says that the disk is full and the next
// start, on a larger disk, starts over.
func TestNewOnFullDisk(t *testing.T) {
	full, whole := 0, 0
	for size := 200; size <= 3000; size += 200 {
		dir := smallDisk(t, size)
		db, err := store.Options{}.Open(t.Context(), filepath.Join(dir, "store.db"))
		if err != nil {
			full++
			wantErr(t, err, concordat.ErrDiskFull)
			if _, err := os.Lstat(filepath.Join(dir, "store.db")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d kB: half a store stays: %v", size, err)
			}
			continue
		}
		whole++
		must(t, db.Check(t.Context()))
		must(t, db.Close())
	}
	if full == 0 || whole == 0 {
		t.Errorf("%d disks were too small, %d were not", full, whole)
	}
}

// smallDisk mounts a file system of the given number of kB.
func smallDisk(t *testing.T, kB int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kB)); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestDiskFull: the disk itself is full, and the file has not reached its own limit.
func TestDiskFull(t *testing.T) {
	dir := smallDisk(t, 3000)
	fill(t, filepath.Join(dir, "store.db"), store.Options{})
}
