package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
)

// TestWithoutCoordinator: while no node can reach the coordinator, documents are found, and writes are refused at once with the cause.
// When it is back, everything works again.
func TestWithoutCoordinator(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2, 3, "a", "b", "c")
	want := map[string]string{}
	s.write(want, 0, 10)
	s.same(want)
	cut := func(yes bool) {
		for _, n := range []coord.NodeID{"a", "b", "c"} {
			s.hub.Cut(n, yes)
		}
	}
	cut(true)
	for n := range s.nodes {
		for i := range 2 {
			s.must(s.copy(n, cluster.ShardName(i)).Await(t.Context(), func(st replica.Status) bool { return st.Offline }))
		}
	}
	for n, r := range s.nodes {
		begun := time.Now()
		err := r.Put(t.Context(), profileOf(fmt.Sprint("late", n), "x"))
		if !errors.Is(err, concordat.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), "ZooKeeper") {
			t.Errorf("a write at node %s: %v", n, err)
		}
		if took := time.Since(begun); took > 20*time.Second { // without the refusal it would take up to a minute
			t.Errorf("a write at node %s was refused after %s", n, took)
		}
		for i := range 10 {
			if d, err := r.Document(t.Context(), refOf(fmt.Sprint(i))); err != nil || d.Text != "x" {
				t.Errorf("document %d at node %s: %v, %v", i, n, d, err)
			}
		}
	}
	cut(false)
	s.await()
	s.write(want, 10, 20)
	s.same(want)
}
