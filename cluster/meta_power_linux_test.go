package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"concordat/cluster/replica"
	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// TestMetaPowerLoss cuts the power at every moment while a copy's state is written, with the process dying now and then:
// either the acknowledged state is there or one that was written after it. A copy relies on what it reads when it starts.
func TestMetaPowerLoss(t *testing.T) {
	d := powertest.Record(t)
	dir := t.TempDir()
	for seed := range uint64(suite.Rounds(6, 60)) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := filepath.Join(dir, fmt.Sprint(seed))
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
		d.Start(root)
		type moment struct{ at, least, most int }
		may := []moment{{}}
		epoch, acknowledged := 0, 0
		for range 10 {
			epoch++
			may = append(may, moment{d.Now(), acknowledged, epoch})
			if r.IntN(2) == 0 {
				d.Die(r.IntN(5))
			}
			err := writeMeta(root, replica.Meta{Epoch: uint64(epoch)})
			if !d.Live() {
				if err != nil {
					t.Fatal(err)
				}
				acknowledged = epoch
			} else { // and is started again
				m, err := openMeta(root)
				if err != nil {
					t.Fatal(err)
				}
				acknowledged = int(m.Epoch)
			}
			may = append(may, moment{d.Now(), acknowledged, epoch})
		}
		d.Stop()
		done := make(chan error)
		go func() { // its calls are not recorded
			var all error
			for i, m := range may {
				end := m.at + 1
				if i+1 < len(may) {
					end = may[i+1].at
				}
				for at := m.at; at < end; at++ {
					cut := filepath.Join(dir, fmt.Sprint("cut", seed, "-", at))
					for way := range 4 {
						var how *rand.Rand
						if way > 0 {
							how = r
						}
						err := d.Cut(at, how, cut)
						got, readErr := readMeta(cut)
						if readErr != nil || int(got.Epoch) < m.least || int(got.Epoch) > m.most {
							all = errors.Join(all, fmt.Errorf("seed %d, power lost at %d: epoch %d, want %d to %d: %w", seed, at, got.Epoch,
								m.least, m.most, readErr))
						}
						all = errors.Join(all, err, os.RemoveAll(cut))
					}
				}
			}
			done <- all
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// TestExchangePowerLoss cuts the power at every moment until a snapshot, or a reindexed copy, begins to take the place of a copy, with
// the process dying now and then: what is to be removed is still there, or its successor is, and is marked.
func TestExchangePowerLoss(t *testing.T) {
	d := powertest.Record(t)
	top, err := os.MkdirTemp("/dev/shm", "exchange-") // in memory: that is faster
	if err != nil {
		top = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	for _, c := range []struct {
		name           string
		goes, comes    string // files, in the old folder and the new one
		next           func(dir string) string
		marker         string
		mark, exchange func(dir string) error
	}{
		{"snapshot", filepath.Join(logName, "x"), "shard.json", snapshotDir, markerName, writeMarker, finishInstall},
		{"reindex", filepath.Join("store", "x"), filepath.Join("store", "x"), func(dir string) string { return dir + reindexSuffix },
			reindexMarker, func(dir string) error {
				next := dir + reindexSuffix
				return errors.Join(os.WriteFile(filepath.Join(next, reindexMarker), nil, 0o600), syncDir(next))
			}, finishReindex},
	} {
		for seed := range uint64(suite.Rounds(40, 300)) {
			r := rand.New(rand.NewPCG(seed, 1))
			root := filepath.Join(top, fmt.Sprint(c.name, seed))
			dir := filepath.Join(root, "00")
			put := func(path string) error {
				return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), syncDir(filepath.Dir(path)))
			}
			if err := errors.Join(os.Mkdir(root, 0o700), put(filepath.Join(dir, c.goes))); err != nil {
				t.Fatal(err)
			}
			d.Start(root)
			if err := errors.Join(put(filepath.Join(c.next(dir), c.comes)), syncDir(c.next(dir))); err != nil {
				t.Fatal(err)
			}
			d.Die(r.IntN(5))
			_ = c.mark(dir)
			d.Live()
			if exists(filepath.Join(c.next(dir), c.marker)) {
				d.Die(r.IntN(14))
				_ = c.exchange(dir)
				d.Live()
			}
			moved, done := !exists(filepath.Join(c.next(dir), c.comes)), d.Now()
			d.Stop()
			if moved {
				continue
			}
			failed := make(chan error)
			go func() { // its calls are not recorded
				var all error
				for at := range done + 1 {
					for way := range 4 {
						var how *rand.Rand
						if way > 0 {
							how = r
						}
						cut := filepath.Join(top, "cut")
						err := d.Cut(at, how, cut)
						here := filepath.Join(cut, "00")
						if err == nil && !exists(filepath.Join(here, c.goes)) &&
							!(exists(filepath.Join(c.next(here), c.marker)) && exists(filepath.Join(c.next(here), c.comes))) {
							err = fmt.Errorf("%s, seed %d, power lost at %d of %d: neither is there", c.name, seed, at, done)
						}
						all = errors.Join(all, err, os.RemoveAll(cut))
					}
				}
				failed <- all
			}()
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		}
	}
}
