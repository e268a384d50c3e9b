package web

import (
	"container/list"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"concordat"
)

// tooMany refuses somebody who asks too often.
type tooMany struct {
	key   string        // of a message
	retry time.Duration // when to try again
}

func (e *tooMany) Error() string { return fmt.Sprintf("too many requests: try again in %s", e.retry) }
func (e *tooMany) Unwrap() error { return concordat.ErrRefused }

// retryAfter sets the header of that name (RFC 9110, section 10.2.3), in whole seconds, at least one.
func retryAfter(h http.Header, d time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(max(1, (d+time.Second-1)/time.Second))))
}

// limiter lets each key do something so often in a window. It remembers a bounded number of keys: the
// one that was idle longest is forgotten first. It is safe for concurrent use.
type limiter struct {
	now    func() time.Time
	window time.Duration
	keys   int // remembered; 0: mostKeys

	mu    sync.Mutex // guards the rest
	by    map[string]*list.Element
	order *list.List // of *counted, the one used last in front
}

const mostKeys = 10_000

// counted is what one key did since a moment.
type counted struct {
	key   string
	since time.Time
	n     int
}

// find returns what a key did in the present window, nil: nothing. l.mu is held.
func (l *limiter) find(key string) *counted {
	e := l.by[key]
	if e == nil {
		return nil
	}
	c := e.Value.(*counted)
	if now := l.now(); now.Sub(c.since) >= l.window || now.Before(c.since) {
		l.order.Remove(e)
		delete(l.by, key)
		return nil
	}
	return c
}

// wait returns how long the key has to wait until it may do something, which it may most times in a
// window; 0: not at all.
func (l *limiter) wait(key string, most int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.find(key)
	if c == nil || c.n < most {
		return 0
	}
	return c.since.Add(l.window).Sub(l.now())
}

// count notes that the key did it.
func (l *limiter) count(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.find(key); c != nil {
		c.n++
		l.order.MoveToFront(l.by[key])
		return
	}
	if l.by == nil {
		l.by, l.order = map[string]*list.Element{}, list.New()
	}
	most := l.keys
	if most == 0 {
		most = mostKeys
	}
	for len(l.by) >= most {
		last := l.order.Back()
		delete(l.by, last.Value.(*counted).key)
		l.order.Remove(last)
	}
	l.by[key] = l.order.PushFront(&counted{key, l.now(), 1})
}

// forget lets the key begin anew.
func (l *limiter) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.by[key]; e != nil {
		l.order.Remove(e)
		delete(l.by, key)
	}
}

// allow is wait and count in one: it counts what is let through.
func (l *limiter) allow(key string, most int) error {
	if d := l.wait(key, most); d > 0 {
		return &tooMany{"error.often", d}
	}
	l.count(key)
	return nil
}

// throttle slows down guessing: after a few failures no password is taken for a while, of an account
// from one address, of an account at all, and from an address.
type throttle struct{ limiter }

const (
	freeFailures    = 5 // of one account from one address: others can still reach it
	accountFailures = 100
	addressFailures = 50
	throttleTime    = 10 * time.Minute
)

func (t *throttle) allowed(name, address string) time.Duration {
	return max(t.wait("pair/"+address+"/"+name, freeFailures), t.wait("account/"+name, accountFailures), t.wait("address/"+address, addressFailures))
}

func (t *throttle) failed(name, address string) {
	t.count("pair/" + address + "/" + name)
	t.count("account/" + name)
	t.count("address/" + address)
}

// forgive lets somebody begin anew who knew the password. The address goes on counting: it may have
// guessed at others.
func (t *throttle) forgive(name, address string) { t.forget("pair/" + address + "/" + name) }
