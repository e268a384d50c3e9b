package instance_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/crypto"
	"concordat/instance"
	"concordat/internal/storetest"
)

// TestKeysOrSaid: any store statement that fails while a site makes its keys and its first card is reported, including the last one.
func TestKeysOrSaid(t *testing.T) {
	o := open(t, create(t), instance.StoreOnly)
	defer o.Close()
	for at := 0; ; at++ {
		if err := os.Remove(filepath.Join(o.Dir, instance.KeystoreName)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		ctx := storetest.NewLosing(t.Context(), at)
		id, err := o.Keys.Make(ctx, crypto.RawKey([32]byte{1}))
		if !ctx.Lost() {
			if err != nil || at < 6 {
				t.Errorf("after %d statements: %v", at, err)
			} else if card, err := instance.OwnCard(t.Context(), o.Store, id); err != nil || card == nil {
				t.Errorf("the card is %v, %v", card, err)
			}
			return
		}
		if !errors.Is(err, storetest.ErrLost) {
			t.Errorf("statement %d failed, and the keys are %v, %v", at, id, err)
		}
	}
}

// TestRemainsEndTheStart: leftovers that cannot be removed end the start, because otherwise text reported as deleted would remain.
func TestRemainsEndTheStart(t *testing.T) {
	dir := create(t)
	if err := os.WriteFile(filepath.Join(dir, instance.OriginalsName), nil, 0o600); err != nil { // instead of a folder
		t.Fatal(err)
	}
	o, err := instance.Open(t.Context(), dir, instance.WithIndex, instance.Options{})
	if err == nil {
		_ = o.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "clean up after interrupted work") {
		t.Errorf("opened with remains: %v", err)
	}
}

// TestCloseEndsConnections: a process that closes a site leaves no connection to the process that serves it.
func TestCloseEndsConnections(t *testing.T) {
	o := open(t, create(t), instance.StoreOnly)
	socket := filepath.Join(o.Dir, instance.SocketName)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}, 1)
	s := &http.Server{ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			ended <- struct{}{}
		}
	}}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	o.Remote = cluster.Dial(socket, "00")
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if _, err := o.Remote.Document(ctx, concordat.Ref{}); err == nil {
		t.Error("a server of nothing answers")
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-ctx.Done():
		t.Error("the connection is open still")
	}
}

// TestRemovedNodeLeavesNothing: a machine removed from its cluster does not start, and leaves no session at the coordinator, which would
// count it as present until the session expires.
func TestRemovedNodeLeavesNothing(t *testing.T) {
	dir := create(t)
	trust := filepath.Join(dir, instance.ClusterName)
	hub, err := local.Open(filepath.Join(t.TempDir(), "hub"))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	var joined, closed atomic.Int32
	served := local.NewServer(hub, time.Minute)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		served.ServeHTTP(rw, r)
		switch r.URL.Path {
		case "/join":
			joined.Add(1)
		case "/close":
			closed.Add(1)
		}
	}))
	t.Cleanup(s.Close)
	session, err := local.Dial(t.Context(), s.URL, "operator")
	must(err)
	o := open(t, dir, instance.StoreOnly)
	must(cluster.Found(t.Context(), session, cluster.Layout{Cluster: "c", Site: o.Site.ID(), Scheme: o.Profiler.Scheme(), Shards: 1, Copies: 1,
		Members: map[coord.NodeID]cluster.Member{"other": {}}}))
	must(errors.Join(session.Close(), o.Close()))
	must(cluster.NewAuthority(trust, "c", time.Now()))
	must(cluster.FoundTrust(trust, "c", "removed", time.Now()))
	t.Setenv("CONCORDAT_CLUSTER_COORDINATOR", s.URL)
	t.Setenv("CONCORDAT_CLUSTER_NODE", "removed")
	t.Setenv("CONCORDAT_CLUSTER_LISTEN", "127.0.0.1:0")
	node, err := instance.Open(t.Context(), dir, instance.Serve, instance.Options{})
	if err == nil {
		_ = node.Close()
	}
	if !errors.Is(err, concordat.ErrRefused) || !strings.Contains(err.Error(), "node removed is not a member of the cluster") {
		t.Errorf("a node that was removed starts: %v", err)
	}
	if joined.Load() != 2 || closed.Load() != 2 {
		t.Errorf("%d sessions were begun and %d ended, want two of each", joined.Load(), closed.Load())
	}
}

// TestWhoDeletes: in a cluster, exactly one process deletes and leaves no deletion to another; a single process does the same.
func TestWhoDeletes(t *testing.T) {
	var alone *instance.Member
	for _, deletes := range []bool{false, true} {
		alone.SetDeleting(deletes)
		if alone.OtherDeletes() {
			t.Error("a process alone leaves deletions to another one")
		}
	}
	m := &instance.Member{}
	for _, deletes := range []bool{false, true} {
		m.SetDeleting(deletes)
		if got := m.OtherDeletes(); got == deletes {
			t.Errorf("a node that deletes (%v) leaves deletions to another one: %v", deletes, got)
		}
	}
}
