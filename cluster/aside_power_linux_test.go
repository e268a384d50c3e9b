package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// TestAsidePowerLoss cuts the power at every moment while a copy is put aside and another begins in its place, and sometimes kills the
// process. The copy's contents survive, in their old place or aside with the reason, and are aside once putAside has returned.
func TestAsidePowerLoss(t *testing.T) {
	d := powertest.Record(t)
	top := powertest.Scratch(t)
	for seed := range uint64(suite.Rounds(6, 60)) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := filepath.Join(top, fmt.Sprint(seed))
		dir := filepath.Join(root, "00")
		fill := func(generation int) error { // a copy, on disk
			err := os.MkdirAll(filepath.Join(dir, logName), 0o700)
			return errors.Join(err, replaceFile(filepath.Join(dir, logName, "x"), []byte{byte(generation)}),
				replaceFile(filepath.Join(dir, "shard.json"), []byte{byte(generation)}), syncDir(dir), syncDir(root))
		}
		whole := func(dir string, generation int) bool {
			for _, name := range []string{filepath.Join(logName, "x"), "shard.json"} {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != string([]byte{byte(generation)}) {
					return false
				}
			}
			return true
		}
		if err := errors.Join(os.Mkdir(root, 0o700), fill(1)); err != nil {
			t.Fatal(err)
		}
		d.Start(root)
		type moment struct{ at, whole, aside int } // number of copies that are anywhere, and number of these that are aside
		moments := []moment{{0, 1, 0}}
		for generation := 1; generation <= 3; generation++ {
			for aside := false; !aside; {
				if r.IntN(2) == 0 {
					d.Die(r.IntN(12))
				}
				err := putAside(slog.New(slog.DiscardHandler), root, "00", fmt.Sprint("reason ", generation))
				died := d.Live()
				if err != nil && !died {
					t.Fatalf("seed %d: %v", seed, err)
				}
				// A restarted process finds its copy lost and creates another.
				if aside = !exists(dir); aside && err == nil {
					moments = append(moments, moment{d.Now(), generation, generation})
				}
			}
			if err := fill(generation + 1); err != nil {
				t.Fatal(err)
			}
			moments = append(moments, moment{d.Now(), generation + 1, generation})
		}
		end := d.Now()
		d.Stop()
		for n, m := range moments {
			until := end + 1
			if n+1 < len(moments) {
				until = moments[n+1].at
			}
			d.Cuts(m.at, until, 4, r, func(_, _ int, cut string) error {
				asides, err := Asides(cut)
				for generation := 1; generation <= m.whole && err == nil; generation++ {
					aside := slices.ContainsFunc(asides, func(a Aside) bool {
						return a.Reason == fmt.Sprint("reason ", generation) && whole(a.Folder, generation)
					})
					if !aside && (generation <= m.aside || !whole(filepath.Join(cut, "00"), generation)) {
						err = fmt.Errorf("seed %d: copy %d is gone, of %v", seed, generation, asides)
					}
				}
				return err
			})
		}
	}
}
