//go:build linux

package zk_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	zkclient "github.com/go-zookeeper/zk"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/internal/coordtest"
	"concordat/internal/zktest"
)

// timeout is the session timeout in tests. Some tests wait three times as long, and a busy machine must still meet it.
const timeout = 5 * time.Second

// patience is how long tests wait for an event that must happen.
const patience = 5 * time.Minute

var roots atomic.Int64

// world is an empty cluster in a ZooKeeper, with the nodes' folders.
type world struct {
	e    *zktest.Ensemble
	root string
	dir  string
	log  *lines

	mu      sync.Mutex // guards proxies
	proxies map[coord.NodeID]*zktest.Proxy
}

func newWorld(t *testing.T, e *zktest.Ensemble) *world {
	return &world{e: e, root: fmt.Sprintf("/test/w%d", roots.Add(1)), dir: t.TempDir(), log: new(lines),
		proxies: map[coord.NodeID]*zktest.Proxy{}}
}

func (w *world) options(node coord.NodeID) zk.Options {
	return zk.Options{
		Servers: w.e.Addresses(), Root: w.root, Site: "alpha", Scheme: "natural", Node: node, Found: true,
		Identity: filepath.Join(w.dir, string(node)+".json"), Account: account("site:secret"), Timeout: timeout, Reread: time.Minute,
		Log: w.log.logger(),
	}
}

func account(text string) zk.Account {
	a, err := zk.NewAccount(text)
	if err != nil {
		panic(err)
	}
	return a
}

func open(t *testing.T, o zk.Options) *zk.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := zk.Open(ctx, o)
	for errors.Is(err, concordat.ErrUnavailable) && ctx.Err() == nil { // three session timeouts are not enough on a busy machine
		s, err = zk.Open(ctx, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// joinThrough opens a session of the node through a separate proxy.
func (w *world) joinThrough(t *testing.T, node coord.NodeID) *zk.Session {
	w.mu.Lock()
	p := w.proxies[node]
	if p == nil {
		p = zktest.NewProxy(t, w.e.Addresses()[0])
		w.proxies[node] = p
	}
	w.mu.Unlock()
	o := w.options(node)
	o.Servers = []string{p.Address()}
	return open(t, o)
}

// until receives views until one satisfies the condition.
func until(t *testing.T, c coord.Session, what string, pleases func(coord.View) bool) coord.View {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case v, ok := <-c.View():
			if !ok {
				t.Fatalf("%s: views ended", what)
			}
			if pleases(v) {
				return v
			}
		case <-limit:
			t.Fatalf("%s: no such view", what)
		}
	}
}

// eventually polls a condition that no channel announces.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func announce(t *testing.T, c coord.Session, node coord.NodeID) coord.Incarnation {
	t.Helper()
	me := until(t, c, "incarnation", func(v coord.View) bool { return v.Me != "" }).Me
	must(t, c.Announce(t.Context(), coord.Node{ID: node, Incarnation: me, Address: string(node) + ":1"}))
	return me
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func state(epoch uint64, isr ...coord.NodeID) coord.State {
	return coord.State{Epoch: epoch, ISR: isr, Replicas: isr}
}

// TestOne tests everything that needs only one server. It is a single test, so the server starts only once.
func TestOne(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, 1)
	t.Run("contract", func(t *testing.T) {
		var w *world
		cut := func(t *testing.T, node coord.NodeID, cut bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.proxies[node].Cut(cut)
		}
		coordtest.Run(t, coordtest.Subject{
			Patience: patience,
			New: func(t *testing.T) func(coord.NodeID) coordtest.Session {
				w = newWorld(t, e)
				return func(node coord.NodeID) coordtest.Session { return w.joinThrough(t, node) }
			},
			Expire: func(t *testing.T, node coord.NodeID) {
				o := w.options("")
				seer := open(t, o)
				cut(t, node, true)
				until(t, seer, "session expired", func(v coord.View) bool { _, there := v.Live[node]; return !there })
				cut(t, node, false)
			},
			Cut: cut,
		})
	})
	for name, test := range map[string]func(*testing.T, *world){
		"names": names, "password": password, "other": other, "twice": twice, "copied": copied, "forget": forget,
		"history": history, "missed": missed, "queued": queued, "older": older, "locked out": lockedOut,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t, e)) })
	}
}

// names: names of any kind are read back unchanged.
func names(t *testing.T, w *world) {
	s := open(t, w.options("a.b-c_d"))
	shards := map[concordat.ShardID]coord.State{}
	for _, id := range []concordat.ShardID{"00", "theses/00", ".", "..", "...", "a%2Fb", "论文/07", "a b?c#d:e", "\x01\xff"} {
		shards[id] = state(1, "a.b-c_d")
	}
	must(t, s.Create(t.Context(), shards))
	v := until(t, s, "shards", func(v coord.View) bool { return len(v.Shards) == len(shards) })
	for id := range shards {
		if _, ok := v.Shards[id]; !ok {
			t.Errorf("%q is not among %v", id, v.Shards)
		}
		if _, err := s.Read(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Read(t.Context(), concordat.ShardID(strings.Repeat("x", 256))); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func refused(t *testing.T, o zk.Options, kind error, words ...string) {
	t.Helper()
	s, err := zk.Open(t.Context(), o)
	if err == nil {
		s.Close()
		t.Fatal("let in")
	}
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
	if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "wrong1") {
		t.Errorf("the password is in: %v", err)
	}
}

// password: clients without it see nothing, and it is never printed.
func password(t *testing.T, w *world) {
	s := open(t, w.options("a"))
	must(t, s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": state(1, "a")}))
	o := w.options("b")
	o.Account = account("site:wrong1")
	refused(t, o, concordat.ErrRefused, "user or password is wrong", "site")
	o.Account = zk.Account{}
	refused(t, o, concordat.ErrRefused, "user or password is wrong")
	for _, p := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", o.Account, w.options("a"), w.options("a").Account, account("u:secret"),
		account("u:secret"), account("u:secret")), w.log.String()} {
		if strings.Contains(p, "secret") || strings.Contains(p, "736563726574") {
			t.Errorf("the password is in: %s", p)
		}
	}
	if !strings.Contains(w.log.String(), "without an account") {
		t.Error("nobody was warned of the open znodes")
	}
}

// lockedOut: a node whose account ZooKeeper no longer accepts reports this and does not reconnect.
func lockedOut(t *testing.T, w *world) {
	o := w.options("a")
	o.Reread = time.Second
	s := open(t, o)
	announce(t, s, "a")
	_, err := rawClient(t, w).SetACL(w.root+"/site", zkclient.DigestACL(zkclient.PermAll, "site", "other"), -1)
	must(t, err)
	eventually(t, "the node says so", func() bool { return s.Err() != nil })
	if !errors.Is(s.Err(), concordat.ErrRefused) || s.Online() {
		t.Errorf("got %v, online %v", s.Err(), s.Online())
	}
}

// other sites, schemes and clusters are refused.
func other(t *testing.T, w *world) {
	open(t, w.options("a"))
	o := w.options("b")
	o.Site = "beta"
	refused(t, o, zk.ErrIdentity, "alpha", "beta")
	o = w.options("b")
	o.Scheme = "packed"
	refused(t, o, concordat.ErrScheme, "natural", "packed")
	o = w.options("b")
	o.Root += "-not-there"
	o.Found = false
	refused(t, o, concordat.ErrNotFound, o.Root)
	o = w.options("a") // remembers the first cluster
	o.Root += "-new"
	refused(t, o, zk.ErrIdentity, "its data was lost")
	foreign := w.options("c")
	foreign.Root += "-new"
	open(t, foreign)
	refused(t, o, zk.ErrIdentity, "a new cluster was created")
}

// twice: a second folder under the same name is refused, whether or not the first node is there.
func twice(t *testing.T, w *world) {
	a := open(t, w.options("a"))
	announce(t, a, "a")
	o := w.options("a")
	o.Identity = filepath.Join(t.TempDir(), "a.json")
	refused(t, o, zk.ErrIdentity, "another installation is registered as node a")
	must(t, a.Close())
	refused(t, o, zk.ErrIdentity, "concordat cluster zookeeper forget a")
	o = w.options("b")
	o.Identity = w.options("a").Identity
	refused(t, o, zk.ErrIdentity, "belongs to node a")
	open(t, w.options("a"))
}

// copied: a second process with a copy of the folder takes over, and the first process reports this and does not reconnect.
func copied(t *testing.T, w *world) {
	first := open(t, w.options("a"))
	announce(t, first, "a")
	second := open(t, w.options("a"))
	me := announce(t, second, "a")
	eventually(t, "the first gave up", func() bool { return first.Err() != nil })
	if !errors.Is(first.Err(), zk.ErrIdentity) || first.Online() {
		t.Errorf("got %v, online %v", first.Err(), first.Online())
	}
	if _, err := first.Read(t.Context(), "00"); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	until(t, second, "the second is live", func(v coord.View) bool { return v.Live["a"].Incarnation == me })
	if !second.Online() {
		t.Error("the second is not online")
	}
}

func forget(t *testing.T, w *world) {
	a, b := open(t, w.options("a")), open(t, w.options("b"))
	announce(t, a, "a")
	must(t, b.Create(t.Context(), map[concordat.ShardID]coord.State{"00": state(1, "a")}))
	if err := b.Forget(t.Context(), "a"); !errors.Is(err, concordat.ErrRefused) || !strings.Contains(err.Error(), "live") {
		t.Errorf("got %v", err)
	}
	must(t, a.Close())
	until(t, b, "a is gone", func(v coord.View) bool { _, there := v.Live["a"]; return !there })
	if err := b.Forget(t.Context(), "a"); !errors.Is(err, concordat.ErrRefused) || !strings.Contains(err.Error(), "shard 00") {
		t.Errorf("got %v", err)
	}
	if _, err := b.CAS(t.Context(), "00", 0, state(2, "b"), ""); err != nil {
		t.Fatal(err)
	}
	must(t, b.Forget(t.Context(), "a"))
	if err := b.Forget(t.Context(), "a"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	o := w.options("a")
	o.Identity = filepath.Join(t.TempDir(), "new.json")
	open(t, o)
	if got, err := b.Nodes(t.Context()); err != nil || fmt.Sprint(got) != "[a b]" {
		t.Errorf("got %v, %v", got, err)
	}
}

// history: the newest versions of each document are kept, with their contents.
func history(t *testing.T, w *world) {
	s, other := open(t, w.options("a")), open(t, w.options(""))
	const versions = 103
	for d, set := range map[zk.Document]func(context.Context, int64, []byte) (int64, error){zk.Config: s.Configure,
		zk.Settings: s.SetSettings} {
		for v := range int64(versions) {
			if got, err := set(t.Context(), v, fmt.Appendf(nil, "%s %d", d, v+1)); err != nil || got != v+1 {
				t.Fatalf("got %d, %v", got, err)
			}
		}
		if _, err := set(t.Context(), 7, nil); !errors.Is(err, coord.ErrStale) {
			t.Errorf("got %v", err)
		}
		all, err := s.History(t.Context(), d, 1000)
		must(t, err)
		if len(all) != 100 {
			t.Errorf("%d versions, want 100", len(all))
		}
		for i, p := range all {
			if want := int64(versions - i); p.Version != want || string(p.Data) != fmt.Sprintf("%s %d", d, want) {
				t.Errorf("got %d %q, want %d", p.Version, p.Data, want)
			}
			if p.Set.IsZero() || i > 0 && p.Set.After(all[i-1].Set) {
				t.Errorf("version %d was set at %v", p.Version, p.Set)
			}
		}
		if some, err := s.History(t.Context(), d, 2); err != nil || len(some) != 2 {
			t.Errorf("got %v, %v", some, err)
		}
	}
	for last := int64(-1); last != versions; {
		select {
		case c := <-other.Settings():
			if c.Version <= last || c.Version > 0 && string(c.Data) != fmt.Sprintf("settings %d", c.Version) {
				t.Fatalf("version %d %q after %d", c.Version, c.Data, last)
			}
			last = c.Version
		case <-time.After(patience):
			t.Fatalf("settings stay at %d", last)
		}
	}
}

// older: if the configuration in ZooKeeper has a lower version than the node has seen, ZooKeeper was reset to an older state.
func older(t *testing.T, w *world) {
	s := open(t, w.options("a"))
	for v := range int64(3) {
		if _, err := s.Configure(t.Context(), v, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	until(t, s, "version 3", func(v coord.View) bool { return v.Config.Version == 3 })
	must(t, s.Close())
	raw := rawClient(t, w)
	_, stat, err := raw.Get(w.root + "/config")
	must(t, err)
	for v := range 3 {
		must(t, raw.Delete(fmt.Sprintf("%s/config/%010d", w.root, v+1), -1))
	}
	must(t, raw.Delete(w.root+"/config", stat.Version))
	_, err = raw.Create(w.root+"/config", nil, 0, acl())
	must(t, err)
	refused(t, w.options("a"), zk.ErrIdentity, "reset to an older state", "version 0", "already seen version 3")
}
