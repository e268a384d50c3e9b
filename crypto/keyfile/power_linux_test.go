package keyfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// TestS1OnTheDisk is like TestS1PowerLoss with the system's own calls. Everything written by Replace is found after a power failure.
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

// TestPowerLoss cuts the power at every moment while a keystore is replaced, and sometimes kills the process. Afterwards, either the last
// keystore written or the one being written is complete. A keystore that a process has read counts too, since the process might have told
// others its keys.
func TestPowerLoss(t *testing.T) {
	content := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 100*i) }
	powertest.Replaces(t, suite.Rounds(6, 60), 8, func(dir string, version int) error {
		return Replace(filepath.Join(dir, "keys"), content(version))
	}, func(dir string) (int, error) {
		b, err := Bytes(filepath.Join(dir, "keys"))
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		n := len(b) / 100
		if err == nil && !bytes.Equal(b, content(n)) {
			err = errors.New("it is not whole")
		}
		return n, err
	})
}
