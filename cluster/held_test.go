package cluster

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/cluster/replica"
	"concordat/index"
	"concordat/internal/indextest"
)

// lone opens a shard of a single-node site that has documents with the given names.
func lone(t *testing.T, ids ...concordat.DocumentID) *Alone {
	t.Helper()
	a, err := openAlone(t.Context(), filepath.Join(t.TempDir(), "00"), CopyOptions{Index: index.Options{Site: indextest.Site, Shard: "00",
		Scheme: indextest.Scheme}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	for _, id := range ids {
		if err := a.Put(t.Context(), textOnly(id, "text")); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func textOnly(id concordat.DocumentID, text string) *concordat.Profile {
	return &concordat.Profile{Scheme: indextest.Scheme, Document: concordat.Document{Library: "l", ID: id, Text: text}}
}

// TestHedge: if the copies that were asked are slow, others are asked too, and a shard without another copy waits for its answer.
func TestHedge(t *testing.T) {
	n := &Node{o: NodeOptions{Node: coord.Node{ID: "b"}}}
	n.hosting.mu = &n.mu
	r := &round{n: n, view: &coord.View{Live: map[coord.NodeID]coord.Node{"b": {ID: "b"}}}, in: make(chan answered, 2),
		missing: map[concordat.ShardID]ShardStatus{},
		open:    map[concordat.ShardID]*openShard{"00": {left: []coord.NodeID{"b"}, flying: 1}, "01": {flying: 1}}}
	r.hedge(t.Context())
	n.wg.Wait()
	select {
	case a := <-r.in:
		if a.node != "b" || !slices.Equal(a.shards, []concordat.ShardID{"00"}) {
			t.Errorf("node %s was asked about %v", a.node, a.shards)
		}
	default:
		t.Error("no other copy was asked")
	}
	if len(r.open) != 2 || len(r.missing) != 0 {
		t.Errorf("%d shards are open, %v missing", len(r.open), r.missing)
	}
}

// TestUnknownShard: a write to a shard that the node's view lacks is refused with the cause.
func TestUnknownShard(t *testing.T) {
	r := &router{fan: newFan(offline{}), ctx: t.Context(), o: &NodeOptions{Session: offline{}}}
	if _, err := r.writeOnce(t.Context(), "00", callWrite, 1, nil); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// offline is a session whose coordinator is unreachable.
type offline struct{ coord.Session }

func (offline) Online() bool                 { return false }
func (offline) Confirmed() coord.Incarnation { return "" }

// TestReopened: a copy that failed is closed and opened again by the same process.
func TestReopened(t *testing.T) {
	hs := &hosting{log: slog.New(slog.DiscardHandler), fan: newFan(offline{}), ctx: t.Context(), mu: new(sync.Mutex),
		copies: map[concordat.ShardID]*hosted{}, o: &NodeOptions{Dir: t.TempDir(), Session: offline{}, Node: coord.Node{ID: "a"},
			Index: index.Options{Site: indextest.Site, Scheme: indextest.Scheme}}}
	s := coord.Shard{State: coord.State{ISR: []coord.NodeID{"a"}, Replicas: []coord.NodeID{"a"}}}
	hs.host("00", s)
	c, ok := hs.get("00")
	if !ok {
		t.Fatal(hs.copies["00"].err)
	}
	c.mu.Lock()
	c.fail(errSilent)
	c.mu.Unlock()
	hs.copies["00"].again = time.Time{}
	hs.host("00", s)
	if again, ok := hs.get("00"); !ok || again == c {
		t.Errorf("not opened again: %v", hs.copies["00"].err)
	}
	hs.close(hs.copies["00"])
}

// TestClosingEndsWrites: a node that closes does not wait for the reply of another node to a write.
func TestClosingEndsWrites(t *testing.T) {
	r := &router{fan: newFan(nil)}
	r.fan.pass(coord.View{Live: map[coord.NodeID]coord.Node{"a": {Incarnation: "a:1"}},
		Shards: map[concordat.ShardID]coord.Shard{"00": {State: coord.State{Epoch: 1, Leader: "a:1", ISR: []coord.NodeID{"a"}}}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.ctx = ctx
	ended := false
	r.cancelOnEpoch(nil, "00", 1, func() { ended = true })
	if !ended {
		t.Error("the write goes on")
	}
}

// TestEnded: a node that was displaced has no copies any more, and says why.
func TestEnded(t *testing.T) {
	displaced := errors.New("displaced")
	n := &Node{log: slog.New(slog.DiscardHandler), layout: Layout{Shards: 1}}
	n.hosting = hosting{log: n.log, mu: &n.mu, copies: map[concordat.ShardID]*hosted{"00": {copy: lone(t).copy}}}
	n.end(displaced)
	if _, has := n.Copy("00"); has || !errors.Is(n.Ready(), displaced) {
		t.Errorf("has a copy: %v, ready: %v", has, n.Ready())
	}
}

// TestFolderOfUnknownAge: if a node's folder may be older than it seems, each of its copies must catch up before it counts, even one that
// did not count as in sync when the node started. Copies that never had a record are not affected.
func TestFolderOfUnknownAge(t *testing.T) {
	dir := t.TempDir()
	n := &Node{lost: true, boot: "second", o: NodeOptions{Dir: dir, Node: coord.Node{ID: "a"}},
		layout: Layout{Cluster: "c", Members: map[coord.NodeID]Member{"a": {Boot: "first"}}}}
	v := coord.View{Shards: map[concordat.ShardID]coord.Shard{}}
	shard := func(id concordat.ShardID, epoch uint64, folder bool, isr ...coord.NodeID) {
		v.Shards[id] = coord.Shard{State: coord.State{Epoch: epoch, ISR: isr}}
		if folder {
			if err := errors.Join(os.MkdirAll(copyDir(dir, id), 0o700), writeMeta(copyDir(dir, id), replica.Meta{Epoch: epoch})); err != nil {
				t.Fatal(err)
			}
		}
	}
	shard("00", 1, true, "b", "a")
	shard("01", 1, true, "b")
	shard("02", 0, true, "b", "a")
	shard("03", 1, false, "b")
	if err := n.markLost(v); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[concordat.ShardID]bool{"00": true, "01": true, "02": false, "03": false} {
		if m, err := readMeta(copyDir(dir, id)); err != nil || m.Damaged != want {
			t.Errorf("shard %s: must catch up: %v, %v; want %v", id, m.Damaged, err, want)
		}
	}
	if f, err := readNodeFile(dir); err != nil || f.Boot != "second" || exists(copyDir(dir, "03")) {
		t.Errorf("the folder is that of start %q, %v; it has a copy of shard 03: %v", f.Boot, err, exists(copyDir(dir, "03")))
	}
}

// TestFoundAgain: repeating the creation of a cluster completes it, and a creation that failed halfway is not reported as complete.
func TestFoundAgain(t *testing.T) {
	var hub local.Hub
	join := func() *local.Session { // each call is another process's
		t.Helper()
		s, err := hub.Join("a")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	l := Layout{Cluster: "one", Site: "s", Scheme: "n", Shards: 2, Copies: 1, Members: map[coord.NodeID]Member{"a": {}}}
	if err := Found(t.Context(), noShards{join()}, l); !errors.Is(err, errSilent) {
		t.Errorf("a creation that failed halfway: %v", err)
	}
	for i := range 2 {
		if err := Found(t.Context(), join(), l); err != nil {
			t.Errorf("repeated %d times: %v", i+1, err)
		}
	}
	if sh, err := join().Read(t.Context(), "01"); err != nil || !slices.Equal(sh.Replicas, []coord.NodeID{"a"}) {
		t.Errorf("shard 01: %+v, %v", sh, err)
	}
	l.Cluster = "two"
	if err := Found(t.Context(), join(), l); !errors.Is(err, concordat.ErrExists) {
		t.Errorf("another cluster: %v", err)
	}
}

// noShards is a session that cannot create shards.
type noShards struct{ coord.Founder }

func (noShards) Create(context.Context, map[concordat.ShardID]coord.State) error { return errSilent }

// TestFoundTrustFails: without the authority's key, no certificate is created, and the error says so.
func TestFoundTrustFails(t *testing.T) {
	dir := t.TempDir()
	if err := FoundTrust(dir, "one", "a", time.Now()); err == nil || exists(filepath.Join(dir, nodeCert)) {
		t.Errorf("got %v; there is a certificate: %v", err, exists(filepath.Join(dir, nodeCert)))
	}
}

// TestPanicsKeepTheirCause: if no function records a panic, the caller gets it unchanged.
func TestPanicsKeepTheirCause(t *testing.T) {
	defer func() {
		if p := recover(); p != "cause" {
			t.Errorf("got %v", p)
		}
	}()
	_ = guard(nil, func() error { panic("cause") })
}

// TestProfileRefused: a profile that was truncated or has an overlong number, as another node or a log could contain it, is refused.
func TestProfileRefused(t *testing.T) {
	long := bytes.Repeat([]byte{0xff}, 11)
	for _, whole := range [][]byte{appendProfile(nil, sample()), appendProfile(nil, meant(5, 300)),
		appendProfile(nil, by(index.UnknownCells, meant(5, 300)))} {
		for i := range whole {
			if p, ok := parseProfile(whole[:i]); ok {
				t.Errorf("the first %d bytes read as %+v", i, p)
			}
			if p, ok := parseProfile(slices.Concat(whole[:i], long)); ok {
				t.Errorf("the first %d bytes and an overlong number read as %+v", i, p)
			}
		}
	}
}

// TestErrorCutOff: if the connection breaks in the middle of another process's error, the error counts as unavailable.
func TestErrorCutOff(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("the "), iotest.ErrReader(io.ErrUnexpectedEOF))
	if err := readError(&http.Response{Body: io.NopCloser(broken)}); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// TestSnapshotAbandoned: a node that refuses a snapshot tells its sender, which could otherwise keep it forever.
func TestSnapshotAbandoned(t *testing.T) {
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "of another version")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer s.Close()
	p := &HTTPPeers{Client: s.Client(), Scheme: "http"}
	to := coord.Node{ID: "a", Address: s.Listener.Addr().String()}
	dir := filepath.Join(t.TempDir(), "00")
	if _, err := p.Snapshot(context.WithoutCancel(t.Context()), to, "00", dir); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Error("the sender still waits")
		s.CloseClientConnections()
	}
}

// TestMomentDropped: an index that was kept for a backup is released when the backup no longer needs it, and no other one is.
func TestMomentDropped(t *testing.T) {
	c := lone(t, "d").copy
	var mu sync.Mutex
	p := &pauses{layout: &Layout{Shards: 1}, mu: &mu, hosting: &hosting{mu: &mu, copies: map[concordat.ShardID]*hosted{"00": {copy: c}}}}
	st, err := c.Status()
	if err == nil {
		err = c.freeze("kept", st.Shard.Epoch)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		moment  string
		code    int
		dropped bool
	}{{"", http.StatusUnprocessableEntity, false}, {"another", http.StatusOK, false}, {"kept", http.StatusOK, true}} {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(x.moment); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		p.serveDrop(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", &b))
		if _, err := c.frozen.of("kept"); w.Code != x.code || (err != nil) != x.dropped || strings.Contains(w.Body.String(), "%!") {
			t.Errorf("moment %q: code %d, %q, dropped: %v", x.moment, w.Code, w.Body, err)
		}
	}
}

// TestInBatches: documents come in batches of limited size, each exactly once and in order.
func TestInBatches(t *testing.T) {
	all := make([]*concordat.Document, 2*reindexBatch+1)
	for i := range all {
		all[i] = &concordat.Document{Title: string(rune('a' + i))}
	}
	var got []*concordat.Document
	for batch, err := range inBatches(func(yield func(*concordat.Document, error) bool) {
		for _, d := range all {
			if !yield(d, nil) {
				return
			}
		}
	}) {
		if err != nil || len(batch) > reindexBatch {
			t.Errorf("a batch of %d, %v", len(batch), err)
		}
		got = append(got, batch...)
	}
	if !slices.Equal(got, all) {
		t.Errorf("%d documents, want %d in order", len(got), len(all))
	}
}

// TestReplaceInItsEpoch: a message with new profiles that was long in transit has no effect in a later epoch.
func TestReplaceInItsEpoch(t *testing.T) {
	c := lone(t, "d").copy
	st, err := c.Status()
	if err != nil {
		t.Fatal(err)
	}
	for epoch, done := range map[uint64]bool{st.Shard.Epoch + 1: false, st.Shard.Epoch: true} {
		_, err := c.replaceIn(t.Context(), operation{Epoch: epoch}, puts([]*concordat.Profile{textOnly("d", "text")}))
		if refused := (*NotMasterError)(nil); done != (err == nil) || !done && !errors.As(err, &refused) {
			t.Errorf("epoch %d of %d: %v", epoch, st.Shard.Epoch, err)
		}
	}
}

// TestReindexRefused: if the new copy of a shard cannot be created, the old one stays and can be opened.
func TestReindexRefused(t *testing.T) {
	a := lone(t, "d")
	dir := a.copy.dir
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Reindex(t.Context(), dir, Reindexing{Site: indextest.Site}); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("without a scheme: %v", err)
	}
	if m, err := ReadSnapshot(dir, "00"); err != nil || m.Documents != 1 {
		t.Errorf("%d documents, %v", m.Documents, err)
	}
}
