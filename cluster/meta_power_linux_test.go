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

// TestMetaPowerLoss cuts the power at every moment while a copy's state is written, and sometimes kills the process. The acknowledged
// state or a later one is there afterwards. A copy relies on the state that it reads at the start.
func TestMetaPowerLoss(t *testing.T) {
	powertest.Replaces(t, suite.Rounds(6, 60), 5, func(dir string, version int) error {
		return writeMeta(dir, replica.Meta{Epoch: uint64(version)})
	}, func(dir string) (int, error) {
		m, err := openMeta(dir)
		return int(m.Epoch), err
	})
}

// TestExchangePowerLoss cuts the power at every moment until a snapshot or a reindexed copy begins to replace a copy, and sometimes kills
// the process. Either the old copy is still there, or its successor is there and marked.
func TestExchangePowerLoss(t *testing.T) {
	d := powertest.Record(t)
	top := powertest.Scratch(t)
	for _, c := range []struct {
		name           string
		goes, comes    string // files in the old folder and in the new one
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
			d.Cuts(0, done+1, 4, r, func(_, _ int, cut string) error {
				here := filepath.Join(cut, "00")
				if !exists(filepath.Join(here, c.goes)) &&
					!(exists(filepath.Join(c.next(here), c.marker)) && exists(filepath.Join(c.next(here), c.comes))) {
					return fmt.Errorf("%s, seed %d: neither is there", c.name, seed)
				}
				return nil
			})
		}
	}
}
