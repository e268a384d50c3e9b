package limit

import (
	"container/list"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"concordat"
)

// TooMany is the error for a caller that calls too often.
type TooMany struct {
	Key   string        // message key
	Retry time.Duration // when to try again
}

func (e *TooMany) Error() string { return fmt.Sprintf("too many requests: try again in %s", e.Retry) }
func (e *TooMany) Unwrap() error { return concordat.ErrRefused }

// RetryAfter sets the Retry-After header (RFC 9110, section 10.2.3) in whole seconds, at least one.
func RetryAfter(h http.Header, d time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(max(1, (d+time.Second-1)/time.Second))))
}

// Busy is the error for a caller that must try again later because others are ahead of it.
type Busy struct{ Retry time.Duration }

func (e *Busy) Error() string { return fmt.Sprintf("the server is too busy: try again in %s", e.Retry) }
func (e *Busy) Unwrap() error { return concordat.ErrUnavailable }

// Limiter allows each key a number of calls in a window. It remembers a bounded number of keys and forgets the least recently used one
// first. It is safe for concurrent use.
type Limiter struct {
	Now    func() time.Time
	Window time.Duration
	keys   int // number of keys remembered; the default is maxKeys

	mu    sync.Mutex // guards the fields below
	by    map[string]*list.Element
	order *list.List // elements are *counted, the most recently used first
}

const maxKeys = 10_000

// counted is the number of calls with a key since its window began.
type counted struct {
	key   string
	since time.Time
	n     int
	open  int // calls among n that are in progress and can still be refunded
}

// bound is the number of calls that a key is allowed in a window.
type bound struct {
	key  string
	most int
}

// Soon is how long to wait for calls in progress.
const Soon = 2 * time.Second

// find returns the calls of a key in the current window, or nil if there are none. The caller holds l.mu.
func (l *Limiter) find(key string) *counted {
	e := l.by[key]
	if e == nil {
		return nil
	}
	c := e.Value.(*counted)
	if now := l.Now(); now.Sub(c.since) >= l.Window || now.Before(c.since) {
		l.order.Remove(e)
		delete(l.by, key)
		return nil
	}
	return c
}

// take counts one call for each of the keys. If one of the keys has no calls left, take counts nothing and returns how long to wait. It
// is atomic, so concurrent calls cannot exceed the bound. used is the highest count among the keys. The calls are in progress until keep
// or giveBack is called with the same bounds.
func (l *Limiter) take(all ...bound) (used int, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range all {
		c := l.find(b.key)
		if c == nil {
			continue
		}
		used = max(used, c.n)
		switch {
		case c.n < b.most:
		case c.n-c.open < b.most: // the outcome of the calls in progress decides
			wait = max(wait, Soon)
		default:
			wait = max(wait, c.since.Add(l.Window).Sub(l.Now()))
		}
	}
	if wait > 0 {
		return used, wait
	}
	for _, b := range all {
		l.count(b.key).open++
	}
	return used, 0
}

// keep makes taken calls count permanently.
func (l *Limiter) keep(all ...bound) { l.settle(0, all) }

// giveBack refunds taken calls.
func (l *Limiter) giveBack(all ...bound) { l.settle(1, all) }

func (l *Limiter) settle(less int, all []bound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range all {
		if c := l.find(b.key); c != nil && c.open > 0 { // the key may have been forgotten
			c.open--
			c.n -= less
		}
	}
}

// count counts a call of the key. The caller holds l.mu.
func (l *Limiter) count(key string) *counted {
	if c := l.find(key); c != nil {
		c.n++
		l.order.MoveToFront(l.by[key])
		return c
	}
	if l.by == nil {
		l.by, l.order = map[string]*list.Element{}, list.New()
	}
	most := l.keys
	if most == 0 {
		most = maxKeys
	}
	for len(l.by) >= most {
		last := l.order.Back()
		delete(l.by, last.Value.(*counted).key)
		l.order.Remove(last)
	}
	c := &counted{key: key, since: l.Now(), n: 1}
	l.by[key] = l.order.PushFront(c)
	return c
}

// forget resets the key.
func (l *Limiter) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.by[key]; e != nil {
		l.order.Remove(e)
		delete(l.by, key)
	}
}

// Allow counts a call and returns nil if the key has made fewer than most calls in the window; otherwise it returns an error.
func (l *Limiter) Allow(key string, most int) error {
	b := bound{key, most}
	if _, wait := l.take(b); wait > 0 {
		return &TooMany{"error.often", wait}
	}
	l.keep(b)
	return nil
}

// Throttle slows down guessing. After a few failures it accepts no password for a while for one account from one address, for one account
// from all addresses, or for all accounts from one address.
type Throttle struct{ Limiter }

const (
	freeFailures    = 5 // for one account from one address; other addresses can still try
	accountFailures = 100
	addressFailures = 50
	ThrottleTime    = 10 * time.Minute
)

// Attempt is one try of a password. The try has been counted; call exactly one of its methods when it ends.
type Attempt struct {
	t      *Throttle
	bounds []bound
	// Rank is the number of earlier tries for the account or from the address, or -1 for a known browser.
	Rank int
}

// Begin counts a try before the password is checked. If too many tries have failed or are in progress, it returns how long to wait
// instead.
func (t *Throttle) Begin(name, address string) (*Attempt, time.Duration) {
	a := &Attempt{t: t, bounds: []bound{{"pair/" + address + "/" + name, freeFailures}, {"account/" + name, accountFailures},
		{"address/" + address, addressFailures}}}
	var wait time.Duration
	a.Rank, wait = t.take(a.bounds...)
	return a, wait
}

// BeginKnown is like Begin, but for a browser that has signed in to the account before; mark identifies the browser. Its tries are
// counted separately, so strangers who guess neither lock the account for this browser nor delay it.
func (t *Throttle) BeginKnown(name, mark string) (*Attempt, time.Duration) {
	a := &Attempt{t: t, bounds: []bound{{"known/" + mark + "/" + name, freeFailures}}, Rank: -1}
	_, wait := t.take(a.bounds...)
	return a, wait
}

// Failed keeps the try counted.
func (a *Attempt) Failed() { a.t.keep(a.bounds...) }

// Undone refunds a try whose password was not checked.
func (a *Attempt) Undone() { a.t.giveBack(a.bounds...) }

// Right refunds the try and resets the counter of the account for this address. Failures of the address still count because it may have
// guessed at other accounts.
func (a *Attempt) Right() {
	a.Undone()
	a.t.forget(a.bounds[0].key)
}

// Streams bounds the number of open streams of each account. Its zero value is ready to use; it is safe for concurrent use.
type Streams struct {
	mu sync.Mutex // guards by
	by map[string]int
}

// maxStreams is the maximum number of pages on which an account can follow checks at the same time. Each occupies a connection.
const maxStreams = 20

func (c *Streams) Enter(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[name] >= maxStreams {
		return &TooMany{"error.streams", time.Minute}
	}
	if c.by == nil {
		c.by = map[string]int{}
	}
	c.by[name]++
	return nil
}

func (c *Streams) Leave(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[name]--; c.by[name] <= 0 {
		delete(c.by, name)
	}
}
