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

// TestReindexPowerLoss cuts the power at every moment while a new index replaces the old one, and sometimes kills the process. The next
// start finds the old index or the new one, and always the new one once the exchange has returned.
func TestReindexPowerLoss(t *testing.T) {
	d := powertest.Record(t)
	dir := powertest.Scratch(t)
	for seed := range uint64(suite.Rounds(4, 40)) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := filepath.Join(dir, fmt.Sprint(seed))
		build := func(name string) { // a shard in the form that the index has
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
		d.Cuts(0, done+1, 4, r, func(at, _ int, cut string) error {
			err := instance.FinishReindex(cut)
			got, readErr := os.ReadFile(filepath.Join(cut, instance.IndexName, "00", "name"))
			if name := string(got); err != nil || name != instance.NewIndexName && (name != instance.IndexName || at == done) {
				err = fmt.Errorf("seed %d: %q: %w", seed, got, errors.Join(err, readErr))
			}
			for _, name := range []string{instance.NewIndexName, instance.OldIndexName} {
				if _, there := os.Lstat(filepath.Join(cut, name)); !errors.Is(there, fs.ErrNotExist) {
					err = errors.Join(err, fmt.Errorf("seed %d: %s is left, %w", seed, name, there))
				}
			}
			return err
		})
	}
}
