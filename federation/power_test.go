package federation

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"concordat/crypto"
	"concordat/internal/powertest"
)

func diskOf(d *powertest.Disk) disk { return disk{sync: d.Sync, syncDir: d.SyncDir, rename: d.Rename} }

// afterPowerLoss returns the requests that a site would find if its power failed now.
func afterPowerLoss(t *testing.T, d *powertest.Disk, path string, now time.Time) *Replays {
	t.Helper()
	r, err := OpenReplays(filepath.Join(d.Lost(), filepath.Base(path)), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestReplaysPowerLoss cuts the power after each request that counts as run. No such request runs again, although the file was rewritten
// many times in the meantime. A new site's file survives, too.
func TestReplaysPowerLoss(t *testing.T) {
	now := time.Now()
	dir := t.TempDir()
	path := filepath.Join(dir, "replays")
	d := powertest.New(t, dir)
	if err := createReplays(path, diskOf(d)); err != nil {
		t.Fatal(err)
	}
	if _, found := afterPowerLoss(t, d, path, now).begin(verified(1, now), now); found != beginFresh {
		t.Fatalf("the file was lost as soon as it was made: the first request is found %d, want fresh", found)
	}
	r, err := openReplays(path, now, diskOf(d))
	if err != nil {
		t.Fatal(err)
	}
	r.most = 40_000
	var run []*crypto.Verified
	for i := range 60 {
		v := verified(byte(i%4), now)
		e, found := r.begin(v, now)
		if found != beginFresh {
			t.Fatalf("request %d is found %d, want fresh", i, found)
		}
		if err := r.commit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		run = append(run, v)
		after := afterPowerLoss(t, d, path, now)
		for j, v := range run {
			if _, found := after.begin(v, now); found == beginFresh || found == beginRunning {
				t.Fatalf("power lost as request %d runs: request %d is run again", i, j)
			}
		}
		if _, found := after.begin(verified(1, now.Add(time.Second)), now.Add(time.Second)); found == beginEarly {
			t.Fatalf("power lost as request %d runs: the file is damaged", i)
		}
		if err := r.finish(e, make([]byte, 2000)); err != nil {
			t.Fatal(err)
		}
	}
	if r.written < 3 {
		t.Fatalf("the file was rewritten %d times, too seldom for this test", r.written)
	}
	last, lastPath := run[len(run)-1], path
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, found := afterPowerLoss(t, d, lastPath, now).begin(last, now); found != beginStored {
		t.Errorf("power lost after the file was closed: the last reply is found %d, want stored", found)
	}
}

// TestReplaysFailingDisk: a disk error is reported; the request does not run, or the file is not created or opened.
func TestReplaysFailingDisk(t *testing.T) {
	broken := errors.New("input/output error")
	now := time.Now()
	for _, step := range []string{powertest.Sync, powertest.SyncDir} {
		dir := t.TempDir()
		d := powertest.New(t, dir)
		d.Fail(step, broken)
		if err := createReplays(filepath.Join(dir, "replays"), diskOf(d)); !errors.Is(err, broken) {
			t.Errorf("%s fails: created with error %v", step, err)
		}
	}
	for _, step := range []string{powertest.Sync, powertest.Rename, powertest.SyncDir} {
		dir := t.TempDir()
		path := filepath.Join(dir, "replays")
		d := powertest.New(t, dir)
		if err := createReplays(path, diskOf(d)); err != nil {
			t.Fatal(err)
		}
		d.Fail(step, broken)
		if _, err := openReplays(path, now, diskOf(d)); !errors.Is(err, broken) {
			t.Errorf("%s fails: opened with error %v", step, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Errorf("%s fails: %d files are left, error %v", step, len(files), err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "replays")
	d := powertest.New(t, dir)
	if err := createReplays(path, diskOf(d)); err != nil {
		t.Fatal(err)
	}
	r, err := openReplays(path, now, diskOf(d))
	if err != nil {
		t.Fatal(err)
	}
	e, _ := r.begin(verified(1, now), now)
	d.Fail(powertest.Sync, broken)
	if err := r.commit(t.Context(), e); !errors.Is(err, broken) {
		t.Errorf("a request counts as run with error %v, though it is not on the disk", err)
	}
	if err := r.Close(); !errors.Is(err, broken) {
		t.Errorf("closed with error %v", err)
	}
}

// TestReplaysFull: a partner that has filled its share, or every partner once all shares are full, is told to retry later; a request that
// would be forgotten does not run.
func TestReplaysFull(t *testing.T) {
	now := time.Now()
	r := replaysOf(t, now)
	r.most = 1 << 16
	fill := func(from byte) {
		t.Helper()
		for range 1000 {
			e, found := r.begin(verified(from, now), now)
			if found == beginFull {
				return
			}
			if found != beginFresh {
				t.Fatalf("found %d", found)
			}
			if err := r.commit(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if err := r.finish(e, nil); err != nil {
				t.Fatal(err)
			}
		}
		t.Fatalf("partner %d is never told that its share is full", from)
	}
	fill(1)
	if got, most := r.bytes[crypto.SiteID{1}], r.most/replayShare; got < most || got > most+replayHead+4 {
		t.Errorf("a partner filled %d bytes, its share is %d", got, most)
	}
	for from := range byte(replayShare) {
		fill(from + 1)
	}
	if _, found := r.begin(verified(100, now), now); found != beginFull {
		t.Errorf("all is full, and a new partner's request is found %d, want full", found)
	}
	now = now.Add(2 * time.Minute)
	if _, found := r.begin(verified(1, now), now); found != beginFresh {
		t.Errorf("all that is over: found %d, want fresh", found)
	}
}

// TestReplaysManyPartners: if partners that each keep within their share fill the file together, replies of the largest users are
// dropped, and another partner's request runs.
func TestReplaysManyPartners(t *testing.T) {
	now := time.Now()
	r := replaysOf(t, now)
	r.most = 1 << 16
	first := map[byte]*crypto.Verified{}
	run := func(from byte, reply int) begun {
		t.Helper()
		v := verified(from, now)
		e, found := r.begin(v, now)
		if found != beginFresh {
			return found
		}
		if err := errors.Join(r.commit(t.Context(), e), r.finish(e, make([]byte, reply))); err != nil {
			t.Fatal(err)
		}
		if first[from] == nil {
			first[from] = v
		}
		return found
	}
	run(100, 50) // this partner stores little
	for range 3 * replayShare {
		for from := range byte(2 * replayShare) {
			run(from+1, 1000)
		}
	}
	for range 20 {
		if found := run(101, 1000); found != beginFresh {
			t.Fatalf("among partners that fill the file a request is found %d, want fresh", found)
		}
	}
	if _, found := r.begin(first[100], now); found != beginStored {
		t.Errorf("the reply of who has little is found %d, want stored", found)
	}
	if _, found := r.begin(first[1], now); found != beginLost {
		t.Errorf("the oldest reply of who has much is found %d, want lost", found)
	}
	if r.live > r.most+2000 || r.live != sizeOf(r) {
		t.Errorf("%d bytes, %d of the entries, at most %d", r.live, sizeOf(r), r.most)
	}
}

// TestReplaysFullOfReplies: a partner whose requests alone fill its share loses all its replies and nothing else.
func TestReplaysFullOfReplies(t *testing.T) {
	now := time.Now()
	r := replaysOf(t, now)
	r.most = 1 << 13
	var run []*crypto.Verified
	for range 1000 {
		v := verified(1, now)
		e, found := r.begin(v, now)
		if found == beginFull {
			break
		}
		if err := errors.Join(r.commit(t.Context(), e), r.finish(e, []byte("reply"))); err != nil {
			t.Fatal(err)
		}
		run = append(run, v)
	}
	for i, v := range run {
		if _, found := r.begin(v, now); found != beginLost {
			t.Errorf("request %d of %d is found %d, want lost", i, len(run), found)
		}
	}
	if r.bytes[crypto.SiteID{1}] < r.most/replayShare || r.live != sizeOf(r) {
		t.Errorf("%d bytes of the partner, %d in all, %d of the entries", r.bytes[crypto.SiteID{1}], r.live, sizeOf(r))
	}
}

// TestReplaysOvertaken: a caller that waits for a file returns when the file is rewritten. This says nothing about the new file, where a
// request is on disk only after its own sync.
func TestReplaysOvertaken(t *testing.T) {
	now := time.Now()
	dir := t.TempDir()
	path := filepath.Join(dir, "replays")
	d := powertest.New(t, dir)
	if err := createReplays(path, diskOf(d)); err != nil {
		t.Fatal(err)
	}
	r, err := openReplays(path, now, diskOf(d))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.file.Close() }()
	before := mark{r.written, r.size}
	r.mu.Lock()
	err = r.rewrite()
	r.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	v := verified(1, now)
	e, _ := r.begin(v, now)
	r.mu.Lock()
	err = r.append(recordBegun, e, nil)
	own := mark{r.written, r.size}
	r.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("input/output error")
	d.Fail(powertest.Sync, broken)
	if err := r.sync(before); err != nil {
		t.Errorf("a mark in the file before: error %v, and all of that is in the new one", err)
	}
	if err := r.sync(own); !errors.Is(err, broken) {
		t.Errorf("a request that is not on the disk counts as run, error %v", err)
	}
}

// TestReplaysReopened: a reopened file counts its entries once, and forgets them when they expire.
func TestReplaysReopened(t *testing.T) {
	now := time.Now()
	r := replaysOf(t, now)
	var run []*crypto.Verified
	for i := range 5 {
		v := verified(byte(i%2), now)
		e, _ := r.begin(v, now)
		if err := errors.Join(r.commit(t.Context(), e), r.finish(e, make([]byte, 500))); err != nil {
			t.Fatal(err)
		}
		run = append(run, v)
	}
	live := r.live
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := OpenReplays(r.path, now)
	if err != nil {
		t.Fatal(err)
	}
	if next.live != live || next.live != sizeOf(next) || len(next.bytes) != 2 ||
		next.bytes[crypto.SiteID{0}]+next.bytes[crypto.SiteID{1}] != live {
		t.Errorf("%d bytes are counted, of partners %v, want %d", next.live, next.bytes, live)
	}
	other := *run[0]
	other.Digest[0] ^= 1
	if _, found := next.begin(&other, now); found != beginOther {
		t.Errorf("other bytes under the name of a request: found %d, want other", found)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	late, err := OpenReplays(r.path, now.Add(2*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = late.Close() }()
	if len(late.entries) != 0 || late.live != 0 || len(late.bytes) != 0 || len(late.replies) != 0 || late.size != int64(len(replayMagic)) {
		t.Errorf("when all is over: %d entries, %d bytes, a file of %d", len(late.entries), late.live, late.size)
	}
}

// TestReplaysLost: requests that could have been accepted before a file was lost are refused after any number of starts, not only after
// the first.
func TestReplaysLost(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"missing": os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("CRPL\x02"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			r := replaysOf(t, now)
			v := verified(1, now)
			v.Until = now.Add(crypto.MaxTTL)
			e, _ := r.begin(v, now)
			if err := errors.Join(r.commit(t.Context(), e), r.finish(e, []byte("reply")), r.Close(), lose(r.path)); err != nil {
				t.Fatal(err)
			}
			for start := range 3 {
				now = now.Add(time.Second)
				next, err := OpenReplays(r.path, now)
				if err != nil {
					t.Fatal(err)
				}
				if _, found := next.begin(v, now); found != beginEarly {
					t.Errorf("start %d: a request that ran before the file was lost is found %d, want early", start, found)
				}
				later := verified(1, next.trust.Add(time.Millisecond))
				if _, found := next.begin(later, now); found != beginFresh {
					t.Errorf("start %d: a request that was issued later is found %d, want fresh", start, found)
				}
				if err := next.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestReplaysNotWritten: a request does not run if it cannot be written, or if the file cannot be rewritten for it.
func TestReplaysNotWritten(t *testing.T) {
	now := time.Now()
	broken := errors.New("input/output error")
	dir := t.TempDir()
	path := filepath.Join(dir, "replays")
	d := powertest.New(t, dir)
	if err := createReplays(path, diskOf(d)); err != nil {
		t.Fatal(err)
	}
	r, err := openReplays(path, now, diskOf(d))
	if err != nil {
		t.Fatal(err)
	}
	r.most = 1
	d.Fail(powertest.Rename, broken)
	e := &replay{done: make(chan struct{})}
	if err := r.commit(t.Context(), e); !errors.Is(err, broken) {
		t.Errorf("the file cannot be rewritten: error %v", err)
	}
	r.most = 1 << 20
	if err := r.commit(t.Context(), e); err != nil {
		t.Errorf("the old file is there: error %v", err)
	}
	_ = r.file.Close()
	if err := r.commit(t.Context(), e); !errors.Is(err, os.ErrClosed) {
		t.Errorf("nothing can be written: error %v", err)
	}
	if err := r.finish(e, []byte("reply")); !errors.Is(err, os.ErrClosed) || e.state != replayLost {
		t.Errorf("a reply that cannot be written: error %v, state %d", err, e.state)
	}
	if b, err := r.reply(&replay{offset: 5, length: 5}); !errors.Is(err, os.ErrClosed) || b != nil {
		t.Errorf("a reply that cannot be read: %q, error %v", b, err)
	}
}
