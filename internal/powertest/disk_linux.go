package powertest

import (
	"syscall"
	"testing"
)

// SmallDisk returns an empty folder on a file system of the given size, for example 64k, so that a test can fill it. The test skips if it
// may not mount one.
func SmallDisk(t testing.TB, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("concordat-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}
