package federation

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
)

// TestTurnstile: places are given in turn to the partners that wait, not to the requests.
func TestTurnstile(t *testing.T) {
	a, b := crypto.SiteID{1}, crypto.SiteID{2}
	s := newTurnstile(1, 1, 3)
	ctx := t.Context()
	if err := s.enter(ctx, a); err != nil {
		t.Fatal(err)
	}
	entered := make(chan crypto.SiteID, 10)
	wait := func(site crypto.SiteID) {
		s.mu.Lock()
		before := 0
		if l := s.lines[site]; l != nil {
			before = len(l.queue)
		}
		s.mu.Unlock()
		go func() {
			if s.enter(ctx, site) == nil {
				entered <- site
			}
		}()
		for {
			s.mu.Lock()
			l := s.lines[site]
			queued := l != nil && len(l.queue) > before
			s.mu.Unlock()
			if queued {
				return
			}
		}
	}
	wait(a)
	wait(a)
	wait(a)
	wait(b)
	if err := s.enter(ctx, a); !errors.Is(err, errBusy) {
		t.Errorf("a fourth waiting request: error %v, want errBusy", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.enter(cancelled, b); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	last := a
	var got []crypto.SiteID
	for range 4 {
		s.leave(last)
		last = <-entered
		got = append(got, last)
	}
	s.leave(last)
	if want := []crypto.SiteID{a, b, a, a}; !equal(got, want) {
		t.Errorf("entered in the order %v, want %v", got, want)
	}
	if len(s.lines) != 0 || len(s.ring) != 0 || s.free != 1 {
		t.Errorf("left behind: %d lines, %d in the ring, %d places", len(s.lines), len(s.ring), s.free)
	}
}

func equal(a, b []crypto.SiteID) bool {
	for i := range a {
		if len(a) != len(b) || a[i] != b[i] {
			return false
		}
	}
	return true
}

func openReplays(t *testing.T, now time.Time) *Replays {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replays")
	if err := CreateReplays(path); err != nil {
		t.Fatal(err)
	}
	if err := CreateReplays(path); !errors.Is(err, concordat.ErrExists) {
		t.Errorf("created twice: error %v, want ErrExists", err)
	}
	r, err := OpenReplays(path, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func verified(from byte, now time.Time) *crypto.Verified {
	v := &crypto.Verified{Until: now.Add(time.Minute)}
	v.From = crypto.SiteID{from}
	v.Issued = now
	_, _ = rand.Read(v.ID[:])
	_, _ = rand.Read(v.Digest[:])
	return v
}

// TestReplaysBounded: expired entries leave the file, one partner cannot fill it for the others, and the
// replies survive all that, in this process and in the next one.
func TestReplaysBounded(t *testing.T) {
	now := time.Now()
	r := openReplays(t, now)
	r.most = 1 << 20
	reply := func(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, 10_000) }
	run := func(from byte, i int) (*crypto.Verified, begun) {
		t.Helper()
		v := verified(from, now)
		e, found := r.begin(v, now)
		if found != beginFresh {
			return v, found
		}
		if err := errors.Join(r.commit(e), r.finish(e, reply(i))); err != nil {
			t.Fatal(err)
		}
		return v, found
	}
	for i := range 300 {
		if _, found := run(1, i); found == beginFull {
			if i < 20 || i > 30 {
				t.Fatalf("full after %d replies of 10,000 bytes, want a quarter of 1 MiB", i)
			}
			break
		}
	}
	kept, found := run(2, 7)
	if found != beginFresh {
		t.Fatalf("another partner: found %d, want fresh", found)
	}
	now = now.Add(30 * time.Second)
	later := map[*crypto.Verified]int{}
	for i := range 10 {
		v, _ := run(2, i)
		later[v] = i
	}
	now = now.Add(45 * time.Second) // the first ones are over
	grown := int64(0)
	for i := range 200 {
		if _, found := run(3, i); found == beginFull {
			now = now.Add(2 * time.Minute)
			later = map[*crypto.Verified]int{}
		}
		grown = max(grown, r.size)
	}
	if grown > r.most {
		t.Errorf("the file grew to %d bytes, at most %d", grown, r.most)
	}
	if _, found := r.begin(kept, now); found == beginStored {
		t.Error("an entry that is over is still there")
	}
	last := map[*crypto.Verified]int{}
	for i := range 5 {
		v, found := run(4, i)
		if found != beginFresh {
			t.Fatalf("found %d", found)
		}
		last[v] = i
	}
	check := func(r *Replays) {
		t.Helper()
		for v, i := range last {
			e, found := r.begin(v, now)
			if found != beginStored {
				t.Fatalf("found %d, want stored", found)
			}
			if got, err := r.reply(e); err != nil || !bytes.Equal(got, reply(i)) {
				t.Errorf("another reply than was kept, error %v", err)
			}
		}
	}
	check(r)
	next, err := OpenReplays(r.path, now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = next.Close() }()
	check(next)
	files, err := os.ReadDir(filepath.Dir(r.path))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files beside each other, error %v", len(files), err)
	}
}
