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

// TooMany refuses somebody who asks too often.
type TooMany struct {
	Key   string        // of a message
	Retry time.Duration // when to try again
}

func (e *TooMany) Error() string { return fmt.Sprintf("too many requests: try again in %s", e.Retry) }
func (e *TooMany) Unwrap() error { return concordat.ErrRefused }

// RetryAfter sets the header of that name (RFC 9110, section 10.2.3), in whole seconds, at least one.
func RetryAfter(h http.Header, d time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(max(1, (d+time.Second-1)/time.Second))))
}

// Busy refuses somebody for the moment, because others are before them.
type Busy struct{ Retry time.Duration }

func (e *Busy) Error() string { return fmt.Sprintf("too much is under way: try again in %s", e.Retry) }
func (e *Busy) Unwrap() error { return concordat.ErrUnavailable }

// Limiter lets each key do something so often in a window. It remembers a bounded number of keys: the
// one that was idle longest is forgotten first. It is safe for concurrent use.
type Limiter struct {
	Now    func() time.Time
	Window time.Duration
	keys   int // remembered; 0: maxKeys

	mu    sync.Mutex // guards the rest
	by    map[string]*list.Element
	order *list.List // of *counted, the one used last in front
}

const maxKeys = 10_000

// counted is the number of calls of one key since a moment.
type counted struct {
	key   string
	since time.Time
	n     int
	open  int // of n: under way, and perhaps taken back
}

// bound is how often a key may do something in a window.
type bound struct {
	key  string
	most int
}

// Soon is how long to wait for what is under way.
const Soon = 2 * time.Second

// find returns what a key did in the present window, nil: nothing. l.mu is held.
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

// take counts one for each of the keys, unless one of them has no more left: then it counts nothing and returns how long to
// wait. It is one step: of many at once no more come through than may. used is how much the key had used that had
// used most. What was taken is under way until keep or giveBack is called with the same bounds.
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
		case c.n-c.open < b.most: // it depends on what is under way
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

// keep lets what was taken count for good.
func (l *Limiter) keep(all ...bound) { l.settle(0, all) }

// giveBack takes it back.
func (l *Limiter) giveBack(all ...bound) { l.settle(1, all) }

func (l *Limiter) settle(less int, all []bound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range all {
		if c := l.find(b.key); c != nil && c.open > 0 { // else it was forgotten meanwhile
			c.open--
			c.n -= less
		}
	}
}

// count notes that the key did it. l.mu is held.
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

// forget lets the key begin again.
func (l *Limiter) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.by[key]; e != nil {
		l.order.Remove(e)
		delete(l.by, key)
	}
}

// Allow counts what is let through, and refuses the rest.
func (l *Limiter) Allow(key string, most int) error {
	b := bound{key, most}
	if _, wait := l.take(b); wait > 0 {
		return &TooMany{"error.often", wait}
	}
	l.keep(b)
	return nil
}

// Throttle slows down guessing: after a few failures no password is taken for a while, of an account
// from one address, of an account at all, and from an address.
type Throttle struct{ Limiter }

const (
	freeFailures    = 5 // of one account from one address: others can still reach it
	accountFailures = 100
	addressFailures = 50
	ThrottleTime    = 10 * time.Minute
)

// Attempt is one try of a password. It has been counted; one of its methods is called once, when it has ended.
type Attempt struct {
	t      *Throttle
	bounds []bound
	// Rank is how many tries there were before it, of the account or from the address; -1 from a known browser.
	Rank int
}

// Begin counts a try before the password is looked at, unless too many have failed, or are under way and may: then it returns how
// long to wait.
func (t *Throttle) Begin(name, address string) (*Attempt, time.Duration) {
	a := &Attempt{t: t, bounds: []bound{{"pair/" + address + "/" + name, freeFailures}, {"account/" + name, accountFailures},
		{"address/" + address, addressFailures}}}
	var wait time.Duration
	a.Rank, wait = t.take(a.bounds...)
	return a, wait
}

// BeginKnown is Begin for a browser, known by mark, with which somebody signed in to the account before. Its tries count for
// themselves: strangers who guess neither lock the account for it nor stand before it.
func (t *Throttle) BeginKnown(name, mark string) (*Attempt, time.Duration) {
	a := &Attempt{t: t, bounds: []bound{{"known/" + mark + "/" + name, freeFailures}}, Rank: -1}
	_, wait := t.take(a.bounds...)
	return a, wait
}

// Failed lets the try count.
func (a *Attempt) Failed() { a.t.keep(a.bounds...) }

// Undone takes back a try that came to nothing: the password was not looked at.
func (a *Attempt) Undone() { a.t.giveBack(a.bounds...) }

// Right takes the try back, and lets the account begin again from this address. The address continues counting what failed: it
// may have guessed at others.
func (a *Attempt) Right() {
	a.Undone()
	a.t.forget(a.bounds[0].key)
}

// Streams bound what one account does at the same time. Its zero value is ready; it is safe for concurrent use.
type Streams struct {
	mu sync.Mutex // guards by
	by map[string]int
}

// maxStreams is how many pages of one account follow their checks: each holds a connection.
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
