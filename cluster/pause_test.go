package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/index"
)

// TestCopyAll: the store and the indexes are copied at the same moment while others write.
func TestCopyAll(t *testing.T) {
	t.Parallel()
	s := newSite(t, 4, 2, "a", "b", "c")
	s.settle(60)
	ctx, stop := context.WithCancel(t.Context())
	var wrote atomic.Int64 // as a catalogue would count it
	var at atomic.Int64    // number of the write that has begun
	done := make(chan error, 1)
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			at.Store(int64(i + 1))
			if err := s.nodes["b"].Put(t.Context(), profileOf(fmt.Sprintf("d%04d", i), "1")); err != nil {
				done <- err
				return
			}
			wrote.Store(int64(i + 1))
		}
		done <- nil
	}()
	for wrote.Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	dir := filepath.Join(t.TempDir(), "all")
	var low, high int64
	moments, err := s.nodes["a"].CopyAll(t.Context(), dir, func(context.Context) error {
		low, high = wrote.Load(), at.Load()
		time.Sleep(50 * time.Millisecond) // an unblocked write would be done in this time
		if w := wrote.Load(); w > high {
			t.Errorf("%d writes were acknowledged at the moment, %d begun", w, high)
		}
		return nil
	})
	after := wrote.Load()
	for end := time.Now().Add(5 * time.Minute); wrote.Load() <= after && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // writes continue
	}
	if wrote.Load() <= after {
		t.Error("writes do not go on after the moment")
	}
	stop()
	s.must(errors.Join(err, <-done))
	held := 0
	for _, m := range moments {
		held += m.Documents
		ix, err := index.Open(filepath.Join(dir, string(m.Shard)), index.Options{ReadOnly: true})
		s.must(err)
		if got := len(ix.Refs()); got != m.Documents {
			t.Errorf("shard %s: %d documents, want %d", m.Shard, got, m.Documents)
		}
		s.must(ix.Close())
	}
	if len(moments) != 4 || int64(held) < low || int64(held) > low+1 {
		t.Errorf("%d shards with %d documents; %d were acknowledged at the moment", len(moments), held, low)
	}
	// If a master changes at the moment, the new one may not have blocked its writes.
	if _, err := s.nodes["a"].CopyAll(t.Context(), filepath.Join(t.TempDir(), "w"), func(context.Context) error {
		v, _ := s.nodes["a"].View()
		was := v.Shards["00"]
		s.copy(was.ISR[0], "00").StepDown()
		s.until("a", "another master", func(st coord.Shard) bool { return st.Epoch > was.Epoch })
		return nil
	}); !errors.Is(err, concordat.ErrUnavailable) || !strings.Contains(err.Error(), "the master of shard 00 changed") {
		t.Errorf("while a master changed: %v", err)
	}
	s.await()
	// If the caller fails, writes continue, and the copy is discarded.
	wrong := errors.New("wrong")
	if _, err := s.nodes["a"].CopyAll(t.Context(), filepath.Join(t.TempDir(), "x"),
		func(context.Context) error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	s.must(s.nodes["c"].Put(t.Context(), profileOf("last", "1")))
	// A backup needs a master for every shard.
	s.stop("b")
	s.stop("c")
	if _, err := s.nodes["a"].CopyAll(t.Context(), filepath.Join(t.TempDir(), "y"),
		func(context.Context) error { return nil }); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("without all shards: %v", err)
	}
}
