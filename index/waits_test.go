package index

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"concordat"
	"concordat/internal/indextest"
)

// openLogged opens a shard that mirrors a log.
func openLogged(t *testing.T) *Shard {
	t.Helper()
	o := testOptions
	o.Logged = true
	return open(t, t.TempDir(), o)
}

// TestCloseDuringPurge: a Close that begins during Purge waits for it, and Purge does not wait for the Close.
func TestCloseDuringPurge(t *testing.T) {
	s := openLogged(t)
	change := Change{Put: indextest.NewGenerator(1, 3).Profile("l", "d", 30)}
	if err := s.Apply(t.Context(), []Change{change}, Applied{Seq: 1}); err != nil {
		t.Fatal(err)
	}
	s.merging.Lock() // Purge has begun and waits here
	purged, closed := make(chan error, 1), make(chan error, 1)
	go func() { purged <- s.Purge(t.Context()) }()
	for s.using.TryLock() {
		s.using.Unlock()
		runtime.Gosched()
	}
	go func() { closed <- s.Close() }()
	for s.using.TryRLock() { // fails as soon as Close is waiting
		s.using.RUnlock()
		runtime.Gosched()
	}
	s.merging.Unlock()
	if err := errors.Join(<-purged, <-closed); err != nil {
		t.Error(err)
	}
}

// TestApplyEnds: an Apply waiting for a disk that might never have space ends with its context.
func TestApplyEnds(t *testing.T) {
	s := openLogged(t)
	s.logged.mu.Lock()
	s.logged.batches += 2 * hurryBatches // as if the persister made no progress
	s.logged.mu.Unlock()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.Apply(ctx, []Change{{Delete: concordat.Ref{Site: indextest.Site, Library: "l", Document: "d"}}}, Applied{Seq: 1})
	}()
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}
