//go:build unix

package instance_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"concordat/instance"
)

// TestKeyThroughPipe: a secret's file is refused if other users can read it; the mode of a pipe does not matter, because a shell creates
// it for a secret that is not in a file.
func TestKeyThroughPipe(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	path := filepath.Join(t.TempDir(), "key")
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o644: false} {
		if err := os.WriteFile(path, key, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := instance.RawKeyFrom(path)
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "other users can read") {
			t.Errorf("mode %04o: %v", mode, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Skipf("no pipe here: %v", err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, key, 0) }()
	if _, err := instance.RawKeyFrom(path); err != nil {
		t.Errorf("through a pipe: %v", err)
		_, _ = os.ReadFile(path) // allows the writer to end
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
