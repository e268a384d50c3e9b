package cluster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
)

// TestMoveAwayAndBack: a copy that was removed and returns to the same running node is filled before it counts, and catches up however
// many exchanges it needs with the master.
func TestMoveAwayAndBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, 2, "a", "b")
	id := cluster.ShardName(0)
	want := map[string]string{}
	for i := range 10 {
		want[fmt.Sprint(i)] = "x"
		s.must(s.any().Put(t.Context(), profileOf(fmt.Sprint(i), "x")))
	}
	operator, err := s.hub.Join("operator")
	s.must(err)
	defer func() { s.must(operator.Close()) }()
	wish := func(nodes ...coord.NodeID) {
		t.Helper()
		for {
			if err := cluster.SetReplicas(t.Context(), operator, id, nodes); err == nil {
				break
			}
		}
		ctx := t.Context()
		for _, n := range s.nodes { // wait until all nodes see it
			for {
				v, news := n.View()
				st := v.Shards[id]
				isr := slices.Sorted(slices.Values(st.ISR))
				if slices.Equal(isr, nodes) && slices.Equal(st.Replicas, nodes) && v.Leads(st.State) {
					break
				}
				select {
				case <-news:
				case <-ctx.Done():
					t.Fatal(ctx.Err())
				}
			}
		}
	}
	gone := func(n coord.NodeID) {
		t.Helper()
		for there := true; there; time.Sleep(time.Millisecond) { // the removal of a copy is not announced
			_, there = s.nodes[n].Copy(id)
		}
	}
	for _, away := range []coord.NodeID{"a", "b", "a"} {
		wish(map[coord.NodeID]coord.NodeID{"a": "b", "b": "a"}[away])
		gone(away)
		wish("a", "b")
		c, ok := s.nodes[away].Copy(id)
		if !ok {
			t.Fatalf("node %s has no copy, and is in sync", away)
		}
		s.must(c.Await(t.Context(), func(x replica.Status) bool { return x.Applied == x.End }))
		for doc := range want {
			if got := textOf(t, c.Index(), doc); got != "x" {
				t.Fatalf("document %s of the copy at %s, which is in sync, says %q", doc, away, got)
			}
		}
	}
	s.same(want)
}
