package limit

import (
	"context"
	"slices"
	"sync"
)

// Line runs a few expensive operations at a time while a few more wait. The next waiter is the one with the lowest rank or, among equal
// ranks, the first to arrive. If the line is full, the waiter with the highest rank is rejected, so that a first try does not wait behind
// hundreds of guesses. It is safe for concurrent use.
type Line struct {
	Running, Waiting int // maximum numbers

	mu  sync.Mutex // guards the fields below
	now int        // number of running operations
	all []*waiter  // waiters in order
}

// waiter is a waiting caller. turn receives one value: nil, or the reason why the turn will not come.
type waiter struct {
	rank int
	turn chan error
}

// Enter waits for a turn, which Leave ends. It fails with a *Busy error if others are ahead of it, and with ctx's error when ctx ends.
func (l *Line) Enter(ctx context.Context, rank int) error {
	l.mu.Lock()
	if l.now < l.Running {
		l.now++
		l.mu.Unlock()
		return nil
	}
	if len(l.all) >= l.Waiting {
		last := l.all[len(l.all)-1]
		if last.rank <= rank {
			l.mu.Unlock()
			return &Busy{Soon}
		}
		l.all = l.all[:len(l.all)-1]
		last.turn <- &Busy{Soon}
	}
	w := &waiter{rank, make(chan error, 1)} // buffered, so the sender does not block
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
	if err := <-w.turn; err == nil { // the turn came at the same moment
		l.Leave()
	}
	return ctx.Err()
}

// Leave ends a turn and admits the next waiter.
func (l *Line) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		l.now--
		return
	}
	l.all[0].turn <- nil
	l.all = slices.Delete(l.all, 0, 1)
}

// Waiters returns the number of waiting callers.
func (l *Line) Waiters() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}
