package zk

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	zkclient "github.com/go-zookeeper/zk"

	"concordat"
	"concordat/cluster/coord"
)

// joined returns a node's session whose views are not maintained in the background.
func joined(t *testing.T, o Options) *Session {
	t.Helper()
	s := &Session{o: o, t: newTree(o), log: o.Log, views: make(chan coord.View, 1), settings: make(chan coord.Config, 1)}
	var err error
	if s.seen, err = openMemory(o.Identity, o.Node); err != nil {
		t.Fatal(err)
	}
	l, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { <-l.close() })
	s.adopt(l)
	return s
}

func created(t *testing.T, s *Session, id concordat.ShardID) coord.State {
	t.Helper()
	st := coord.State{Epoch: 1, ISR: []coord.NodeID{"a"}, Replicas: []coord.NodeID{"a"}}
	if err := s.Create(t.Context(), map[concordat.ShardID]coord.State{id: st}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(t.Context(), id); err != nil || !got.Equal(st) {
		t.Fatalf("got %+v, %v", got, err)
	}
	return st
}

// TestSessionOver: once a session is closed or has failed, no call claims to have done anything.
func TestSessionOver(t *testing.T) {
	st := coord.State{Epoch: 1, ISR: []coord.NodeID{"a"}, Replicas: []coord.NodeID{"a"}}
	for what, s := range map[string]*Session{"closed": {closed: true}, "failed": {failed: ErrIdentity}} {
		s.o.Node = "a"
		for call, f := range map[string]func(context.Context) error{
			"Read":        func(ctx context.Context) error { _, err := s.Read(ctx, "00"); return err },
			"CAS":         func(ctx context.Context) error { _, err := s.CAS(ctx, "00", 0, st, ""); return err },
			"Announce":    func(ctx context.Context) error { return s.Announce(ctx, coord.Node{ID: "a"}) },
			"Create":      func(ctx context.Context) error { return s.Create(ctx, map[concordat.ShardID]coord.State{"00": st}) },
			"Nodes":       func(ctx context.Context) error { _, err := s.Nodes(ctx); return err },
			"Forget":      func(ctx context.Context) error { return s.Forget(ctx, "b") },
			"SetScheme":   func(ctx context.Context) error { return s.SetScheme(ctx, "x", "y") },
			"Configure":   func(ctx context.Context) error { _, err := s.Configure(ctx, 0, nil); return err },
			"SetSettings": func(ctx context.Context) error { _, err := s.SetSettings(ctx, 0, nil); return err },
			"History":     func(ctx context.Context) error { _, err := s.History(ctx, Config, 1); return err },
		} {
			if err := f(t.Context()); !errors.Is(err, concordat.ErrUnavailable) || s.failed != nil && !errors.Is(err, s.failed) {
				t.Errorf("%s, %s: got %v", what, call, err)
			}
		}
	}
}

// TestReadAfterReconnecting: a read that was answered by another server than the one that was brought up to date is repeated.
func TestReadAfterReconnecting(t *testing.T) {
	z, o := newScripted(t)
	s := joined(t, o)
	st := created(t, s, "00")
	st.Epoch = 2
	p, reads := s.t.shard("00"), 0
	z.script(func(op int32, at string) int32 {
		if op == opGet && at == p {
			switch reads++; reads {
			case 1:
				s.link.connects.Add(1)
			case 2:
				z.znodes[p] = scriptedNode{data: encode(st), version: 1}
			}
		}
		return codeOK
	})
	if got, err := s.Read(t.Context(), "00"); err != nil || got.Version != 1 || got.Epoch != 2 || reads != 2 {
		t.Errorf("got %+v, %v after %d reads", got, err, reads)
	}
}

// TestAnnouncedInOldSession: an announcement in a session that was replaced during the call does not count for its successor, which
// would take the missing entry for the work of another process. An observer has no name to announce.
func TestAnnouncedInOldSession(t *testing.T) {
	z, o := newScripted(t)
	s := joined(t, o)
	n := coord.Node{ID: "a", Incarnation: s.link.me}
	if err := s.Announce(t.Context(), n); err != nil || !s.announced {
		t.Errorf("got %v, announced %v", err, s.announced)
	}
	next := joined(t, o).link
	z.script(func(op int32, path string) int32 {
		if op == opSet && path == s.t.incarnation(n.Incarnation) {
			s.adopt(next)
		}
		return codeOK
	})
	if err := s.Announce(t.Context(), n); err != nil || s.announced {
		t.Errorf("got %v, announced %v", err, s.announced)
	}
	o.Node, o.Identity = "", ""
	if err := joined(t, o).Announce(t.Context(), coord.Node{}); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("an observer: got %v", err)
	}
}

// TestDocumentLimit: a document of the maximum size is stored and comes back, and a larger one is refused.
func TestDocumentLimit(t *testing.T) {
	_, o := newScripted(t)
	s := joined(t, o)
	for version, n := range []int{coord.MaxConfig - 1, coord.MaxConfig, coord.MaxConfig + 1} {
		data := bytes.Repeat([]byte("x"), n)
		_, err := s.Configure(t.Context(), int64(version), data)
		if n > coord.MaxConfig {
			if !errors.Is(err, concordat.ErrInvalid) {
				t.Errorf("%d bytes: got %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if all, err := s.History(t.Context(), Config, 1); err != nil || len(all) != 1 || !bytes.Equal(all[0].Data, data) {
			t.Errorf("%d bytes: got %d versions, %v", n, len(all), err)
		}
	}
}

// TestHistoryUnavailable: versions that cannot be listed are not taken for none.
func TestHistoryUnavailable(t *testing.T) {
	z, o := newScripted(t)
	s := joined(t, o)
	z.script(func(op int32, _ string) int32 {
		if op == opChildren {
			return codeNoAuth
		}
		return codeOK
	})
	if all, err := s.History(t.Context(), Config, 1); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("got %v, %v", all, err)
	}
}

// TestNotJoined: a node joins only if ZooKeeper lets it in and both have recorded that it belongs to the cluster.
func TestNotJoined(t *testing.T) {
	account, err := NewAccount("site:secret")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		op   int32
		path string // end of the path
		code int32
		kind error // nil for any, after which the node tries again
		says string
	}{
		"no digest accounts":       {opAuth, "digest", codeAuthFailed, concordat.ErrRefused, "does not support digest accounts"},
		"session not confirmed":    {opSync, "/alpha", codeSystem, nil, ""},
		"must not found":           {opCreate, "/site", codeNoAuth, concordat.ErrRefused, "does not allow account \"site\" to create"},
		"must not make the folder": {opCreate, "/concordat", codeNoAuth, concordat.ErrRefused, "does not allow account \"site\" to create"},
		"name just taken":          {opCreate, "/nodes/a", codeNodeExists, nil, "register node a"},
		"name not registered":      {opCreate, "/nodes/a", codeSystem, nil, "register node a"},
	} {
		z, o := newScripted(t)
		o.Account = account
		z.script(func(op int32, path string) int32 {
			if op == tt.op && strings.HasSuffix(path, tt.path) {
				return tt.code
			}
			return codeOK
		})
		s := &Session{o: o, t: newTree(o), log: o.Log}
		l, err := s.tryLink(t.Context())
		if err == nil {
			<-l.close()
			t.Errorf("%s: joined", name)
		} else if tt.kind != nil && !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) || final(err) != (tt.kind != nil) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestNotRegisteredUnrecorded: a node that cannot record its cluster is not registered there either.
func TestNotRegisteredUnrecorded(t *testing.T) {
	z, o := newScripted(t)
	o.Identity = filepath.Join(t.TempDir(), "missing", "a.json")
	s := &Session{o: o, t: newTree(o), log: o.Log}
	if l, err := s.tryLink(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			<-l.close()
		}
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	if _, there := z.znodes[s.t.node("a")]; there {
		t.Error("registered")
	}
}

// TestSeenNeverFalls: the highest version of the configuration seen so far stays on record when an older view arrives.
func TestSeenNeverFalls(t *testing.T) {
	_, o := newScripted(t)
	s := joined(t, o)
	for _, v := range []int64{7, 6} {
		if err := s.sawConfig(v); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := readMemory(o.Identity, "a"); err != nil || m.Config != 7 || s.seen.Config != 7 {
		t.Errorf("got %d, %v, in memory %d, want 7", m.Config, err, s.seen.Config)
	}
}

// TestReplacedCluster: a node whose connection hangs, and that finds another cluster behind a new connection, gives up.
func TestReplacedCluster(t *testing.T) {
	for what, tt := range map[string]struct {
		change func(*siteRecord)
		kind   error
	}{
		"site":    {func(r *siteRecord) { r.Site = "beta" }, ErrIdentity},
		"scheme":  {func(r *siteRecord) { r.Scheme = "packed" }, concordat.ErrScheme},
		"cluster": {func(r *siteRecord) { r.Cluster = strings.Repeat("0", 32) }, ErrIdentity},
	} {
		z, o := newScripted(t)
		s := joined(t, o)
		r, err := decodeSite(z.znodes[s.t.site()].data)
		if err != nil {
			t.Fatal(err)
		}
		tt.change(&r)
		z.put(s.t.site(), encode(r))
		s.replace(t.Context(), s.link)
		if err := s.Err(); !errors.Is(err, tt.kind) || !s.link.isDead() {
			t.Errorf("another %s: got %v, dead %v", what, err, s.link.isDead())
		}
	}
}

// TestOpenAndClose: a session confirms its node's incarnation, begins another one when it ends, and is over for all users once it is
// closed. A node whose record is damaged does not open.
func TestOpenAndClose(t *testing.T) {
	_, o := newScripted(t)
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	first := (<-s.View()).Me
	if got := s.Confirmed(); got != first || got == "" || !s.Online() {
		t.Errorf("confirmed %q, want %q, online %v", got, first, s.Online())
	}
	s.link.kill()
	limit := time.After(time.Minute)
	for me := first; me == first; {
		select {
		case v := <-s.View():
			me = v.Me
		case <-limit:
			t.Fatal("no view of another session")
		}
	}
	if err := s.Close(); err != nil || s.Online() || s.Confirmed() != "" {
		t.Errorf("got %v, online %v, confirmed %q", err, s.Online(), s.Confirmed())
	}
	for range 2 { // one may wait in each channel
		<-s.View()
		<-s.Settings()
	}
	if err := os.WriteFile(o.Identity, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), o); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("got %v", err)
		if err == nil {
			_ = s.Close()
		}
	}
}

// TestImpossibleNames: names that no shard or node can have are refused, and nothing is said of them.
func TestImpossibleNames(t *testing.T) {
	_, o := newScripted(t)
	s := joined(t, o)
	st := created(t, s, "00")
	for _, name := range []string{"", strings.Repeat("x", 256)} {
		_, read := s.Read(t.Context(), concordat.ShardID(name))
		_, cas := s.CAS(t.Context(), concordat.ShardID(name), 0, st, "")
		_, by := s.CAS(t.Context(), "00", 0, st, coord.Incarnation(strings.Repeat("x", 256)))
		create := s.Create(t.Context(), map[concordat.ShardID]coord.State{concordat.ShardID(name): st})
		for what, err := range map[string]error{"read": read, "CAS": cas, "CAS by": by, "create": create,
			"forget": s.Forget(t.Context(), coord.NodeID(name))} {
			if !errors.Is(err, concordat.ErrInvalid) {
				t.Errorf("%s, %d bytes: got %v", what, len(name), err)
			}
		}
	}
	if err := s.Forget(t.Context(), "b"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("a node that never was: got %v", err)
	}
}

// TestEvents: an event makes its znode dirty; a new connection makes everything dirty, because events may have been lost with the old one;
// and a session that ended never comes up again.
func TestEvents(t *testing.T) {
	l := &link{dead: make(chan struct{}), wake: make(chan struct{}, 1), dirty: map[string]struct{}{}}
	session := func(s zkclient.State) zkclient.Event { return zkclient.Event{Type: zkclient.EventSession, State: s} }
	for i, step := range []struct {
		event         zkclient.Event
		path          string
		all, up, dead bool
	}{
		{zkclient.Event{Type: zkclient.EventNodeDataChanged, Path: "/x"}, "/x", false, false, false},
		{session(zkclient.StateHasSession), "", true, true, false},
		{zkclient.Event{Type: zkclient.EventNodeChildrenChanged, Path: "/y"}, "/y", false, true, false},
		{session(zkclient.StateDisconnected), "", false, false, false},
		{session(zkclient.StateHasSession), "", true, true, false},
		{session(zkclient.StateConnecting), "", false, false, false},
		{session(zkclient.StateExpired), "", false, false, true},
	} {
		l.onEvent(step.event)
		dirty, all := l.take()
		_, is := dirty[step.path]
		if is != (step.path != "") || all != step.all || l.up.Load() != step.up || l.isDead() != step.dead {
			t.Errorf("event %d: dirty %v, all %v, up %v, dead %v", i, dirty, all, l.up.Load(), l.isDead())
		}
		if step.path != "" || step.all {
			<-l.wake
		}
	}
	if n := l.connects.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// TestWatchedAgain: after the event of a watch, which reports once, the znode is watched again; without one, no second watch is set.
func TestWatchedAgain(t *testing.T) {
	z, o := newScripted(t)
	s := joined(t, o)
	created(t, s, "00")
	w := newWatcher(s)
	w.begin(s.link)
	refresh := func() {
		t.Helper()
		if err := w.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	refresh()
	w.l.soilAll()
	refresh()
	paths := []string{s.t.document(Config), s.t.document(Settings), s.t.shards(), s.t.shard("00"), s.t.live()}
	for _, p := range paths {
		if z.watches[p] != 1 {
			t.Errorf("%s: %d watches, want 1", p, z.watches[p])
		}
		w.l.soil(p)
	}
	refresh()
	for _, p := range paths {
		if z.watches[p] != 2 {
			t.Errorf("%s: %d watches after an event, want 2", p, z.watches[p])
		}
	}
}

// TestEntryTaken: a node whose entry another process removed, by announcing itself under the same name, gives up. If the entry is back by
// the time that it looks again, it stays.
func TestEntryTaken(t *testing.T) {
	z, o := newScripted(t)
	s := joined(t, o)
	w := newWatcher(s)
	w.begin(s.link)
	if err := s.Announce(t.Context(), coord.Node{ID: "a", Incarnation: s.link.me}); err != nil {
		t.Fatal(err)
	}
	own := s.t.incarnation(s.link.me)
	n := z.znodes[own]
	n.owner = 1
	for _, back := range []bool{false, true, false} {
		z.put(own, n.data)
		z.znodes[own] = n
		w.l.soilAll()
		if err := w.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		delete(z.znodes, own)
		z.script(func(op int32, path string) int32 {
			if back && op == opSync && w.live[filepath.Base(own)].v.ID == "" {
				z.znodes[own] = n
			}
			return codeOK
		})
		w.l.soil(s.t.live())
		if err := w.refresh(t.Context()); (err != nil) == back || err != nil && !errors.Is(err, ErrIdentity) {
			t.Errorf("back %v: got %v", back, err)
		}
	}
}

// TestLostWatch: after a change that was not reported, even the first change of a document, the watch is set again.
func TestLostWatch(t *testing.T) {
	z, o := newScripted(t)
	s := joined(t, o)
	w := newWatcher(s)
	w.begin(s.link)
	documents := []string{s.t.document(Config), s.t.document(Settings)}
	for version := range int64(3) {
		w.l.soilAll()
		for range 2 { // what was missed is read again
			if err := w.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if w.config.Version != version || w.settings.Version != version {
			t.Errorf("got versions %d and %d, want %d", w.config.Version, w.settings.Version, version)
		}
		for _, p := range documents {
			if z.watches[p] != int(version)+1 {
				t.Errorf("%s, version %d: %d watches", p, version, z.watches[p])
			}
			z.put(p, []byte("x"))
		}
	}
}

// TestStumbleLogged: a failed read is logged as long as ZooKeeper is there; that it is gone is logged once, elsewhere.
func TestStumbleLogged(t *testing.T) {
	var log bytes.Buffer
	s := &Session{log: slog.New(slog.NewTextHandler(&log, nil))}
	logged := func(l *link) bool {
		log.Reset()
		s.stumble(t.Context(), l, errDown, 2)
		return strings.Contains(log.String(), "cannot read from ZooKeeper")
	}
	l := &link{dead: make(chan struct{}), wake: make(chan struct{}, 1)}
	if logged(l) {
		t.Error("logged without a server")
	}
	l.up.Store(true)
	if !logged(l) {
		t.Error("not logged")
	}
	l.kill()
	if logged(l) {
		t.Error("logged after the session ended")
	}
}

// TestRereadInterval: everything is reread after the configured interval, give or take a fifth.
func TestRereadInterval(t *testing.T) {
	least, most := time.Duration(math.MaxInt64), time.Duration(0)
	for range 1000 {
		d := varied(time.Minute)
		least, most = min(least, d), max(most, d)
	}
	if least < 48*time.Second || least > 50*time.Second || most < 70*time.Second || most >= 72*time.Second {
		t.Errorf("got %v to %v", least, most)
	}
}

// TestHostsInRounds: each server is tried once before the library pauses, counting from the last server that worked.
func TestHostsInRounds(t *testing.T) {
	h := new(hosts)
	if err := h.Init([]string{"0", "1", "2"}); err != nil {
		t.Fatal(err)
	}
	last := ""
	for i, want := range []bool{false, false, false, true, false, false, true, false, false, false, true} {
		if i == 7 {
			h.Connected()
		}
		server, again := h.Next()
		if again != want || server == last {
			t.Errorf("try %d: server %s after %s, again %v, want %v", i, server, last, again, want)
		}
		last = server
	}
}

// deadlined is a connection that only remembers its deadlines, and answers with the given bytes, one by one.
type deadlined struct {
	net.Conn
	reads, writes time.Time
	answer        []byte
}

func (d *deadlined) SetReadDeadline(t time.Time) error  { d.reads = t; return nil }
func (d *deadlined) SetWriteDeadline(t time.Time) error { d.writes = t; return nil }

func (d *deadlined) Read(b []byte) (int, error) {
	b[0], d.answer = d.answer[0], d.answer[1:]
	return 1, nil
}

// TestHungServer: a server that hangs costs a third of the session timeout during the handshake, and two thirds of the granted timeout
// afterwards, so that the session reaches another one; shorter deadlines remain.
func TestHungServer(t *testing.T) {
	d := new(deadlined)
	l := &link{wanted: 30 * time.Second}
	l.granted.Store(int64(60 * time.Second))
	c := &clipped{Conn: d, link: l}
	near := func(what string, got time.Time, want time.Duration) {
		t.Helper()
		if left := time.Until(got); left > want || left < want-5*time.Second {
			t.Errorf("%s: %v, want %v", what, left, want)
		}
	}
	hour := time.Now().Add(time.Hour)
	for i, step := range []struct {
		asked time.Time
		want  time.Duration
	}{{hour, 10 * time.Second}, {hour, 40 * time.Second}, {time.Time{}, 40 * time.Second},
		{time.Now().Add(20 * time.Second), 20 * time.Second}} {
		if err := c.SetReadDeadline(step.asked); err != nil {
			t.Fatal(err)
		}
		near("read", d.reads, step.want)
		if i == 2 {
			continue // the library ends a deadline for writing by setting none
		}
		if err := c.SetWriteDeadline(step.asked); err != nil {
			t.Fatal(err)
		}
		near("write", d.writes, 20*time.Second)
	}
	if err := c.SetWriteDeadline(time.Time{}); err != nil || !d.writes.IsZero() {
		t.Errorf("got %v, %v", d.writes, err)
	}
}

// TestGrantedTimeout: the session timeout in ZooKeeper's answer counts, and one for which the library fails is refused. An ended session
// is not.
func TestGrantedTimeout(t *testing.T) {
	for milliseconds, want := range map[uint32]time.Duration{0: time.Second, 99: 0, 100: 100 * time.Millisecond, 4000: 4 * time.Second,
		600_000: 10 * time.Minute, 600_001: 0, math.MaxUint32: 0} {
		l := new(link)
		l.granted.Store(int64(time.Second))
		answer := make([]byte, 24)
		answer[8], answer[9], answer[10], answer[11] = byte(milliseconds>>24), byte(milliseconds>>16), byte(milliseconds>>8), byte(milliseconds)
		c := &clipped{Conn: &deadlined{answer: answer}, link: l}
		var err error
		for i := range answer {
			if _, e := c.Read(make([]byte, 8)); e != nil {
				if err = e; i != 19 {
					t.Errorf("%d ms: byte %d: %v", milliseconds, i, e)
				}
			}
		}
		if (err != nil) != (want == 0) || err == nil && l.timeout() != want {
			t.Errorf("%d ms: got %v, %v, want %v", milliseconds, l.timeout(), err, want)
		}
	}
}

// TestForeignNames: names in the tree that this program never gives are not taken for its own.
func TestForeignNames(t *testing.T) {
	for _, n := range []struct {
		node        coord.NodeID
		incarnation string
		want        bool
	}{{"a", "a:1", true}, {"a", "a", false}, {"", ":1", false}, {"a", "ab:1", false}, {"a", ":1", false}} {
		if got := ofNode(n.node, n.incarnation); got != n.want {
			t.Errorf("%q of %q: got %v", n.incarnation, n.node, got)
		}
	}
	for level, want := range map[string]int64{"0000000012": 12, "0000000000": 0, "-000000001": 0, "12": 0, "00000000012": 0, "000000000x": 0} {
		if got, ok := parsePast(level); ok != (want > 0) || ok && got != want {
			t.Errorf("%q: got %d, %v", level, got, ok)
		}
	}
}

// TestAccountUnreadable: a file that cannot be read is not taken for no account.
func TestAccountUnreadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "account")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if a, err := ReadAccount(dir); err == nil {
		t.Errorf("got %v", a)
	}
}
