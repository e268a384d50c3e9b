package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/powertest"
	"concordat/internal/suite"
	"concordat/store"
)

// TestFilesPowerLoss cuts the power at every moment while originals are stored and erased, and sometimes kills the process. Stored files
// are there, erased files are not, and no file has anything but its content.
func TestFilesPowerLoss(t *testing.T) {
	type outcome int
	const (
		unknown outcome = iota
		stored
		erased
	)
	contents := []string{strings.Repeat("one ", 400), strings.Repeat("another ", 100), "short"}
	hashes := make([]string, len(contents))
	for i, c := range contents {
		sum := sha256.Sum256([]byte(c))
		hashes[i] = hex.EncodeToString(sum[:])
	}
	d := powertest.Record(t)
	top := powertest.Scratch(t)
	for seed := range uint64(suite.Rounds(12, 120)) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := filepath.Join(top, fmt.Sprint(seed))
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
		d.Start(root)
		f := store.OpenFiles(filepath.Join(root, "originals"))
		known := make([]outcome, len(contents))
		type moment struct {
			at    int
			known []outcome
		}
		moments := []moment{{0, append([]outcome{}, known...)}}
		for range 8 {
			i, put := r.IntN(len(contents)), r.IntN(3) > 0
			want := erased
			if put {
				want = stored
			}
			if known[i] != want { // from the beginning of the call
				known[i] = unknown
				moments = append(moments, moment{d.Now(), append([]outcome{}, known...)})
			}
			if r.IntN(2) == 0 {
				d.Die(r.IntN(12))
			}
			var err error
			if put {
				_, _, err = f.Put(t.Context(), strings.NewReader(contents[i]), 1<<20)
			} else {
				_, err = f.Erase(t.Context(), "", hashes[i:i+1])
			}
			switch died := d.Live(); {
			case err == nil:
				known[i] = want
			case !died:
				t.Fatalf("seed %d: %v", seed, err)
			}
			moments = append(moments, moment{d.Now(), append([]outcome{}, known...)})
		}
		end := d.Now()
		d.Stop()
		for n, m := range moments {
			until := end + 1
			if n+1 < len(moments) {
				until = moments[n+1].at
			}
			d.Cuts(m.at, until, 3, r, func(_, _ int, cut string) error {
				var all error
				f := store.OpenFiles(filepath.Join(cut, "originals"))
				for i, hash := range hashes {
					path, err := f.Path(hash)
					switch there := err == nil; {
					case err != nil && !errors.Is(err, concordat.ErrNotFound):
						all = errors.Join(all, err)
					case there && m.known[i] == erased:
						all = errors.Join(all, fmt.Errorf("seed %d: file %d was erased and is there", seed, i))
					case !there && m.known[i] == stored:
						all = errors.Join(all, fmt.Errorf("seed %d: file %d was stored and is gone", seed, i))
					case there:
						if b, err := os.ReadFile(path); err != nil || string(b) != contents[i] {
							all = errors.Join(all, fmt.Errorf("seed %d: file %d has %d bytes that are not its content: %w", seed, i, len(b), err))
						}
					}
				}
				return all
			})
		}
	}
}
