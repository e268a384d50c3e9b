package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
)

// memory stores acknowledged changes for the duration of the test.
type memory struct {
	mu sync.Mutex
	at map[concordat.ShardID]cluster.Position
}

func (m *memory) Note(_ context.Context, _ string, at map[concordat.ShardID]cluster.Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil {
		m.at = map[concordat.ShardID]cluster.Position{}
	}
	for id, p := range at {
		if p.Compare(m.at[id]) > 0 {
			m.at[id] = p
		}
	}
	return nil
}

func (m *memory) Noted(context.Context, string) (map[concordat.ShardID]cluster.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.at), nil
}

// write puts documents from (inclusive) to to (exclusive).
func (s *testSite) write(want map[string]string, from, to int) {
	s.t.Helper()
	for i := from; i < to; i++ {
		want[fmt.Sprint(i)] = "x"
		s.must(s.any().Put(s.t.Context(), profileOf(fmt.Sprint(i), "x")))
	}
}

// snapshot copies the folder of a running node, like a snapshot of a virtual machine; restore puts the copy back.
func (s *testSite) snapshot(name coord.NodeID) (restore func()) {
	s.t.Helper()
	c := s.copy(name, "00")
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	s.must(c.Index().Persist(ctx)) // taken between two writes of the index, so that the copied files are consistent
	dir := filepath.Join(s.dir, string(name))
	kept := dir + ".kept"
	s.must(os.RemoveAll(kept))
	s.must(os.CopyFS(kept, os.DirFS(dir)))
	return func() {
		s.t.Helper()
		s.must(os.RemoveAll(dir))
		s.must(os.Rename(kept, dir))
	}
}

// until waits until the view of the node satisfies the condition.
func (s *testSite) until(name coord.NodeID, what string, pleases func(coord.Shard) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for {
		v, news := s.nodes[name].View()
		if pleases(v.Shards["00"]) {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			s.t.Fatalf("%s: %+v", what, v.Shards["00"])
		}
	}
}

// asides waits until the node has put a copy aside, and returns all that it has put aside.
func (s *testSite) asides(name coord.NodeID) []cluster.Aside {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		as, err := cluster.Asides(filepath.Join(s.dir, string(name)))
		s.must(err)
		if len(as) > 0 {
			return as
		}
	}
	s.t.Fatalf("node %s put no copy aside", name)
	return nil
}

// TestFolderWentBack: a node whose folder was restored from a snapshot of the running node does not become master with its old contents,
// even if it starts first, and no later acknowledged change is lost.
func TestFolderWentBack(t *testing.T) {
	t.Parallel()
	for _, back := range [][]coord.NodeID{{"c"}, {"c", "b"}} {
		t.Run(fmt.Sprint(back), func(t *testing.T) {
			t.Parallel()
			s := &testSite{noted: &memory{}}
			s.found(t, 1, 3, "a", "b", "c")
			want := map[string]string{}
			s.write(want, 0, 10)
			s.same(want)
			var restore []func()
			for _, n := range back {
				restore = append(restore, s.snapshot(n))
			}
			s.write(want, 10, 22)
			for _, n := range []coord.NodeID{"c", "b", "a"} {
				s.stop(n)
			}
			for i := range back {
				restore[i]()
			}
			for _, n := range back {
				s.start(n)
				s.until(n, "on hold", func(st coord.Shard) bool { return slices.Contains(st.Hold, n) || !slices.Contains(st.ISR, n) })
			}
			for _, n := range []coord.NodeID{"b", "a"} {
				if !slices.Contains(back, n) {
					s.start(n)
				}
			}
			s.await()
			s.same(want)
			for n := range s.nodes {
				if as, err := cluster.Asides(filepath.Join(s.dir, string(n))); err != nil || len(as) > 0 {
					t.Errorf("node %s put aside %v, %v", n, as, err)
				}
			}
		})
	}
}

// TestAllWentBack: if all nodes were restored to different times, none becomes master. The operator chooses one; contents that it lacks
// and other nodes have are kept and can be read.
func TestAllWentBack(t *testing.T) {
	t.Parallel()
	s := &testSite{noted: &memory{}}
	s.found(t, 1, 3, "a", "b", "c")
	want := map[string]string{}
	names := []coord.NodeID{"a", "b", "c"}
	var restore []func()
	for i, n := range names {
		s.write(want, 10*i, 10*i+10)
		s.same(want)
		restore = append(restore, s.snapshot(n))
	}
	s.write(want, 30, 40)
	for _, n := range names {
		s.stop(n)
	}
	for _, f := range restore {
		f()
	}
	for _, n := range names {
		s.start(n)
	}
	s.until("a", "all on hold", func(st coord.Shard) bool {
		v, _ := s.nodes["a"].View()
		return !v.Leads(st.State) && len(st.ISR) == len(st.Hold) && len(v.Live) == len(names)
	})
	s.copy("b", "00").Force()
	s.await()
	kept := map[string]string{}
	for i := range 20 {
		kept[fmt.Sprint(i)] = "x"
	}
	s.same(kept)
	for n, aside := range map[coord.NodeID]int{"a": 0, "b": 0, "c": 1} {
		as, err := cluster.Asides(filepath.Join(s.dir, string(n)))
		if err != nil || len(as) != aside {
			t.Fatalf("node %s put aside %v, %v; want %d", n, as, err, aside)
		}
		for _, a := range as {
			var got []string
			s.must(a.Documents(t.Context(), s.layout.Site, func(d *concordat.Document) error {
				got = append(got, string(d.ID))
				return nil
			}))
			if len(got) != 30 {
				t.Errorf("what node %s put aside has %d documents, want 30: %v", n, len(got), got)
			}
		}
	}
	s.write(kept, 40, 45) // the cluster continues, and the next start succeeds too
	for _, n := range names {
		s.stop(n)
		s.start(n)
	}
	s.await()
	s.same(kept)
}

// TestContradicted: a copy with records that its master lacks is put aside, not deleted, even if no record outside the nodes mentions it.
func TestContradicted(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, 3, "a", "b", "c")
	want := map[string]string{}
	s.write(want, 0, 10)
	s.same(want)
	restore := s.snapshot("c")
	s.write(want, 10, 22)
	for _, n := range []coord.NodeID{"a", "b", "c"} { // c is the last, so it is in sync however long this takes
		s.stop(n)
	}
	restore()
	s.start("c")
	s.await() // c becomes master with its own contents
	s.start("b")
	s.start("a")
	for _, n := range []coord.NodeID{"a", "b"} {
		// At first, all three count as in sync, since c has not yet compared its log with theirs.
		as := s.asides(n)
		if len(as) != 1 {
			t.Fatalf("node %s put aside %v; want one copy", n, as)
		}
		docs := 0
		s.must(as[0].Documents(t.Context(), s.layout.Site, func(d *concordat.Document) error { docs++; return nil }))
		if docs != 22 {
			t.Errorf("what node %s put aside has %d documents, want 22", n, docs)
		}
	}
	s.settle(60)
}

// TestWiped: a node that lost its folder and starts again at once, while it is still counted as in sync, takes part and catches up.
func TestWiped(t *testing.T) {
	t.Parallel()
	s := &testSite{noted: &memory{}}
	s.found(t, 1, 3, "a", "b", "c")
	want := map[string]string{}
	s.write(want, 0, 10)
	s.same(want)
	v, _ := s.nodes["a"].View()
	follower := v.Shards["00"].ISR[2]
	s.stop(follower)
	s.must(os.RemoveAll(filepath.Join(s.dir, string(follower))))
	s.start(follower)
	s.await()
	s.same(want)
}
