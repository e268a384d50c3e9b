package cluster_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/index"
	"concordat/internal/indextest"
)

// TestRemove: every obstacle to a removal is reported, with advice.
func TestRemove(t *testing.T) {
	t.Parallel()
	ab := []coord.NodeID{"a", "b"}
	for name, c := range map[string]struct {
		node    coord.NodeID
		shard   coord.State
		live    bool
		lose    bool
		members []coord.NodeID
		words   string // empty if it is removed
	}{
		"done":    {"c", coord.State{ISR: ab, Replicas: ab}, false, false, []coord.NodeID{"a", "b", "c"}, ""},
		"unknown": {"x", coord.State{ISR: ab, Replicas: ab}, false, false, []coord.NodeID{"a", "b", "c"}, "not a member"},
		"live":    {"c", coord.State{ISR: ab, Replicas: ab}, true, false, []coord.NodeID{"a", "b", "c"}, "stop concordat serve"},
		"in sync": {"b", coord.State{ISR: ab, Replicas: []coord.NodeID{"a"}}, false, false, []coord.NodeID{"a", "b"}, "drain"},
		"wanted":  {"b", coord.State{ISR: []coord.NodeID{"a"}, Replicas: ab}, false, false, []coord.NodeID{"a", "b"}, "drain"},
		"last copy": {"b", coord.State{ISR: []coord.NodeID{"b"}, Replicas: []coord.NodeID{"a"}}, false, false, []coord.NodeID{"a", "b"},
			"only copies in sync"},
		"only node":    {"a", coord.State{ISR: ab, Replicas: ab}, false, false, []coord.NodeID{"a"}, "only node"},
		"authority":    {"a", coord.State{ISR: []coord.NodeID{"b"}, Replicas: []coord.NodeID{"b"}}, false, false, ab, "authority"},
		"no authority": {"a", coord.State{ISR: []coord.NodeID{"b"}, Replicas: []coord.NodeID{"b"}}, false, true, ab, ""},
	} {
		l := cluster.Layout{Cluster: "x", Site: "s", Scheme: "n", Shards: 1, Copies: 2, Members: map[coord.NodeID]cluster.Member{}}
		for _, m := range c.members {
			l.Members[m] = cluster.Member{Authority: m == "a"}
		}
		v := &coord.View{Live: map[coord.NodeID]coord.Node{}, Shards: map[concordat.ShardID]coord.Shard{"00": {State: c.shard}}}
		if c.live {
			v.Live[c.node] = coord.Node{ID: c.node}
		}
		err := l.Remove(v, c.node, c.lose)
		_, still := l.Members[c.node]
		if c.words == "" && (err != nil || still) || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words) ||
			still != (c.node != "x")) {
			t.Errorf("%s: %v; still a member: %v", name, err, still)
		}
	}
}

// TestNameOfAMember: another machine can take a node's name only if no node ever ran under it.
func TestNameOfAMember(t *testing.T) {
	t.Parallel()
	l := cluster.Layout{Members: map[coord.NodeID]cluster.Member{"a": {Boot: "x"}, "b": {Boot: "y"}, "entered": {}}}
	v := &coord.View{Live: map[coord.NodeID]coord.Node{"a": {ID: "a", Address: "10.0.0.1:8422"}}}
	for id, words := range map[coord.NodeID]string{"a": "live, at 10.0.0.1:8422", "b": "not live", "entered": "", "new": ""} {
		err := l.MayJoin(v, id)
		if words == "" && err != nil || words != "" && (!errors.Is(err, concordat.ErrRefused) || !strings.Contains(err.Error(), words) ||
			!strings.Contains(err.Error(), "cluster replace")) {
			t.Errorf("node %s: %v, want %q", id, err, words)
		}
	}
}

// TestCompatible: programs without a common version are refused with an explanation before the node joins.
func TestCompatible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  coord.Node
		words string
	}{
		{coord.Node{Protocol: 1, OldestProtocol: 1, Log: 1}, coord.Node{}, ""},
		{coord.Node{Protocol: 3, OldestProtocol: 2, Log: 1}, coord.Node{Protocol: 2, OldestProtocol: 1, Log: 1}, ""},
		{coord.Node{Protocol: 3, OldestProtocol: 3, Log: 1}, coord.Node{Protocol: 2, OldestProtocol: 1, Log: 1}, "reads version 3 and later"},
		{coord.Node{Protocol: 2, OldestProtocol: 1, Log: 1}, coord.Node{Protocol: 3, OldestProtocol: 3, Log: 1}, "reads version 3 and later"},
		{coord.Node{Protocol: 2, OldestProtocol: 1, Log: 2}, coord.Node{Protocol: 2, OldestProtocol: 1, Log: 1}, "version 2 of the log"},
	} {
		err := cluster.Compatible(c.a, c.b)
		if c.words == "" && err != nil || c.words != "" && (!errors.Is(err, concordat.ErrRefused) || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%+v beside %+v: %v", c.a, c.b, err)
		}
	}
	s := newSite(t, 1, 1, "a")
	founder, err := s.hub.Join("operator")
	s.must(err)
	for err = coord.ErrStale; errors.Is(err, coord.ErrStale); {
		err = cluster.ChangeLayout(t.Context(), s.nodes["a"], func(l *cluster.Layout) error { l.Members["b"] = cluster.Member{}; return nil })
	}
	s.must(errors.Join(err, founder.Close()))
	session, err := s.hub.Join("b")
	s.must(err)
	_, err = cluster.OpenNode(t.Context(), cluster.NodeOptions{Dir: t.TempDir(), Session: session, Scheme: "http",
		Client: &http.Client{Transport: &http.Transport{}},
		Node:   coord.Node{ID: "b", Address: "127.0.0.1:1", Version: "v9", Protocol: 9, OldestProtocol: 8},
		Index:  index.Options{Site: indextest.Site, Scheme: indextest.Scheme}})
	if !errors.Is(err, concordat.ErrRefused) || !strings.Contains(err.Error(), "v9") {
		t.Errorf("a node of a later program: %v", err)
	}
}

// TestRenew: the node with the authority's key renews a certificate only for the same key and name, and the server then presents the new
// certificate.
func TestRenew(t *testing.T) {
	t.Parallel()
	s, a, dir := trusted(t, "one")
	defer func() {
		for n := range s.nodes {
			s.stop(n)
		}
	}()
	s.await()
	token, err := cluster.NewToken(dir, "one", "b", a.address, time.Now())
	s.must(err)
	other := filepath.Join(s.dir, "trust-b")
	_, err = cluster.Join(t.Context(), other, token, "")
	s.must(err)
	trust, err := cluster.LoadTrust(other)
	s.must(err)
	now := time.Now()
	first, authority := trust.Ends()
	if trust.Due(now) || !trust.Due(first.Add(-30*24*time.Hour)) || trust.Due(authority) == authority.Before(first) {
		t.Errorf("due now %v, near its end %v", trust.Due(now), trust.Due(first.Add(-30*24*time.Hour)))
	}
	from := coord.Node{ID: "a", Address: a.address}
	before, err := os.ReadFile(filepath.Join(other, "node.pem"))
	s.must(err)
	s.must(trust.Renew(t.Context(), other, from))
	after, err := os.ReadFile(filepath.Join(other, "node.pem"))
	s.must(err)
	again, err := cluster.LoadTrust(other)
	s.must(err)
	end, _ := trust.Ends()
	if string(before) == string(after) || again.Key() != trust.Key() || end.Before(first) {
		t.Errorf("not renewed: until %v, before %v", end, first)
	}
	// Another key is signed under the same name by the authority itself, but the node joined with the first key.
	thief := t.TempDir()
	s.must(os.CopyFS(thief, os.DirFS(dir)))
	s.must(cluster.FoundTrust(thief, "one", "b", now))
	stolen, err := cluster.LoadTrust(thief)
	s.must(err)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: stolen.ClientTLS()}}
	defer client.CloseIdleConnections()
	if err := (&cluster.HTTPPeers{Client: client, Cluster: "one"}).Order(t.Context(), from, "00", "stepdown"); err == nil {
		t.Error("another key of the same name was obeyed")
	}
	// The node with the authority's key signs its own certificate; a node that is not a member gets none.
	own, err := cluster.LoadTrust(dir)
	s.must(err)
	s.must(own.Renew(t.Context(), dir, coord.Node{}))
	s.must(cluster.ChangeLayout(t.Context(), a, func(l *cluster.Layout) error { delete(l.Members, "b"); return nil }))
	if err := trust.Renew(t.Context(), other, from); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("a node that was removed: %v", err)
	}
}

// TestRestartOrder: without a service manager, a node refuses to stop.
func TestRestartOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, 1, "a")
	v, _ := s.nodes["a"].View()
	p := &cluster.HTTPPeers{Client: http.DefaultClient, Scheme: "http", Cluster: "test"}
	if err := p.Restart(context.WithoutCancel(t.Context()), v.Live["a"]); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("ended: %v", err)
	}
}
