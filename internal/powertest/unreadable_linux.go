package powertest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Unreadable calls f as a user who may change dir, a folder that TempDir returned, but not open it, so that new names there cannot be
// synced. It skips the test if the user cannot be changed.
func Unreadable(t testing.TB, dir string, f func()) {
	t.Helper()
	const nobody = 65534
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(dir, 0o333)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Error(err)
		}
	}()
	if os.Geteuid() == 0 { // root can open everything
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.Setfsuid(nobody); err != nil {
			t.Skipf("cannot act as another user: %v", err)
		}
		defer func() { _ = unix.Setfsuid(0) }() // always succeeds for the former user
	}
	if d, err := os.Open(dir); err == nil {
		_ = d.Close()
		t.Skip("this user can open every folder")
	}
	probe, err := os.CreateTemp(dir, "probe")
	if err != nil {
		t.Skipf("another user cannot reach %s: %v", dir, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		t.Fatal(err)
	}
	f()
}
