package cluster_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/cluster/replica"
	"concordat/index"
	"concordat/internal/indextest"
)

// testSite is a site of several nodes in one process, over real connections.
type testSite struct {
	t       testing.TB
	hub     local.Hub
	dir     string
	layout  cluster.Layout
	nodes   map[coord.NodeID]*running
	keep    int64 // bytes of log to retain
	segment int64 // maximum bytes of a log file; default 64 KiB
	clocks  map[coord.NodeID]func() time.Time
	noted   cluster.Acknowledged    // nil for none
	meaning map[coord.NodeID]string // how each node indexes by meaning; default "table"
	payload map[coord.NodeID]int    // newest version of payloads that each node reads; default cluster.Payload
}

type running struct {
	*cluster.Node
	server  *http.Server
	fatal   chan error
	address string
	silent  atomic.Bool // accepts messages and never answers
}

func newSite(t testing.TB, shards, copies int, names ...coord.NodeID) *testSite {
	s := &testSite{}
	s.found(t, shards, copies, names...)
	return s
}

// found creates the site; set the options of s for clocks and logs first.
func (s *testSite) found(t testing.TB, shards, copies int, names ...coord.NodeID) {
	s.t, s.dir, s.nodes = t, t.TempDir(), map[coord.NodeID]*running{}
	s.layout = cluster.Layout{Cluster: "test", Site: indextest.Site, Scheme: indextest.Scheme, Shards: shards, Copies: copies,
		Members: map[coord.NodeID]cluster.Member{}}
	for _, n := range names {
		s.layout.Members[n] = cluster.Member{}
	}
	session, err := s.hub.Join("founder")
	s.must(err)
	s.must(cluster.Found(t.Context(), session, s.layout))
	s.must(session.Close())
	for _, n := range names {
		s.start(n)
	}
	s.await()
	t.Cleanup(func() {
		for n := range maps.Clone(s.nodes) {
			s.stop(n)
		}
	})
}

func (s *testSite) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *testSite) start(name coord.NodeID) *running {
	s.t.Helper()
	n, err := s.open(name)
	s.must(err)
	s.nodes[name] = n
	return n
}

func (s *testSite) open(name coord.NodeID) (*running, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	session, err := s.hub.Join(name)
	s.must(err)
	r := &running{fatal: make(chan error, 1)}
	meaning, set := s.meaning[name]
	if !set {
		meaning = table
	}
	r.Node, err = cluster.OpenNode(s.t.Context(), cluster.NodeOptions{
		Dir: filepath.Join(s.dir, string(name)), Session: session, Scheme: "http", Client: &http.Client{Transport: &http.Transport{}},
		Node:  coord.Node{ID: name, Address: l.Addr().String(), Meaning: meaning, Payload: s.payload[name]},
		Index: index.Options{Site: indextest.Site, Scheme: indextest.Scheme},
		Copy:  cluster.CopyOptions{KeepLog: max(1, s.keep), SegmentBytes: cmp.Or(s.segment, 64<<10), Now: s.clocks[name]},
		Fatal: func(err error) { r.fatal <- err }, Acknowledged: s.noted,
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	answer := r.Handler()
	r.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if r.silent.Load() {
			<-q.Context().Done() // until the caller has given up
			return
		}
		answer.ServeHTTP(w, q)
	})}
	go func() { _ = r.server.Serve(l) }() // ends with Close
	return r, nil
}

// stop ends a node; the other nodes take over its shards.
func (s *testSite) stop(name coord.NodeID) {
	s.t.Helper()
	n := s.nodes[name]
	delete(s.nodes, name)
	s.must(errors.Join(n.Close(), n.server.Close()))
}

func (s *testSite) any() *running {
	for _, n := range s.nodes {
		return n
	}
	return nil
}

// await waits until every node sees a master for every shard.
func (s *testSite) await() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for _, n := range s.nodes {
		s.must(n.Await(ctx))
	}
}

// settle waits until all copies of all shards are in sync where they should be, and returns their number.
func (s *testSite) settle(seconds int) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	copies := 0
	n := s.any()
	for i := range s.layout.Shards {
		id := cluster.ShardName(i)
		for {
			v, news := n.View()
			st := v.Shards[id]
			isr, want := slices.Sorted(slices.Values(st.ISR)), slices.Sorted(slices.Values(st.Replicas))
			if v.Leads(st.State) && slices.Equal(isr, want) && len(st.Hold) == 0 {
				copies += len(isr)
				break
			}
			select {
			case <-news:
			case <-ctx.Done():
				s.t.Fatalf("shard %s: %+v", id, st)
			}
		}
	}
	return copies
}

// copy waits until a node has opened its copy.
func (s *testSite) copy(name coord.NodeID, id concordat.ShardID) *cluster.Copy {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if c, ok := s.nodes[name].Copy(id); ok {
			return c
		}
	}
	s.t.Fatalf("shard %s: node %s has no copy", id, name)
	return nil
}

// same checks that all copies of each shard contain the same documents, and that the shards together contain the documents in want.
func (s *testSite) same(want map[string]string) {
	s.t.Helper()
	if docs := s.each(want); docs > len(want) {
		s.t.Errorf("%d documents, want at most %d", docs, len(want))
	}
}

// each checks that all copies of each shard have the same number of documents and contain the documents in want. It returns the number of
// documents.
func (s *testSite) each(want map[string]string) int {
	s.t.Helper()
	s.settle(60)
	n := s.any()
	docs := 0
	v, _ := n.View()
	for i := range s.layout.Shards {
		id := cluster.ShardName(i)
		m := s.copy(v.Shards[id].ISR[0], id)
		st, err := m.Status()
		s.must(err)
		docs += m.Index().Stats().Documents
		for _, r := range v.Shards[id].Replicas {
			c := s.copy(r, id)
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
			s.must(c.Await(ctx, func(x replica.Status) bool { return x.Applied >= st.Applied && !x.Meta.Damaged }))
			cancel()
			if a, b := m.Index().Stats().Documents, c.Index().Stats().Documents; a != b {
				s.t.Errorf("shard %s: %d documents at the master, %d at %s", id, a, b, r)
			}
			for doc, text := range want {
				if s.layout.ShardFor("l", concordat.DocumentID(doc)) == id {
					if got := textOf(s.t, c.Index(), doc); got != text {
						s.t.Errorf("shard %s at %s: document %s says %q, want %q", id, r, doc, got, text)
					}
				}
			}
		}
	}
	return docs
}

func TestNodeContract(t *testing.T) {
	t.Parallel()
	indextest.Run(t, indextest.Subject{
		Open: func(t *testing.T) concordat.Index { return newSite(t, 3, 2, "a", "b").nodes["a"].Node },
	})
}

// TestNodes writes through every node, stops one node at a time, and compares every copy.
func TestNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 4, 3, "a", "b", "c")
	want := map[string]string{}
	put := func(id, text string) {
		want[id] = text
		s.must(s.any().Put(t.Context(), profileOf(id, text)))
	}
	for round, gone := range []coord.NodeID{"a", "b", "c"} {
		for i := range 12 {
			put(fmt.Sprint(i), fmt.Sprint("round ", round))
		}
		s.must(s.any().Delete(t.Context(), refOf("3")))
		want["3"] = "none"
		s.same(want)
		s.stop(gone)
		for i := range 6 {
			put(fmt.Sprint("later", i), fmt.Sprint(round))
		}
		st, err := s.any().TextStats(t.Context(), []concordat.Term{1})
		if err != nil || len(st.Missing) > 0 {
			t.Errorf("without %s: %v, %v", gone, st, err)
		}
		s.start(gone)
	}
	s.same(want)
}

// TestMissingShard: a shard without an answering copy is reported by name and not treated as empty.
func TestMissingShard(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2, 1, "a", "b")
	for i := range 20 {
		s.must(s.nodes["a"].Put(t.Context(), profileOf(fmt.Sprint(i), "x")))
	}
	s.stop("b")
	st, err := s.nodes["a"].TextStats(t.Context(), []concordat.Term{1})
	if err != nil || len(st.Missing) != 1 {
		t.Fatalf("got %+v, %v", st, err)
	}
	for i := range 20 {
		_, err := s.nodes["a"].Document(t.Context(), refOf(fmt.Sprint(i)))
		if silent := s.layout.ShardFor("l", concordat.DocumentID(fmt.Sprint(i))) == st.Missing[0]; silent != errors.Is(err,
			concordat.ErrUnavailable) || !silent && err != nil {
			t.Errorf("document %d: %v", i, err)
		}
	}
}

// TestFoldersOfNodes tests a lost folder, an older one, a damaged log, a node of another site, and a second node of the same name.
func TestFoldersOfNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2, 2, "a", "b")
	want := map[string]string{}
	write := func(from, to int) {
		for i := from; i < to; i++ {
			want[fmt.Sprint(i)] = "x"
			s.must(s.nodes["a"].Put(t.Context(), profileOf(fmt.Sprint(i), "x")))
		}
	}
	write(0, 10)
	s.same(want)
	dir := filepath.Join(s.dir, "b")

	s.stop("b") // an older folder is restored
	s.must(os.CopyFS(dir+".old", os.DirFS(dir)))
	s.start("b")
	s.same(want)
	write(10, 20)
	s.stop("b")
	s.must(errors.Join(os.RemoveAll(dir), os.Rename(dir+".old", dir)))
	s.start("b")
	s.same(want)

	s.stop("b") // the folder is lost
	s.must(os.RemoveAll(dir))
	s.start("b")
	s.same(want)

	write(20, 30)
	s.same(want)
	s.stop("b") // the log is damaged in the middle
	logs, err := filepath.Glob(filepath.Join(dir, "*", "log", "*.wal"))
	s.must(err)
	for _, l := range logs {
		s.must(os.WriteFile(l, make([]byte, 100), 0o600))
	}
	s.start("b")
	write(30, 35)
	s.same(want)

	other := s.layout.Site
	session, err := s.hub.Join("c")
	s.must(err)
	_, err = cluster.OpenNode(t.Context(), cluster.NodeOptions{Dir: t.TempDir(), Session: session, Client: http.DefaultClient,
		Node:  coord.Node{ID: "a"},
		Index: index.Options{Site: other + "x", Scheme: indextest.Scheme}})
	if !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("node of another site: %v", err)
	}
	session, err = s.hub.Join("c")
	s.must(err)
	_, err = cluster.OpenNode(t.Context(), cluster.NodeOptions{Dir: t.TempDir(), Session: session, Client: http.DefaultClient,
		Node:  coord.Node{ID: "c"},
		Index: index.Options{Site: other, Scheme: indextest.Scheme}})
	if !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("no member: %v", err)
	}
	session, err = s.hub.Join("a")
	s.must(err)
	twin, err := cluster.OpenNode(t.Context(), cluster.NodeOptions{Dir: t.TempDir(), Session: session, Client: &http.Client{},
		Node:  coord.Node{ID: "a"},
		Index: index.Options{Site: other, Scheme: indextest.Scheme}})
	s.must(err)
	if err := <-s.nodes["a"].fatal; !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("a second node of the name: %v", err)
	}
	s.must(twin.Close())
}
