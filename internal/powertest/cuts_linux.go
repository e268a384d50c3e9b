package powertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Scratch returns a folder for the test, in memory if possible, which is faster.
func Scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "power-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // folder in memory
	return dir
}

// Cuts cuts the power at each recorded moment from first up to but excluding end, in several ways: the first one loses everything not
// synced, and the others lose a random part of it. It passes each possible resulting folder to check, and fails the test with the error
// that check returns. Calls made by check are not recorded, and check must not call methods of t that end a test.
func (d *Recorded) Cuts(first, end, ways int, r *rand.Rand, check func(at, way int, cut string) error) {
	d.t.Helper()
	cut := filepath.Join(Scratch(d.t), "cut")
	failed := make(chan error)
	go func() {
		var all error
		for at := first; at < end; at++ {
			for way := range ways {
				var how *rand.Rand
				if way > 0 {
					how = r
				}
				err := d.Cut(at, how, cut)
				if err == nil {
					err = check(at, way, cut)
				}
				if err != nil {
					all = errors.Join(all, fmt.Errorf("power loss after operation %d of %d: %w", at, end-1, err))
				}
				all = errors.Join(all, os.RemoveAll(cut))
			}
		}
		failed <- all
	}()
	if err := <-failed; err != nil {
		d.t.Fatal(err)
	}
}

// Replaces tests a package that keeps one thing in a folder and replaces it. write stores the given version, from 1, in about calls
// system calls, and read returns the version in a folder, or 0 if there is none. It cuts the power at every moment, and sometimes
// simulates the death of the process. Afterwards, read must return the last version that it had returned or whose write had returned, or
// a later one.
func Replaces(t *testing.T, rounds, calls int, write func(dir string, version int) error, read func(dir string) (int, error)) {
	t.Helper()
	d := Record(t)
	top := Scratch(t)
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := filepath.Join(top, fmt.Sprint(seed))
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
		d.Start(root)
		type moment struct{ at, least, most int }
		may, last := []moment{{}}, 0
		for version := 1; version <= 10; version++ {
			may = append(may, moment{d.Now(), last, version})
			if r.IntN(2) == 0 {
				d.Die(r.IntN(calls))
			}
			err := write(root, version)
			if !d.Live() {
				last = version
			} else { // the process died and is restarted
				last, err = read(root)
			}
			if err != nil {
				t.Fatalf("seed %d, version %d: %v", seed, version, err)
			}
			may = append(may, moment{d.Now(), last, version})
		}
		d.Stop()
		for i, m := range may {
			end := m.at + 1
			if i+1 < len(may) {
				end = may[i+1].at
			}
			d.Cuts(m.at, end, 4, r, func(_, _ int, cut string) error {
				got, err := read(cut)
				if err == nil && (got < m.least || got > m.most) {
					err = errors.New("the entry is too old or was never written")
				}
				if err != nil {
					err = fmt.Errorf("seed %d: version %d, want %d to %d: %w", seed, got, m.least, m.most, err)
				}
				return err
			})
		}
	}
}
