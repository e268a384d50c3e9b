package cluster_test

import (
	"errors"
	"strings"
	"testing"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
)

// TestPurgeBesideAbsent: deleted bytes disappear from the disks of all present nodes, and the absent node is reported by name.
func TestPurgeBesideAbsent(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2, 3, "a", "b", "c")
	want := map[string]string{}
	s.write(want, 0, 20)
	s.must(s.any().Delete(t.Context(), refOf("3")))
	want["3"] = "none"
	s.same(want)
	s.stop("b")
	s.await()
	err := s.nodes["a"].Purge(t.Context())
	if !errors.Is(err, concordat.ErrUnavailable) || !strings.Contains(err.Error(), "node b") {
		t.Errorf("node b is away: %v", err)
	}
	for i := range 2 {
		for n := range s.nodes {
			st, err := s.copy(n, cluster.ShardName(i)).Status()
			if err != nil || st.Base == 0 {
				t.Errorf("shard %d at node %s: the log still begins at %d, %v", i, n, st.Base, err)
			}
		}
	}
	s.start("b")
	s.until("a", "node b is back", func(coord.Shard) bool {
		v, _ := s.nodes["a"].View()
		_, live := v.Live["b"]
		return live && len(v.Shards["00"].ISR) == 3 && len(v.Shards["01"].ISR) == 3
	})
	s.settle(60)
	s.must(s.nodes["a"].Purge(t.Context()))
	s.same(want)
}
