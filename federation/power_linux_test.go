package federation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"concordat/crypto"
	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// TestReplaysOnTheDisk is TestReplaysPowerLoss with the system's own calls. A new file and a request that counts as run survive a power
// failure, even if the file was rewritten in between.
func TestReplaysOnTheDisk(t *testing.T) {
	if !powertest.Alone(t) {
		return
	}
	now := time.Now()
	root := t.TempDir()
	path := filepath.Join(root, "replays")
	d := powertest.Watch(t, root)
	found := func(v *crypto.Verified) begun {
		t.Helper()
		r, err := OpenReplays(filepath.Join(d.Lost(), "replays"), now)
		if err != nil {
			t.Fatal(err)
		}
		_, b := r.begin(v, now)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := CreateReplays(path); err != nil {
		t.Fatal(err)
	}
	if b := found(verified(1, now)); b != beginFresh {
		t.Fatalf("the first request after the file was made is found %d, want fresh", b)
	}
	for range 2 { // in the second round the file is rewritten
		r, err := OpenReplays(path, now)
		if err != nil {
			t.Fatal(err)
		}
		v := verified(1, now)
		e, _ := r.begin(v, now)
		if err := r.commit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if b := found(v); b != beginLost {
			t.Errorf("a request that runs is found %d, want lost", b)
		}
		if err := r.finish(e, []byte("reply")); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if b := found(v); b != beginStored {
			t.Errorf("after Close a request that was answered is found %d, want stored", b)
		}
	}
}

// TestReplaysRecordedPowerLoss cuts the power at every moment of random requests, while the process sometimes dies and the file is
// rewritten. No request that counted as run is run again. If the end of the file is torn and its sectors are out of order, this looks
// like damage, so other requests are refused for a while.
func TestReplaysRecordedPowerLoss(t *testing.T) {
	d := powertest.Record(t)
	dir := powertest.Scratch(t)
	now := time.Now()
	for seed := range uint64(suite.Rounds(2, 15)) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := filepath.Join(dir, fmt.Sprint(seed))
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
		d.Start(root)
		path := filepath.Join(root, "replays")
		if err := CreateReplays(path); err != nil {
			t.Fatal(err)
		}
		var memory *Replays
		var err error
		var run []*crypto.Verified // requests that counted as run, in order
		ran := []int{d.Now()}      // the start of each, preceded by the creation of the file
		for range 40 {
			died := false
			if r.IntN(3) == 0 {
				d.Die(r.IntN(9))
			}
			if memory == nil {
				memory, err = OpenReplays(path, now)
				if died = d.Live(); died && err == nil {
					_ = memory.Close()
				} else if !died && err != nil {
					t.Fatal(err)
				}
			} else {
				memory.most = 6000 // so that it is rewritten often
				v := verified(byte(r.IntN(8)), now)
				e, found := memory.begin(v, now)
				if found != beginFresh && found != beginFull {
					t.Fatalf("seed %d: a new request is found %d", seed, found)
				}
				if found == beginFresh {
					if err = memory.commit(t.Context(), e); err == nil {
						run, ran = append(run, v), append(ran, d.Now())
						err = memory.finish(e, make([]byte, r.IntN(800)))
					}
				}
				if died = d.Live(); !died && err != nil {
					t.Fatal(err)
				}
			}
			if died && memory != nil {
				_ = memory.file.Close()
				memory = nil
			}
		}
		done := d.Now()
		d.Stop()
		if memory != nil {
			_ = memory.file.Close()
		}
		torn := 0
		d.Cuts(ran[0], done+1, 3, r, func(at, way int, cut string) error {
			found, err := OpenReplays(filepath.Join(cut, "replays"), now)
			if err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
			for i, v := range run {
				if ran[i+1] > at {
					break
				}
				if _, b := found.begin(v, now); b != beginStored && b != beginLost {
					err = errors.Join(err, fmt.Errorf("seed %d: request %d is found %d", seed, i, b))
				}
			}
			if !found.trust.IsZero() {
				torn++
				if way == 0 {
					err = errors.Join(err, fmt.Errorf("seed %d: what was synced is taken for damaged", seed))
				}
			}
			return errors.Join(err, found.Close())
		})
		t.Logf("seed %d: %d requests, %d moments, %d torn ends", seed, len(run), done, torn)
	}
}
