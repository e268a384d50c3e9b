package cluster_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/internal/cputime"
)

// TestClocks: the last write wins, whichever node it went through and however wrong the nodes' clocks are.
func TestClocks(t *testing.T) {
	t.Parallel()
	s := &testSite{clocks: map[coord.NodeID]func() time.Time{
		"a": func() time.Time { return time.Now().Add(3 * time.Hour) },
		"c": func() time.Time { return time.Now().Add(-20 * 365 * 24 * time.Hour) },
	}}
	s.found(t, 1, 3, "a", "b", "c")
	s.settle(60)
	for i, n := range []coord.NodeID{"a", "b", "c", "b", "a", "c", "c", "b"} {
		if i == 4 {
			s.must(s.nodes["a"].Delete(t.Context(), refOf("d")))
		}
		want := fmt.Sprint("text ", i)
		s.must(s.nodes[n].Put(t.Context(), profileOf("d", want)))
		s.same(map[string]string{"d": want})
	}
	s.must(s.nodes["c"].Delete(t.Context(), refOf("d")))
	s.same(map[string]string{"d": "none"})
}

// TestRevisionsSurvive: a write that was in progress when the master's process ended, or while a snapshot made a copy, is still refused
// as too late.
func TestRevisionsSurvive(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, 2, "a", "b")
	s.settle(60)
	id := cluster.ShardName(0)
	hung := cluster.Revision(s.nodes["a"].Node) // drawn just before the process pauses
	for i := range 30 {
		s.must(s.nodes["b"].Put(t.Context(), profileOf(fmt.Sprint(i), "new")))
	}
	s.must(s.nodes["b"].Delete(t.Context(), refOf("7")))
	late := func(what string) {
		t.Helper()
		s.settle(60)
		v, _ := s.any().View()
		c := s.copy(v.Shards[id].ISR[0], id)
		for _, doc := range []string{"3", "7"} {
			if err := cluster.WriteAt(t.Context(), c, hung, profileOf(doc, "old")); !cluster.IsLate(err) {
				t.Errorf("%s: a late write of document %s: %v", what, doc, err)
			}
		}
		s.each(map[string]string{"3": "new", "7": "none"})
	}
	late("at once")
	for _, n := range []coord.NodeID{"a", "b"} {
		s.stop(n)
		s.start(n)
		s.await()
		late("after a restart")
	}
	s.stop("b")
	for i := range 30 { // the log no longer covers it
		s.must(s.nodes["a"].Put(t.Context(), profileOf(fmt.Sprint("more", i), "new")))
	}
	s.start("b")
	s.settle(60)
	s.stop("a")
	s.await()
	c := s.copy("b", id)
	s.must(c.Await(t.Context(), func(x replica.Status) bool { return x.Role == replica.Master }))
	if err := cluster.WriteAt(t.Context(), c, hung, profileOf("7", "old")); !cluster.IsLate(err) {
		t.Errorf("after a snapshot: %v", err)
	}
	s.start("a")
	s.each(map[string]string{"3": "new", "7": "none"})
}

// TestAgain: repeating a write, for example after a lost answer, changes nothing.
func TestAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, 1, "a")
	s.await()
	c := s.copy("a", cluster.ShardName(0))
	rev := cluster.Revision(s.nodes["a"].Node)
	for range 3 {
		s.must(cluster.WriteAt(t.Context(), c, rev, profileOf("d", "text")))
	}
	st, err := c.Status()
	s.must(err)
	if st.End != 2 { // the first record starts the epoch
		t.Errorf("%d records, want 2", st.End)
	}
}

// TestReadElsewhere: data written through one node can be read at once through any other.
func TestReadElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, 4, 3, "a", "b", "c")
	s.settle(60)
	for i := range 60 {
		doc := fmt.Sprint("d", i)
		s.must(s.nodes["a"].Put(t.Context(), profileOf(doc, doc)))
		for _, n := range []coord.NodeID{"b", "c"} {
			d, err := s.nodes[n].Document(t.Context(), refOf(doc))
			if err != nil || d.Text != doc {
				t.Fatalf("document %s at node %s: %v, %v", doc, n, d, err)
			}
		}
	}
}

// TestClockDraws: revisions increase whatever the clock shows.
func TestClockDraws(t *testing.T) {
	var now atomic.Int64
	c := cluster.NewClock(func() time.Time { return time.UnixMicro(now.Load()) })
	last := uint64(0)
	for _, at := range []int64{0, 5, 5, 3, -7, 1 << 50, 2, 1 << 52} {
		now.Store(at)
		first := c.Draw(3)
		if first <= last {
			t.Errorf("at %d: %d after %d", at, first, last)
		}
		last = first + 2
	}
	c.See(last + 1000)
	if got := c.Draw(1); got <= last+1000 {
		t.Errorf("%d after %d was seen", got, last+1000)
	}
}

// BenchmarkRevision measures how the master judges one write.
func BenchmarkRevision(b *testing.B) {
	s := newSite(b, 1, 1, "a")
	s.await()
	c := s.copy("a", cluster.ShardName(0))
	p := profileOf("d", "text")
	start := cputime.Used()
	for b.Loop() {
		_ = cluster.WriteAt(context.Background(), c, 1, p) // late, so it is judged and refused
	}
	cputime.Report(b, start, b.N, "op")
}
