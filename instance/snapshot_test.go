package instance

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"concordat"
)

// TestCopyThatCannotBeOpened: any copy of the store that cannot be opened fails the backup.
func TestCopyThatCannotBeOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), StoreName)
	if err := os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := new(Snapshot).readCopy(t.Context(), path); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("got %v, want %v", err, concordat.ErrCorrupt)
	}
}
