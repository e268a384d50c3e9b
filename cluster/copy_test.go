package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/cluster/replica"
	"concordat/index"
)

// testCluster is several nodes with one shard, in one process, over real connections.
type testCluster struct {
	t     *testing.T
	hub   local.Hub
	dir   string
	nodes map[coord.NodeID]*testNode
	keep  int64
}

type testNode struct {
	copy    *cluster.Copy
	session *local.Session
	server  *http.Server
}

func newCluster(t *testing.T, names ...coord.NodeID) *testCluster {
	c := &testCluster{t: t, dir: t.TempDir(), nodes: map[coord.NodeID]*testNode{}, keep: 1}
	s, err := c.hub.Join("admin")
	must(t, err)
	must(t, s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": {ISR: names, Replicas: names}}))
	must(t, s.Close())
	for _, n := range names {
		c.start(n)
	}
	t.Cleanup(func() {
		for n := range maps.Clone(c.nodes) {
			c.stop(n)
		}
	})
	return c
}

// start opens a node's copy and connects it to the others.
func (c *testCluster) start(name coord.NodeID) *testNode {
	c.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(c.t, err)
	n := &testNode{}
	n.session, err = c.hub.Join(name)
	must(c.t, err)
	n.copy, err = cluster.OpenCopy(filepath.Join(c.dir, string(name)), cluster.CopyOptions{
		Index: aloneOptions, Node: name, Coordinator: n.session, KeepLog: c.keep, SegmentBytes: 64 << 10,
		Peers: &cluster.HTTPPeers{Client: &http.Client{Transport: &http.Transport{}}, Scheme: "http"},
		Ready: func(i coord.Incarnation) {
			// This fails only if the session has ended, and then another Ready follows.
			_ = n.session.Announce(context.Background(), coord.Node{ID: name, Incarnation: i, Address: l.Addr().String(), Payload: cluster.Payload})
		},
	})
	must(c.t, err)
	n.server = &http.Server{Handler: cluster.NodeHandler(func(id concordat.ShardID) (*cluster.Copy, bool) { return n.copy, id == "00" })}
	go func() { _ = n.server.Serve(l) }() // ends with Close
	c.nodes[name] = n
	return n
}

// stop ends a node without notifying the others, and its session ends with the node.
func (c *testCluster) stop(name coord.NodeID) {
	c.t.Helper()
	n := c.nodes[name]
	delete(c.nodes, name)
	must(c.t, errors.Join(n.server.Close(), n.copy.Close(), n.session.Close()))
}

func (c *testCluster) await(name coord.NodeID, what string, pleases func(replica.Status) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 60*time.Second)
	defer cancel()
	if err := c.nodes[name].copy.Await(ctx, pleases); err != nil {
		st, _ := c.nodes[name].copy.Status()
		c.t.Fatalf("%s of %s: %v: %+v", what, name, err, st)
	}
}

// write sends a change to the current master until it succeeds.
func (c *testCluster) write(ch index.Change) uint64 {
	c.t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for {
		for _, n := range c.nodes {
			seq, err := n.copy.Write(c.t.Context(), []index.Change{ch})
			if err == nil {
				return seq
			}
			if !errors.Is(err, concordat.ErrUnavailable) {
				c.t.Fatal(err)
			}
		}
		if time.Now().After(deadline) {
			c.t.Fatal("nobody takes the write")
		}
		time.Sleep(10 * time.Millisecond) // no master yet
	}
}

// settle waits until all nodes are in sync and have everything up to seq, then compares them.
func (c *testCluster) settle(seq uint64, want map[string]string) {
	c.t.Helper()
	for name, n := range c.nodes {
		c.await(name, fmt.Sprintf("record %d", seq), func(s replica.Status) bool {
			return s.Applied >= seq && s.InSync && len(s.Shard.ISR) == len(c.nodes) && len(s.Shard.Hold) == 0 && !s.Meta.Damaged
		})
		for id, text := range want {
			if got := textOf(c.t, n.copy.Index(), id); got != text {
				c.t.Errorf("node %s: document %s says %q, want %q", name, id, got, text)
			}
		}
		if got := n.copy.Index().Stats().Documents; want != nil && got > len(want) {
			c.t.Errorf("node %s has %d documents, want at most %d", name, got, len(want))
		}
	}
}

func (c *testCluster) master() coord.NodeID {
	for name, n := range c.nodes {
		if s, err := n.copy.Status(); err == nil && s.Role == replica.Master {
			return name
		}
	}
	return ""
}

// TestCopies writes to three copies, stops the master and brings it back. In the end, every copy has all acknowledged changes.
func TestCopies(t *testing.T) {
	c := newCluster(t, "a", "b", "c")
	want := map[string]string{}
	put := func(id, text string) uint64 {
		want[id] = text
		return c.write(index.Change{Put: profileOf(id, text)})
	}
	var seq uint64
	for round := range 3 {
		for i := range 10 {
			put(fmt.Sprint(i), fmt.Sprint("round ", round))
		}
		seq = c.write(index.Change{Delete: refOf("3")})
		want["3"] = "none"
		c.settle(seq, want)
		gone := c.master()
		c.stop(gone)
		for i := range 5 { // the other nodes continue
			put(fmt.Sprint("later", i), fmt.Sprint(round))
		}
		c.start(gone)
	}
	c.settle(put("end", "end"), want)
}

// TestSnapshot stops a copy until the log no longer covers what it missed, and adds an empty copy.
func TestSnapshot(t *testing.T) {
	c := newCluster(t, "a", "b")
	want := map[string]string{}
	c.settle(c.write(index.Change{Put: profileOf("first", "x")}), nil)
	away := coord.NodeID("b")
	if c.master() == away {
		away = "a"
	}
	c.stop(away)
	want["first"] = "x"
	big := make([]byte, 3<<10)
	for i := range big {
		big[i] = "abcdefgh"[i%8]
	}
	var seq uint64
	for i := range 120 { // about six files of the log
		id := fmt.Sprint(i % 10)
		want[id] = fmt.Sprint(i, string(big))
		seq = c.write(index.Change{Put: profileOf(id, want[id])})
	}
	c.await(c.master(), "shorter log", func(s replica.Status) bool { return s.Base > 10 })
	c.start(away)
	c.settle(seq, want)
}

// TestStepDown moves the master role on request; no write is lost.
func TestStepDown(t *testing.T) {
	c := newCluster(t, "a", "b")
	c.settle(c.write(index.Change{Put: profileOf("x", "1")}), nil)
	old := c.master()
	c.nodes[old].copy.StepDown()
	c.await(old, "step down", func(s replica.Status) bool { return s.Role != replica.Master })
	c.settle(c.write(index.Change{Put: profileOf("x", "2")}), map[string]string{"x": "2"})
	if now := c.master(); now == old || now == "" {
		t.Errorf("master %q after %q", now, old)
	}
}

// TestCutFromCoordinator: a master that cannot reach the coordinator refuses writes but answers questions; when its session ends, another
// node takes over.
func TestCutFromCoordinator(t *testing.T) {
	c := newCluster(t, "a", "b")
	c.settle(c.write(index.Change{Put: profileOf("x", "1")}), nil)
	m := c.master()
	c.hub.Cut(m, true)
	c.await(m, "contact lost", func(s replica.Status) bool { return s.Offline })
	if _, err := c.nodes[m].copy.Write(t.Context(), []index.Change{{Put: profileOf("x", "2")}}); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("write without a coordinator: %v", err)
	}
	if got := textOf(t, c.nodes[m].copy.Index(), "x"); got != "1" {
		t.Errorf("read without a coordinator: %q", got)
	}
	must(t, c.hub.Expire(m))
	c.succeeded(m)
	c.hub.Cut(m, false)
	c.settle(c.write(index.Change{Put: profileOf("x", "3")}), map[string]string{"x": "3"})
}

// succeeded waits until a node other than m is master.
func (c *testCluster) succeeded(m coord.NodeID) {
	for name := range c.nodes {
		if name != m {
			c.await(name, "leadership", func(s replica.Status) bool { return s.Role == replica.Master })
		}
	}
}
