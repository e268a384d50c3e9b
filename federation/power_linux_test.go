package federation

import (
	"path/filepath"
	"testing"
	"time"

	"concordat/crypto"
	"concordat/internal/powertest"
)

// TestReplaysOnTheDisk is TestReplaysPowerLoss with the system's own calls: an existing file, and a request that counts as run,
// survive a power failure, even if the file was rewritten in between.
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
	for range 2 { // the second time it is rewritten
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
