package web

import (
	"context"
	"slices"
	"sync"
)

// line lets a few do at a time what is dear, and a few more wait. Who has the lowest rank is next, of equal ranks who came first.
// Where no place to wait is left, the highest rank goes away, so that somebody who tries for the first time does not wait
// behind hundreds who guess. It is safe for concurrent use.
type line struct {
	running, waiting int // at most

	mu  sync.Mutex // guards what follows
	now int        // running
	all []*waiter  // in order
}

// waiter is one who waits. turn gets one value: nil, or why the turn never comes.
type waiter struct {
	rank int
	turn chan error
}

// enter waits for a turn, which ends with leave. It fails with a *busy error if others are before it, and with that of ctx.
func (l *line) enter(ctx context.Context, rank int) error {
	l.mu.Lock()
	if l.now < l.running {
		l.now++
		l.mu.Unlock()
		return nil
	}
	if len(l.all) >= l.waiting {
		last := l.all[len(l.all)-1]
		if last.rank <= rank {
			l.mu.Unlock()
			return &busy{soon}
		}
		l.all = l.all[:len(l.all)-1]
		last.turn <- &busy{soon}
	}
	w := &waiter{rank, make(chan error, 1)} // who gives the turn does not wait
	at, _ := slices.BinarySearchFunc(l.all, rank, func(w *waiter, rank int) int {
		if w.rank <= rank {
			return -1
		}
		return 1
	})
	l.all = slices.Insert(l.all, at, w)
	l.mu.Unlock()
	select {
	case err := <-w.turn:
		return err
	case <-ctx.Done():
	}
	l.mu.Lock()
	if i := slices.Index(l.all, w); i >= 0 {
		l.all = slices.Delete(l.all, i, i+1)
		l.mu.Unlock()
		return ctx.Err()
	}
	l.mu.Unlock()
	if err := <-w.turn; err == nil { // it came at the same moment
		l.leave()
	}
	return ctx.Err()
}

// leave ends a turn; the next one gets it.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		l.now--
		return
	}
	l.all[0].turn <- nil
	l.all = slices.Delete(l.all, 0, 1)
}
