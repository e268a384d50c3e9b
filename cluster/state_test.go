package cluster_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"concordat/cluster"
	"concordat/cluster/coord"
)

// TestStates: each node reports the contents of its copies and answers while it opens them; a silent node is listed with the reason.
func TestStates(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2, 3, "a", "b", "c")
	s.write(map[string]string{}, 0, 20)
	s.settle(60)
	s.stop("c")
	c := s.start("c")
	asked, end := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for asked.Err() == nil {
			c.State()
		}
	})
	s.until("a", "all live and in sync", func(coord.Shard) bool {
		v, _ := s.nodes["a"].View()
		mine, _ := c.View()
		// Until a learns that c stopped, it sees three live nodes too.
		return len(v.Live) == 3 && v.Live["c"].Incarnation == mine.Me && mine.Me != "" &&
			len(v.Shards["00"].ISR) == 3 && len(v.Shards["01"].ISR) == 3
	})
	s.settle(60)
	end()
	wg.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for documents := 0; documents < 20; { // c counts as in sync from the time that its log has everything; its index follows
		documents = 0
		for _, x := range c.State().Copies {
			documents += x.Documents
		}
		select {
		case <-time.After(10 * time.Millisecond): // nothing announces that an index has caught up
		case <-ctx.Done():
			t.Fatalf("node c has %d documents: %+v", documents, c.State())
		}
	}
	states, silent := s.nodes["a"].States(ctx)
	if len(states) != 3 || len(silent) > 0 {
		t.Fatalf("%d nodes answer, silent are %v", len(states), silent)
	}
	masters, ends := 0, map[cluster.Position]int{}
	for id, st := range states {
		documents := 0
		for _, x := range st.Copies {
			documents += x.Documents
			ends[x.Has]++
			if x.Role == "master" {
				masters++
			}
			if !x.InSync || x.Damaged || x.Fault != "" {
				t.Errorf("node %s: %+v", id, x)
			}
		}
		if documents != 20 || len(st.Copies) != 2 || !st.Online || st.Node != id || len(st.Asides) > 0 || st.Fault != "" {
			t.Errorf("node %s has %d documents: %+v", id, documents, st)
		}
	}
	if masters != 2 {
		t.Errorf("%d masters of 2 shards", masters)
	}
	for at, n := range ends {
		if n%3 != 0 {
			t.Errorf("%d copies end at %v, want 3 of each shard", n, at)
		}
	}
	s.nodes["b"].silent.Store(true)
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	states, silent = s.nodes["a"].States(ctx)
	if _, ok := states[coord.NodeID("b")]; ok || silent["b"] == nil || len(states) != 2 {
		t.Errorf("with a silent node: %v, %v", states, silent)
	}
}
