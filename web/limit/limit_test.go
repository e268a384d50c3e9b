package limit

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestRetryAfter: seconds are rounded up, so that a caller who waits as long as told is admitted; zero is never returned.
func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", time.Minute: "60"} {
		h := http.Header{}
		if RetryAfter(h, d); h.Get("Retry-After") != want {
			t.Errorf("%s: %s, want %s", d, h.Get("Retry-After"), want)
		}
	}
}

// TestAllow: a key is admitted up to its limit in a window, must then wait until the window ends, and starts again from zero; other keys
// are not affected.
func TestAllow(t *testing.T) {
	now := time.Unix(1_780_000_000, 0)
	l := &Limiter{Now: func() time.Time { return now }, Window: time.Hour}
	for range 3 {
		for i := range 5 {
			err := l.Allow("a", 3)
			var often *TooMany
			if (err == nil) != (i < 3) || err != nil && (!errors.As(err, &often) || often.Retry != time.Hour-time.Duration(i)*time.Minute) {
				t.Errorf("call %d: %v", i, err)
			}
			now = now.Add(time.Minute)
		}
		if err := l.Allow("b", 1); err != nil {
			t.Errorf("another key: %v", err)
		}
		now = now.Add(time.Hour)
	}
}

// TestThrottle: after five failures of an account from an address, no tries are possible for ten minutes. Tries in progress count and are
// refunded if they come to nothing; a success resets the account's count for that address. Other addresses can still try the account, up
// to a hundred failures, and the address can try other accounts, up to fifty.
func TestThrottle(t *testing.T) {
	now := time.Unix(1_780_000_000, 0)
	fresh := func() *Throttle {
		return &Throttle{Limiter{Now: func() time.Time { return now }, Window: ThrottleTime}}
	}
	fails := func(th *Throttle, name, address string) bool {
		a, wait := th.Begin(name, address)
		if wait == 0 {
			a.Failed()
		}
		return wait == 0
	}
	count := func(th *Throttle, n int, name, address func(i int) string) (let int) {
		for i := range n {
			if fails(th, name(i), address(i)) {
				let++
			}
		}
		return let
	}
	one := func(s string) func(int) string { return func(int) string { return s } }
	each := func(s string) func(int) string { return func(i int) string { return fmt.Sprint(s, i) } }
	if n := count(fresh(), 300, one("ada"), one("x")); n != 5 {
		t.Errorf("an account from an address: %d tries", n)
	}
	if n := count(fresh(), 300, one("ada"), each("x")); n != 100 {
		t.Errorf("an account from many addresses: %d tries", n)
	}
	if n := count(fresh(), 300, each("ada"), one("x")); n != 50 {
		t.Errorf("many accounts from an address: %d tries", n)
	}
	th := fresh()
	var open []*Attempt
	for range 5 {
		a, _ := th.Begin("ada", "x")
		open = append(open, a)
	}
	if _, wait := th.Begin("ada", "x"); wait != Soon {
		t.Errorf("beside five that are under way: wait %s", wait)
	}
	open[0].Undone()
	for _, a := range open[1:] {
		a.Failed()
	}
	if a, wait := th.Begin("ada", "x"); wait != 0 || a.Rank != 4 {
		t.Errorf("after four failures: wait %s, rank %d", wait, a.Rank)
	} else {
		a.Right()
	}
	if n := count(th, 10, one("ada"), one("x")); n != 5 {
		t.Errorf("after a right one: %d tries", n)
	}
	if _, wait := th.Begin("ada", "x"); wait != ThrottleTime {
		t.Errorf("after five failures: wait %s", wait)
	}
	now = now.Add(ThrottleTime)
	if !fails(th, "ada", "x") {
		t.Error("after ten minutes there is none")
	}
	for range 5 {
		if a, wait := th.BeginKnown("eve", "mark"); wait != 0 || a.Rank != -1 {
			t.Errorf("a known browser: wait %s, rank %d", wait, a.Rank)
		} else {
			a.Failed()
		}
	}
	if _, wait := th.BeginKnown("eve", "mark"); wait == 0 {
		t.Error("a known browser guesses for ever")
	}
	if !fails(th, "eve", "x") {
		t.Error("a known browser locks the account for others")
	}
}

// TestStreams: an account can follow at most 20 checks at a time, independently of other accounts.
func TestStreams(t *testing.T) {
	var c Streams
	for i := range 25 {
		if err := c.Enter("ada"); (err == nil) != (i < 20) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := c.Enter("eve"); err != nil {
		t.Errorf("another account: %v", err)
	}
	c.Leave("ada")
	if err := c.Enter("ada"); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	for range 20 {
		c.Leave("ada")
	}
	if len(c.by) != 1 {
		t.Errorf("%d accounts are remembered, want the one that is there", len(c.by))
	}
}

// TestKeysAreBounded: a client that keeps changing its address uses no more memory than the bound; only the keys idle longest are
// forgotten; and an entry looked up after its window is removed.
func TestKeysAreBounded(t *testing.T) {
	now := time.Unix(1_780_000_000, 0)
	l := &Limiter{Now: func() time.Time { return now }, Window: time.Hour, keys: 3}
	count := func(key string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.count(key)
	}
	for _, key := range []string{"a", "b", "c", "a", "d"} {
		count(key)
	}
	for key, want := range map[string]int{"a": 2, "b": 0, "c": 1, "d": 1} {
		n := 0
		if c := l.by[key]; c != nil {
			n = c.Value.(*counted).n
		}
		if n != want {
			t.Errorf("%s is counted %d times, want %d", key, n, want)
		}
	}
	now = now.Add(l.Window)
	for _, key := range []string{"a", "c", "d"} {
		l.giveBack(bound{key, 1})
	}
	if len(l.by) != 0 || l.order.Len() != 0 {
		t.Errorf("after the window: %d keys, %d in order", len(l.by), l.order.Len())
	}
	l.keys = 0
	for i := range maxKeys + 50 {
		count(fmt.Sprint(i))
	}
	if len(l.by) != maxKeys || l.order.Len() != maxKeys {
		t.Errorf("%d keys, %d in order, want %d", len(l.by), l.order.Len(), maxKeys)
	}
}
