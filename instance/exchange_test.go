package instance_test

import (
	"os"
	"path/filepath"
	"testing"

	"concordat/instance"
)

// TestFinishReindexUnknown: if it cannot be determined whether the next index is complete, the current one remains.
func TestFinishReindexUnknown(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, instance.IndexName, "segment")
	for _, path := range []string{kept, filepath.Join(dir, instance.OldIndexName, "segment")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("of an index"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, instance.NewIndexName), nil, 0o600); err != nil { // look-ups in it fail
		t.Fatal(err)
	}
	if err := instance.FinishReindex(dir); err == nil {
		t.Error("a next index that is no folder was taken for one")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the present index is gone: %v", err)
	}
}
