package federation

import (
	"context"
	"errors"
	"slices"
	"sync"

	"concordat/crypto"
)

// errBusy means that a partner already has the maximum number of waiting requests.
var errBusy = errors.New("too many requests are waiting")

// turnstile limits concurrent requests, in total and per partner. Waiting partners take turns, so one that sends many requests delays
// only itself.
type turnstile struct {
	perSite int // running requests of one partner
	waiting int // waiting requests of one partner

	mu    sync.Mutex // guards the fields below
	free  int        // free slots
	lines map[crypto.SiteID]*line
	ring  []crypto.SiteID // partners with waiting requests; the first is next
}

// line is one partner's queue of requests.
type line struct {
	running int
	queue   []chan struct{} // closed when its turn comes
}

func newTurnstile(parallel, perSite, waiting int) *turnstile {
	return &turnstile{perSite: perSite, waiting: waiting, free: parallel, lines: map[crypto.SiteID]*line{}}
}

// enter waits for a slot, which the caller must return by calling leave. It fails with errBusy or the error of ctx.
func (t *turnstile) enter(ctx context.Context, site crypto.SiteID) error {
	turn := make(chan struct{})
	t.mu.Lock()
	l := t.lines[site]
	if l == nil {
		l = &line{}
		t.lines[site] = l
	}
	if len(l.queue) >= t.waiting {
		t.mu.Unlock()
		return errBusy
	}
	if l.queue = append(l.queue, turn); len(l.queue) == 1 {
		t.ring = append(t.ring, site)
	}
	t.admit()
	t.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		t.abandon(site, turn)
		return ctx.Err()
	}
}

// abandon removes a request from its line, or returns its slot if it already has one.
func (t *turnstile) abandon(site crypto.SiteID, turn chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[site]
	i := slices.Index(l.queue, turn)
	if i < 0 {
		t.release(site)
		return
	}
	if l.queue = slices.Delete(l.queue, i, i+1); len(l.queue) == 0 {
		t.ring = slices.DeleteFunc(t.ring, func(s crypto.SiteID) bool { return s == site })
		t.forget(site)
	}
}

// leave returns a slot.
func (t *turnstile) leave(site crypto.SiteID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release(site)
}

func (t *turnstile) release(site crypto.SiteID) {
	t.lines[site].running--
	t.free++
	t.forget(site)
	t.admit()
}

func (t *turnstile) forget(site crypto.SiteID) {
	if l := t.lines[site]; l.running == 0 && len(l.queue) == 0 {
		delete(t.lines, site)
	}
}

// admit fills the free slots. t.mu must be held.
func (t *turnstile) admit() {
	for t.free > 0 {
		i := slices.IndexFunc(t.ring, func(s crypto.SiteID) bool { return t.lines[s].running < t.perSite })
		if i < 0 {
			return
		}
		site := t.ring[i]
		t.ring = slices.Delete(t.ring, i, i+1)
		l := t.lines[site]
		turn := l.queue[0]
		if l.queue = l.queue[1:]; len(l.queue) > 0 {
			t.ring = append(t.ring, site)
		}
		l.running++
		t.free--
		close(turn)
	}
}
