package keyfile

import (
	"os"
	"path/filepath"
	"testing"

	"concordat/internal/powertest"
)

// TestS1OnTheDisk is like TestS1PowerLoss, with the system's own calls: whatever Replace has written is found after a loss of power.
func TestS1OnTheDisk(t *testing.T) {
	if !powertest.Alone(t) {
		return
	}
	root := t.TempDir()
	d := powertest.Watch(t, root)
	for _, want := range []string{"first", "second"} {
		if err := Replace(filepath.Join(root, "key"), []byte(want)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(d.Lost(), "key"))
		if err != nil || string(got) != want {
			t.Errorf("power lost after Replace: %q, error %v, want %q", got, err, want)
		}
	}
}
