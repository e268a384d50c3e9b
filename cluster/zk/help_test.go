//go:build linux

package zk_test

import (
	"bytes"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	zkclient "github.com/go-zookeeper/zk"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
)

// lines is a log in memory.
type lines struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func acl() []zkclient.ACL { return zkclient.DigestACL(zkclient.PermAll, "site", "secret") }

// rawClient is the client library without the project's wrapper, as an operator would use it.
func rawClient(t *testing.T, w *world) *zkclient.Conn {
	t.Helper()
	c, events, err := zkclient.Connect(w.e.Addresses(), 10*time.Second, zkclient.WithLogInfo(false))
	must(t, err)
	go func() {
		for range events {
		}
	}()
	t.Cleanup(c.Close)
	must(t, c.AddAuth("digest", []byte("site:secret")))
	return c
}

// missed: a change that a watch did not report is found and reported when everything is read again.
func missed(t *testing.T, w *world) {
	o := w.options("a")
	o.Reread = time.Second
	s := open(t, o)
	must(t, s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": state(1, "a")}))
	until(t, s, "the shard", func(v coord.View) bool { return len(v.Shards) == 1 })
	zk.DropEvents(s, true)
	if _, err := s.CAS(t.Context(), "00", 0, state(2, "a"), ""); err != nil {
		t.Fatal(err)
	}
	until(t, s, "the change", func(v coord.View) bool { return v.Shards["00"].Epoch == 2 })
	zk.DropEvents(s, false)
	if _, err := s.CAS(t.Context(), "00", 1, state(3, "a"), ""); err != nil {
		t.Fatal(err)
	}
	until(t, s, "the next change", func(v coord.View) bool { return v.Shards["00"].Epoch == 3 })
}

// queued: changes that wait in a cut link never happen in the next session, and are reported as unknown or not made. None blocks for
// longer than allowed.
func queued(t *testing.T, w *world) {
	a, b := w.joinThrough(t, "a"), open(t, w.options("b"))
	me := announce(t, a, "a")
	must(t, b.Create(t.Context(), map[concordat.ShardID]coord.State{"00": state(1, "a"), "01": state(1, "a")}))
	until(t, b, "a is live", func(v coord.View) bool { return v.Live["a"].Incarnation == me })
	w.proxies["a"].Cut(true)
	const calls = 100 // more than the limit at a time
	errs := make(chan error, calls)
	for range calls {
		go func() {
			_, err := a.CAS(t.Context(), "00", 0, state(2, "a"), me)
			errs <- err
		}()
	}
	for range calls {
		if err := <-errs; !unmade(err) {
			t.Errorf("got %v", err)
		}
	}
	until(t, b, "a is gone", func(v coord.View) bool { _, there := v.Live["a"]; return !there })
	w.proxies["a"].Cut(false)
	v := until(t, a, "another session", func(v coord.View) bool { return v.Me != me })
	must(t, a.Announce(t.Context(), coord.Node{ID: "a", Incarnation: v.Me}))
	if got, err := b.Read(t.Context(), "00"); err != nil || got.Version != 0 {
		t.Errorf("a change of the dead incarnation was made: %v, %v", got, err)
	}
}

// unmade reports whether err denies that the change was made, or leaves it open.
func unmade(err error) bool {
	return errors.Is(err, concordat.ErrUnavailable) || errors.Is(err, coord.ErrUnknown)
}
