package instance_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"concordat/instance"
	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// TestReindexPowerLoss cuts the power at every moment while a new index takes the place of the old one, with the process dying now and
// then: the next start finds the old index or the new one, and the new one once the exchange has returned.
func TestReindexPowerLoss(t *testing.T) {
	d := powertest.Record(t)
	dir, err := os.MkdirTemp("/dev/shm", "instance-") // in memory: that is faster
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for seed := range uint64(suite.Rounds(4, 40)) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := filepath.Join(dir, fmt.Sprint(seed))
		build := func(name string) { // a shard, as the index makes it
			shard := filepath.Join(root, name, "00")
			if err := errors.Join(os.MkdirAll(shard, 0o700), os.WriteFile(filepath.Join(shard, "name"), []byte(name), 0o600)); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{filepath.Join(shard, "name"), shard} {
				f, err := os.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(f.Sync(), f.Close()); err != nil {
					t.Fatal(err)
				}
			}
		}
		build(instance.IndexName)
		d.Start(root)
		build(instance.NewIndexName)
		for acts := []func(string) error{instance.MarkReindexed, instance.FinishReindex}; len(acts) > 0; {
			died := r.IntN(2) == 0
			if died {
				d.Die(r.IntN(12))
			}
			err := acts[0](root)
			switch died = d.Live(); {
			case !died && err != nil:
				t.Fatal(err)
			case !died:
				acts = acts[1:]
			case len(acts) == 2: // the new index may be marked
				if _, err := os.Stat(filepath.Join(root, instance.NewIndexName, instance.CompleteName)); err == nil {
					acts = acts[1:]
				}
			}
		}
		done := d.Now()
		d.Stop()
		failed := make(chan error)
		go func() { // its calls are not recorded
			var all error
			for at := range done + 1 {
				for way := range 4 {
					var how *rand.Rand
					if way > 0 {
						how = r
					}
					cut := filepath.Join(dir, fmt.Sprint("cut", seed, "-", at))
					err := errors.Join(d.Cut(at, how, cut), instance.FinishReindex(cut))
					got, readErr := os.ReadFile(filepath.Join(cut, instance.IndexName, "00", "name"))
					if name := string(got); err != nil || name != instance.NewIndexName && (name != instance.IndexName || at == done) {
						all = errors.Join(all, fmt.Errorf("seed %d, power lost at %d of %d: %q: %w", seed, at, done, got, errors.Join(err, readErr)))
					}
					for _, name := range []string{instance.NewIndexName, instance.OldIndexName} {
						if _, err := os.Lstat(filepath.Join(cut, name)); !errors.Is(err, fs.ErrNotExist) {
							all = errors.Join(all, fmt.Errorf("seed %d, power lost at %d of %d: %s is left, %w", seed, at, done, name, err))
						}
					}
					all = errors.Join(all, os.RemoveAll(cut))
				}
			}
			failed <- all
		}()
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}
