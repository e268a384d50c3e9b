package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/index"
)

// table makes the test nodes index by meaning with the table.
const table = "table"

// meant returns the profile of a document, with cells.
func meant(id, text string) *concordat.Profile {
	p := profileOf(id, text)
	p.Cells = []concordat.Cell{7, 70}
	return p
}

// again calls f until the shards are available.
func (s *testSite) again(f func() error) {
	s.t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; {
		err := f()
		if err == nil {
			return
		}
		if !errors.Is(err, concordat.ErrUnavailable) || time.Now().After(end) {
			s.t.Fatal(err)
		}
	}
}

// lacking asks a node which documents lack cells and returns their names in order.
func (s *testSite) lacking(at coord.NodeID) (out []string) {
	s.t.Helper()
	var u *index.Unfit
	s.again(func() (err error) {
		u, err = s.nodes[at].Unfit(s.t.Context(), table, index.UnfitQuery{Library: "l", Want: index.MeantCells, Limit: 1000})
		return err
	})
	if len(u.Documents) != u.Lacking+u.Bare+u.Superfluous {
		s.t.Errorf("%+v", u)
	}
	for _, d := range u.Documents {
		out = append(out, string(d.ID))
	}
	return out
}

// TestRenewNodes: recomputed profiles reach every copy of their shards through any node and replace only the documents that they were
// made from. The nodes list the documents that still need one.
func TestRenewNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 4, 2, "a", "b", "c")
	want := map[string]string{"replaced": "two", "deleted": "none", "never": "none"}
	ps := []*concordat.Profile{meant("replaced", "one"), meant("deleted", "one"), meant("never", "one")}
	for i := range 60 {
		id := fmt.Sprintf("d%02d", i)
		want[id] = "one"
		ps = append(ps, meant(id, "one"))
	}
	for id := range want {
		if id != "never" {
			s.must(s.nodes["b"].Put(t.Context(), profileOf(id, "one")))
		}
	}
	s.must(s.nodes["a"].Put(t.Context(), profileOf("replaced", "two")))
	s.must(s.nodes["a"].Delete(t.Context(), refOf("deleted")))
	if got := s.lacking("c"); len(got) != 61 || got[0] != "d00" || got[60] != "replaced" {
		t.Fatalf("before: %q", got)
	}
	u, err := s.nodes["a"].Unfit(t.Context(), table, index.UnfitQuery{Library: "l", Want: index.MeantCells, After: "d10", Limit: 7})
	if err != nil || len(u.Documents) != 7 || u.Documents[0].ID != "d11" || u.Documents[6].ID != "d17" || u.Lacking != 50 {
		t.Errorf("behind d10: %+v, %v", u, err)
	}
	n, err := s.nodes["c"].Renew(t.Context(), ps...)
	if err != nil || n != 60 {
		t.Errorf("%d documents are renewed, %v; want 60", n, err)
	}
	s.same(want)
	if got := s.lacking("a"); len(got) != 1 || got[0] != "replaced" {
		t.Errorf("after: %q", got)
	}
	s.eachCopy(func(at string, x *index.Shard) {
		if st, err := x.TextStats(t.Context(), nil); err != nil || st.Meant < st.Documents-1 {
			t.Errorf("%s: %+v, %v", at, st, err)
		}
	})
	known := 0
	for _, n := range s.nodes {
		known += n.Stats().Meant
	}
	if known < 120 { // each document is in two copies
		t.Errorf("the nodes count %d copies of documents with cells", known)
	}
}

// live waits until a node knows that all others are live.
func (s *testSite) live(at coord.NodeID) {
	s.t.Helper()
	for end := time.After(time.Minute); ; {
		v, news := s.nodes[at].View()
		if len(v.Live) == len(s.nodes) {
			return
		}
		select {
		case <-news:
		case <-end:
			s.t.Fatalf("node %s knows of %v", at, v.Live)
		}
	}
}

// eachCopy calls f with every copy once the copy has caught up with its master.
func (s *testSite) eachCopy(f func(at string, x *index.Shard)) {
	s.t.Helper()
	s.settle(60)
	v, _ := s.any().View()
	for i := range s.layout.Shards {
		id := cluster.ShardName(i)
		st, err := s.copy(v.Shards[id].ISR[0], id).Status()
		s.must(err)
		for _, r := range v.Shards[id].Replicas {
			c := s.copy(r, id)
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
			s.must(c.Await(ctx, func(x replica.Status) bool { return x.Applied >= st.Applied && !x.Meta.Damaged }))
			cancel()
			f(fmt.Sprintf("shard %s at %s", id, r), c.Index())
		}
	}
}

// TestRenewBeside: while documents are renewed repeatedly, other clients replace and delete them through other nodes, and a node stops.
// Every acknowledged change stays, and readers find every document throughout.
func TestRenewBeside(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2, 3, "a", "b", "c")
	const documents = 48
	id := func(i int) string { return fmt.Sprintf("d%02d", i) }
	want := map[string]string{}
	var ps []*concordat.Profile
	for i := range documents {
		want[id(i)] = "one"
		ps = append(ps, meant(id(i), "one"))
		s.must(s.nodes["a"].Put(t.Context(), profileOf(id(i), "one")))
	}
	ctx, stop := context.WithCancel(t.Context())
	a, b := s.nodes["a"], s.nodes["b"]
	var all sync.WaitGroup
	rounds := 0
	all.Go(func() {
		for ; ctx.Err() == nil; rounds++ {
			if _, err := a.Renew(ctx, ps...); err != nil && ctx.Err() == nil && !errors.Is(err, concordat.ErrUnavailable) {
				t.Errorf("renew: %v", err)
			}
		}
	})
	kept := refOf(id(documents - 1)) // never changed
	all.Go(func() {
		for ctx.Err() == nil {
			if d, err := b.Document(ctx, kept); ctx.Err() == nil && !errors.Is(err, concordat.ErrUnavailable) && (err != nil || d.Text != "one") {
				t.Errorf("a reader finds %+v, %v", d, err)
			}
		}
	})
	for i := range documents - 1 {
		if i == documents/2 {
			s.stop("c") // c's shards get another master
		}
		if i%3 == 0 {
			s.again(func() error { return b.Delete(t.Context(), refOf(id(i))) })
			want[id(i)] = "none"
		} else {
			s.again(func() error { return b.Put(t.Context(), meant(id(i), "two")) })
			want[id(i)] = "two"
		}
	}
	stop()
	all.Wait()
	n := 0
	s.again(func() (err error) { n, err = a.Renew(t.Context(), ps...); return err })
	if n != 1 || rounds == 0 {
		t.Errorf("after %d rounds %d documents are renewed; want the one that nobody changed", rounds, n)
	}
	s.start("c")
	s.same(want)
	if left := s.lacking("c"); len(left) > 0 {
		t.Errorf("%q lack cells", left)
	}
	t.Logf("%d rounds", rounds)
}

// TestRenewPending: if a text's writer did not wait, the text is in the log but not yet in an index. A profile of the previous text does
// not replace it.
func TestRenewPending(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	c.settle(c.write(index.Change{Put: profileOf("x", "one")}), nil)
	m := c.master()
	other := map[coord.NodeID]coord.NodeID{"a": "b", "b": "a"}[m]
	must(t, c.nodes[other].copy.Close()) // it fetches nothing more, but its session continues, so the master waits for it for a while
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.nodes[m].copy.Write(gone, []index.Change{{Put: profileOf("x", "two")}}); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := textOf(t, c.nodes[m].copy.Index(), "x"); got != "one" {
		t.Logf("the index has %q already: it shows less", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if n, err := cluster.Replace(ctx, c.nodes[m].copy, meant("x", "one")); err != nil || n != 0 {
		t.Errorf("%d documents replaced, %v; want none", n, err)
	}
	if got := textOf(t, c.nodes[m].copy.Index(), "x"); got != "two" {
		t.Errorf("the text is %q, want two", got)
	}
}

// TestRenewDisagree: if nodes index by meaning differently, they are named, with advice, before anything is done.
func TestRenewDisagree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meaning map[coord.NodeID]string
		by      string
		words   []string
	}{
		"off":     {map[coord.NodeID]string{"b": coord.MeaningOff}, table, []string{"off when b started", "cluster restart b"}},
		"old":     {map[coord.NodeID]string{"b": ""}, table, []string{"b runs an older version of the program: concordat cluster upgrade b"}},
		"on":      {map[coord.NodeID]string{"b": coord.MeaningOff}, coord.MeaningOff, []string{"on when a started"}},
		"version": {map[coord.NodeID]string{"b": "another"}, table, []string{"b runs a version of the program with different meaning cells: concordat cluster upgrade b"}},
		"command": {nil, coord.MeaningOff, []string{"on when a b started", "set meaning.index=false"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &testSite{meaning: c.meaning}
			s.found(t, 2, 2, "a", "b")
			s.live("a")
			s.must(s.nodes["a"].Put(t.Context(), profileOf("x", "one")))
			_, err := s.nodes["a"].Unfit(t.Context(), c.by, index.UnfitQuery{Library: "l", Want: index.MeantCells})
			if !errors.Is(err, concordat.ErrRefused) {
				t.Fatalf("got %v", err)
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in: %v", w, err)
				}
			}
			p := meant("x", "one")
			if c.by == coord.MeaningOff {
				p.Cells = nil
			}
			if n, err := s.nodes["a"].Renew(t.Context(), p); n != 0 || !errors.Is(err, concordat.ErrRefused) {
				t.Errorf("%d documents are renewed, %v", n, err)
			}
		})
	}
}
