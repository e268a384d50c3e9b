// Package coordtest expresses the contract of a coordinator as a test suite for every implementation.
package coordtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// Session is everything that a coordinator offers.
type Session interface {
	coord.Session
	coord.Founder
}

// Subject is an implementation under test.
type Subject struct {
	// New creates an empty coordinator and returns a function that begins sessions with it. New's own cleanup closes sessions that the
	// test leaves open.
	New func(t *testing.T) func(node coord.NodeID) Session
	// Expire ends the node's session at the coordinator, as if the node had been silent; nil if that is impossible.
	Expire func(t *testing.T, node coord.NodeID)
	// Cut separates the node from the coordinator, or reconnects it; nil if that is impossible.
	Cut func(t *testing.T, node coord.NodeID, cut bool)
	// Patience is how long the suite waits for a required event; default 40 s.
	Patience time.Duration
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	if s.Patience == 0 {
		s.Patience = 40 * time.Second
	}
	for name, test := range map[string]func(*testing.T, *suite){
		"create": create, "cas": cas, "invalid": invalid, "race": race, "live": live, "by": by,
		"views": views, "config": config, "close": closed, "expire": expire, "cut": cut,
	} {
		t.Run(name, func(t *testing.T) { test(t, &suite{s, s.New(t)}) })
	}
}

type suite struct {
	Subject
	join func(coord.NodeID) Session
}

const shard = concordat.ShardID("00")

func state(epoch uint64, isr ...coord.NodeID) coord.State {
	return coord.State{Epoch: epoch, ISR: isr, Replicas: isr}
}

// until receives views until one meets the condition.
func (s *suite) until(t *testing.T, c Session, what string, pleases func(coord.View) bool) coord.View {
	t.Helper()
	timeout := time.After(s.Patience)
	for {
		select {
		case v, ok := <-c.View():
			if !ok {
				t.Fatalf("%s: the channel of views was closed", what)
			}
			if pleases(v) {
				return v
			}
		case <-timeout:
			t.Fatalf("%s: no view of this kind arrived within %v", what, s.Patience)
		}
	}
}

// me returns the session's incarnation.
func (s *suite) me(t *testing.T, c Session) coord.Incarnation {
	t.Helper()
	return s.until(t, c, "incarnation", func(v coord.View) bool { return v.Me != "" }).Me
}

// announce makes the node live and returns its incarnation.
func (s *suite) announce(t *testing.T, c Session, node coord.NodeID) coord.Incarnation {
	t.Helper()
	me := s.me(t, c)
	must(t, c.Announce(t.Context(), coord.Node{ID: node, Incarnation: me, Address: string(node) + ":1"}))
	return me
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
	}
}

func create(t *testing.T, s *suite) {
	c := s.join("a")
	_, err := c.Read(t.Context(), shard)
	want(t, err, concordat.ErrNotFound)
	must(t, c.Create(t.Context(), map[concordat.ShardID]coord.State{shard: state(1, "a"), "01": state(1, "b")}))
	got, err := c.Read(t.Context(), shard)
	must(t, err)
	if got.Version != 0 || !got.Equal(state(1, "a")) {
		t.Errorf("got %+v", got)
	}
	// Create creates all shards or none.
	want(t, c.Create(t.Context(), map[concordat.ShardID]coord.State{"02": state(1, "a"), shard: state(9, "a")}), concordat.ErrExists)
	_, err = c.Read(t.Context(), "02")
	want(t, err, concordat.ErrNotFound)
}

func cas(t *testing.T, s *suite) {
	a, b := s.join("a"), s.join("b")
	_, err := a.CAS(t.Context(), shard, 0, state(1, "a"), "")
	want(t, err, concordat.ErrNotFound)
	must(t, a.Create(t.Context(), map[concordat.ShardID]coord.State{shard: state(1, "a", "b")}))
	full := coord.State{Epoch: 2, ISR: []coord.NodeID{"b", "a"}, Hold: []coord.NodeID{"a"}, Leader: "b:7",
		Replicas: []coord.NodeID{"a", "b", "c"}}
	v, err := b.CAS(t.Context(), shard, 0, full, "")
	must(t, err)
	if v != 1 {
		t.Errorf("version %d, want 1", v)
	}
	// One session reads what the other wrote.
	got, err := a.Read(t.Context(), shard)
	must(t, err)
	if got.Version != 1 || !got.Equal(full) {
		t.Errorf("got %+v, want %+v", got, full)
	}
	_, err = a.CAS(t.Context(), shard, 0, state(3, "a"), "")
	want(t, err, coord.ErrStale)
	_, err = a.CAS(t.Context(), shard, 2, state(3, "a"), "")
	want(t, err, coord.ErrStale)
	if got, err = a.Read(t.Context(), shard); err != nil || got.Epoch != 2 {
		t.Errorf("a change was made although it had been refused: %+v, %v", got, err)
	}
}

func invalid(t *testing.T, s *suite) {
	c := s.join("a")
	must(t, c.Create(t.Context(), map[concordat.ShardID]coord.State{shard: state(1, "a")}))
	for _, bad := range []coord.State{
		{}, {ISR: []coord.NodeID{"a"}}, state(2, "a", "a"), state(2, ""),
		{ISR: []coord.NodeID{"a"}, Replicas: []coord.NodeID{"a"}, Hold: []coord.NodeID{"b"}},
	} {
		_, err := c.CAS(t.Context(), shard, 0, bad, "")
		want(t, err, concordat.ErrInvalid)
		want(t, c.Create(t.Context(), map[concordat.ShardID]coord.State{"05": bad}), concordat.ErrInvalid)
	}
}

// race makes many sessions change the same version; each time, exactly one must win.
func race(t *testing.T, s *suite) {
	c := s.join("a")
	must(t, c.Create(t.Context(), map[concordat.ShardID]coord.State{shard: state(0, "a")}))
	const contenders, rounds = 4, 10
	var sessions []Session
	for i := range contenders {
		sessions = append(sessions, s.join(coord.NodeID(fmt.Sprintf("n%d", i))))
	}
	for round := range rounds {
		won := make([]bool, contenders)
		var wg sync.WaitGroup
		for i, x := range sessions {
			wg.Go(func() {
				_, err := x.CAS(t.Context(), shard, int64(round), state(uint64(round+1), coord.NodeID(fmt.Sprintf("n%d", i))), "")
				if won[i] = err == nil; err != nil && !errors.Is(err, coord.ErrStale) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := c.Read(t.Context(), shard)
		must(t, err)
		winners := 0
		for i, w := range won {
			if w {
				winners++
				if got.ISR[0] != coord.NodeID(fmt.Sprintf("n%d", i)) {
					t.Errorf("node n%d won, but the state is %v", i, got)
				}
			}
		}
		if winners != 1 || got.Version != int64(round+1) {
			t.Errorf("round %d has %d winners and version %d", round, winners, got.Version)
		}
	}
}

func live(t *testing.T, s *suite) {
	a, b := s.join("a"), s.join("b")
	me := s.me(t, a)
	want(t, a.Announce(t.Context(), coord.Node{ID: "a", Incarnation: "other"}), coord.ErrSession)
	n := coord.Node{ID: "a", Incarnation: me, Address: "x:1", Version: "v", Zone: "z", FreeBytes: 7}
	must(t, a.Announce(t.Context(), n))
	v := s.until(t, b, "a is live", func(v coord.View) bool { return v.Live["a"].Incarnation == me })
	if v.Live["a"] != n {
		t.Errorf("got %+v, want %+v", v.Live["a"], n)
	}
	n.FreeBytes = 8
	must(t, a.Announce(t.Context(), n))
	s.until(t, b, "a announced its new state", func(v coord.View) bool { return v.Live["a"] == n })
	must(t, a.Close())
	s.until(t, b, "a is gone", func(v coord.View) bool { _, there := v.Live["a"]; return !there })
	// Announcing the same node again yields a different incarnation.
	if again := s.announce(t, s.join("a"), "a"); again == me {
		t.Errorf("incarnation %s was used again", again)
	}
}

// by checks that only a live incarnation can change a shard in its name.
func by(t *testing.T, s *suite) {
	a := s.join("a")
	must(t, a.Create(t.Context(), map[concordat.ShardID]coord.State{shard: state(1, "a")}))
	me := s.me(t, a)
	_, err := a.CAS(t.Context(), shard, 0, state(2, "a"), me)
	want(t, err, coord.ErrSession)
	must(t, a.Announce(t.Context(), coord.Node{ID: "a", Incarnation: me}))
	_, err = a.CAS(t.Context(), shard, 0, state(2, "a"), me)
	must(t, err)
	_, err = a.CAS(t.Context(), shard, 1, state(3, "a"), "nobody")
	want(t, err, coord.ErrSession)
}

// views checks that views reach every session, never go back, and end with the newest.
func views(t *testing.T, s *suite) {
	a, b := s.join("a"), s.join("b")
	must(t, a.Create(t.Context(), map[concordat.ShardID]coord.State{shard: state(0, "a")}))
	const changes = 30
	go func() {
		for i := range int64(changes) {
			if _, err := a.CAS(context.Background(), shard, i, state(uint64(i+1), "a"), ""); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	last := int64(-1)
	s.until(t, b, "the last version", func(v coord.View) bool {
		sh, ok := v.Shards[shard]
		if ok && sh.Version < last {
			t.Errorf("got version %d after version %d", sh.Version, last)
		}
		if ok {
			last = sh.Version
			if sh.Epoch != uint64(last) {
				t.Errorf("got version %d with epoch %d", last, sh.Epoch)
			}
		}
		return last == changes
	})
}

func config(t *testing.T, s *suite) {
	a, b := s.join("a"), s.join("b")
	v, err := a.Configure(t.Context(), 0, []byte("one"))
	must(t, err)
	if v != 1 {
		t.Errorf("version %d, want 1", v)
	}
	_, err = b.Configure(t.Context(), 0, []byte("two"))
	want(t, err, coord.ErrStale)
	_, err = b.Configure(t.Context(), 1, bytes.Repeat([]byte("x"), coord.MaxConfig+1))
	want(t, err, concordat.ErrInvalid)
	got := s.until(t, b, "configuration", func(v coord.View) bool { return v.Config.Version == 1 })
	if string(got.Config.Data) != "one" {
		t.Errorf("got %q", got.Config.Data)
	}
}

func closed(t *testing.T, s *suite) {
	a := s.join("a")
	must(t, a.Create(t.Context(), map[concordat.ShardID]coord.State{shard: state(0, "a")}))
	must(t, a.Close())
	must(t, a.Close())
	if a.Online() {
		t.Error("the session is online after Close")
	}
	if got := a.Confirmed(); got != "" {
		t.Errorf("the session has a confirmed incarnation after Close: %q", got)
	}
	_, err := a.CAS(t.Context(), shard, 0, state(1, "a"), "")
	want(t, err, concordat.ErrUnavailable)
	timeout := time.After(s.Patience)
	for {
		select {
		case _, ok := <-a.View():
			if !ok {
				return
			}
		case <-timeout:
			t.Fatal("the channel of views was not closed")
		}
	}
}

func expire(t *testing.T, s *suite) {
	if s.Expire == nil {
		t.Skip("a test cannot end this coordinator's sessions")
	}
	a, b := s.join("a"), s.join("b")
	must(t, a.Create(t.Context(), map[concordat.ShardID]coord.State{shard: state(1, "a")}))
	me := s.announce(t, a, "a")
	s.until(t, b, "a is live", func(v coord.View) bool { return v.Live["a"].Incarnation == me })
	if got := a.Confirmed(); got != me {
		t.Errorf("the confirmed incarnation is %q, want %q", got, me)
	}
	s.Expire(t, "a")
	s.until(t, b, "a is gone", func(v coord.View) bool { _, there := v.Live["a"]; return !there })
	v := s.until(t, a, "another incarnation", func(v coord.View) bool { return v.Me != me && v.Me != "" })
	if n, there := v.Live["a"]; there {
		t.Errorf("the node is live as %v without having been announced", n)
	}
	if got := a.Confirmed(); got == me {
		t.Errorf("the confirmed incarnation is still %q", got)
	}
	// A change begun under the old incarnation cannot take effect under the new one.
	must(t, a.Announce(t.Context(), coord.Node{ID: "a", Incarnation: v.Me}))
	_, err := a.CAS(t.Context(), shard, 0, state(2, "a"), me)
	want(t, err, coord.ErrSession)
	_, err = a.CAS(t.Context(), shard, 0, state(2, "a"), v.Me)
	must(t, err)
}

func cut(t *testing.T, s *suite) {
	if s.Cut == nil {
		t.Skip("a test cannot disconnect this coordinator")
	}
	a, b := s.join("a"), s.join("b")
	must(t, a.Create(t.Context(), map[concordat.ShardID]coord.State{shard: state(1, "a")}))
	s.announce(t, a, "a")
	s.Cut(t, "a", true)
	deadline := time.Now().Add(s.Patience)
	for a.Online() {
		if time.Now().After(deadline) {
			t.Fatal("the session is online without a coordinator")
		}
		time.Sleep(10 * time.Millisecond) // users of Online poll it, too
	}
	if got := a.Confirmed(); got != "" {
		t.Errorf("the session has a confirmed incarnation without a coordinator: %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), s.Patience/4)
	defer cancel()
	if _, err := a.CAS(ctx, shard, 0, state(2, "a"), ""); !errors.Is(err, concordat.ErrUnavailable) && !errors.Is(err, coord.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	now, err := b.Read(t.Context(), shard)
	must(t, err)
	_, err = b.CAS(t.Context(), shard, now.Version, state(3, "b"), "")
	must(t, err)
	s.Cut(t, "a", false)
	s.until(t, a, "the changes made in the meantime", func(v coord.View) bool { return v.Shards[shard].Epoch == 3 })
}
