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
