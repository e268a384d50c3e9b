package keyfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"concordat/internal/powertest"
	"concordat/internal/suite"
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

// TestPowerLoss cuts the power at every moment while a keystore is replaced, with the process dying now and then: what was written
// last is there, whole, or what was being written. What a process has read counts too, since it may have told others its keys.
func TestPowerLoss(t *testing.T) {
	d := powertest.Record(t)
	dir := t.TempDir()
	content := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 100*i) }
	for seed := range uint64(suite.Rounds(6, 60)) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := filepath.Join(dir, fmt.Sprint(seed))
		path := filepath.Join(root, "keys")
		if err := errors.Join(os.Mkdir(root, 0o700), os.WriteFile(path, content(1), 0o600)); err != nil {
			t.Fatal(err)
		}
		d.Start(root)
		type moment struct{ at, least, most int }
		may, last := []moment{{0, 1, 1}}, 1
		for i := 2; i < 12; i++ {
			may = append(may, moment{d.Now(), last, i})
			if r.IntN(2) == 0 {
				d.Die(r.IntN(8))
			}
			err := Replace(path, content(i))
			if !d.Live() {
				if err != nil {
					t.Fatal(err)
				}
				last = i
			} else { // and is started again
				b, err := Bytes(path)
				if err != nil {
					t.Fatal(err)
				}
				last = len(b) / 100
			}
			may = append(may, moment{d.Now(), last, i})
		}
		d.Stop()
		failed := make(chan error)
		go func() { // its calls are not recorded
			var all error
			for i, m := range may {
				end := m.at + 1
				if i+1 < len(may) {
					end = may[i+1].at
				}
				for at := m.at; at < end; at++ {
					for way := range 4 {
						var how *rand.Rand
						if way > 0 {
							how = r
						}
						cut := filepath.Join(dir, fmt.Sprint("cut", seed))
						err := d.Cut(at, how, cut)
						got, readErr := os.ReadFile(filepath.Join(cut, "keys"))
						n := len(got) / 100
						if readErr != nil || n < m.least || n > m.most || !bytes.Equal(got, content(n)) {
							all = errors.Join(all, fmt.Errorf("seed %d, power lost at %d: %d bytes, want content %d to %d: %w", seed, at, len(got),
								m.least, m.most, readErr))
						}
						all = errors.Join(all, err, os.RemoveAll(cut))
					}
				}
			}
			failed <- all
		}()
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}
