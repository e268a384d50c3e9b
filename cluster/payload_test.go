package cluster_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/index"
)

// stale checks how many documents with cells by an unknown definition every copy counts.
func (s *testSite) stale(what string, want int) {
	s.t.Helper()
	s.eachCopy(func(at string, x *index.Shard) {
		u, err := x.Unfit(&index.UnfitQuery{Library: "l", Want: index.MeantCells})
		if err != nil || u.Stale != want {
			s.t.Errorf("%s, %s: %+v, %v; want %d stale documents", what, at, u, err, want)
		}
	})
}

// TestRollingUpgrade: a program that reads only version 2 of payloads gets no other, whichever node leads, until every node with a copy
// has been upgraded. Until then, all copies count new documents as stale, and renewing them is refused.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	s := &testSite{payload: map[coord.NodeID]int{"a": 2, "b": 2}}
	s.found(t, 1, 2, "a", "b")
	s.live("a")
	put := func(at coord.NodeID, id string) {
		t.Helper()
		s.again(func() error { return s.nodes[at].Put(t.Context(), meant(id, "one")) })
	}
	put("a", "before")
	s.stale("before the upgrade", 1)

	s.stop("a")
	delete(s.payload, "a")
	s.start("a")
	s.await()
	s.live("a")
	s.settle(60)
	put("a", "through the new node")
	put("b", "through the old node")
	s.lead("a")
	put("b", "from the new master")
	s.stale("with one node upgraded", 4)
	_, err := s.nodes["a"].Renew(t.Context(), meant("before", "one"))
	if !errors.Is(err, concordat.ErrRefused) || !strings.Contains(err.Error(), "node b, which has a copy of shard 00, runs an older version") {
		t.Errorf("renew: %v", err)
	}

	s.stop("b")
	s.live("a")
	put("a", "while the old node is away")
	delete(s.payload, "b")
	s.start("b")
	s.await()
	s.live("a")
	s.stale("with both nodes upgraded", 5)
	put("b", "after the upgrade")
	s.stale("after the upgrade", 5)

	s.stop("b")
	s.live("a")
	put("a", "while the new node is away")
	s.start("b")
	s.await()
	s.live("a")
	s.stale("after an absence", 5)
	s.again(func() error {
		n, err := s.nodes["b"].Renew(t.Context(), meant("before", "one"))
		if err == nil && n != 1 {
			t.Errorf("renewed %d documents", n)
		}
		return err
	})
	s.stale("after renewing one", 4)
}

// lead makes a node master of shard 00.
func (s *testSite) lead(name coord.NodeID) {
	s.t.Helper()
	s.settle(60)
	for end := time.Now().Add(time.Minute); ; {
		v, _ := s.nodes[name].View()
		now := v.Shards["00"].ISR[0]
		if now == name && v.Leads(v.Shards["00"].State) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("node %s leads", now)
		}
		s.copy(now, "00").StepDown()
		time.Sleep(50 * time.Millisecond) // until the view changes
	}
}

// TestPayloadUnstated: a node that does not state which payloads it reads, live or not, reads version 2.
func TestPayloadUnstated(t *testing.T) {
	for _, c := range []struct {
		live map[coord.NodeID]coord.Node
		last int // as stated when the node last joined
		want int
	}{
		{nil, 0, 2},
		{nil, 3, 3},
		{map[coord.NodeID]coord.Node{"b": {}}, 3, 2}, // downgraded
		{map[coord.NodeID]coord.Node{"b": {Payload: 3}}, 0, 3},
		{map[coord.NodeID]coord.Node{"b": {Payload: 4}}, 0, 4},
		{map[coord.NodeID]coord.Node{"a": {Payload: 3}}, 0, 2},
	} {
		if got := cluster.PayloadOf(c.live, map[coord.NodeID]cluster.Member{"b": {Payload: c.last}}, "b"); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
