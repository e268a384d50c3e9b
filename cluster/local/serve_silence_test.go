package local

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// TestSilence: a client that is silent for longer than the timeout loses its incarnation once, and after ten timeouts its place. A
// client that calls keeps both.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = time.Minute
		hub := new(Hub)
		s := NewServer(hub, timeout)
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- s.Run(ctx) }()
		must := func(path string, in call) answer {
			t.Helper()
			out, err := s.do(ctx, path, in)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		names, first := map[coord.NodeID]string{}, map[coord.NodeID]coord.Incarnation{}
		for _, node := range []coord.NodeID{"silent", "calling"} {
			names[node] = must("/join", call{Node: node}).Client
			first[node] = must("/view", call{Client: names[node]}).Me
			must("/announce", call{Client: names[node], Me: &coord.Node{ID: node, Incarnation: first[node]}})
		}
		live := func(node coord.NodeID) bool {
			hub.mu.Lock()
			defer hub.mu.Unlock()
			return hub.live[node].Incarnation == first[node]
		}
		session := s.clients[names["silent"]].session
		var second coord.Incarnation
		const step = time.Second
		for at := step; at <= 11*timeout; at += step {
			time.Sleep(step)
			synctest.Wait()
			must("/announce", call{Client: names["calling"], Me: &coord.Node{ID: "calling", Incarnation: first["calling"]}})
			me := session.Confirmed() // empty once the session is closed
			switch sweep := timeout / 20; {
			case at <= timeout:
				if !live("silent") || me != first["silent"] {
					t.Fatalf("after %v: incarnation %s, live %v", at, me, live("silent"))
				}
			case at <= timeout+sweep:
				second = me
			case at <= 10*timeout:
				if live("silent") || second == first["silent"] || me != second {
					t.Fatalf("after %v: incarnation %s after %s and %s, live %v", at, me, first["silent"], second, live("silent"))
				}
			case at > 10*timeout+sweep:
				if me != "" {
					t.Fatalf("after %v: incarnation %s", at, me)
				}
			}
			if !live("calling") {
				t.Fatalf("after %v: the calling client is gone", at)
			}
		}
		for range 2 {
			if _, err := s.do(ctx, "/read", call{Client: names["silent"], Shard: "00"}); !errors.Is(err, errClient) {
				t.Errorf("got %v, want %v", err, errClient)
			}
		}
		if len(s.clients) != 1 || len(hub.sessions) != 1 {
			t.Errorf("%d clients and %d sessions are left, want 1", len(s.clients), len(hub.sessions))
		}
		// A suspended process must not end sessions for its own silence.
		if err := s.sweep(time.Now().Add(time.Hour), true); err != nil || !live("calling") {
			t.Errorf("got %v, live %v", err, live("calling"))
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

// TestConfirmedAhead: a client that was answered stays online for the session timeout, and is confirmed only as long as a tenth of it is
// left.
func TestConfirmedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{ctx: t.Context(), timeout: 10 * time.Second, heard: time.Now(), me: "a:1"}
		for at := range 12 {
			if got := c.Confirmed(); (got == "a:1") != (at < 9) {
				t.Errorf("after %d s: confirmed %q", at, got)
			}
			if got := c.Online(); got != (at < 10) {
				t.Errorf("after %d s: online %v", at, got)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestServerReplaced: a client that the server no longer knows joins again and gets the views of its new session. While no server
// answers, reads are unavailable, and no session begins.
func TestServerReplaced(t *testing.T) {
	const timeout = 3 * time.Second
	var now atomic.Pointer[Server]
	hub := new(Hub)
	now.Store(NewServer(hub, timeout))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	c, err := Dial(t.Context(), web.URL, "a")
	if err != nil {
		t.Fatal(err)
	}
	first := (<-c.View()).Me
	for version := range int64(5) { // views, so that the number of the last one is higher than those of the next session
		if _, err := c.Configure(t.Context(), version, nil); err != nil {
			t.Fatal(err)
		}
		for v := range c.View() {
			if v.Config.Version > version {
				break
			}
		}
	}
	now.Store(NewServer(hub, timeout))
	limit := time.After(time.Minute)
	for v := (coord.View{Me: first}); v.Me == first; {
		select {
		case v = <-c.View():
		case <-limit:
			t.Fatal("no view of the new session")
		}
	}
	if got := c.Confirmed(); got == first || got == "" {
		t.Errorf("confirmed %q after %q", got, first)
	}
	web.Close()
	if _, err := c.Read(t.Context(), "00"); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, concordat.ErrUnavailable)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if d, err := Dial(t.Context(), web.URL, "a"); err == nil {
		_ = d.Close()
		t.Error("a session without a server")
	}
}
