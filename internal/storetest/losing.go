package storetest

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// ErrLost is the error of a statement that Losing causes to fail.
var ErrLost = errors.New("the statement failed")

// Losing is a context that makes exactly one statement of a store fail. The store sees the error of an ended context, which database/sql
// checks once before each statement; statements in progress are unaffected.
type Losing struct {
	context.Context

	mu   sync.Mutex
	at   int  // number of statements before the failing one; if negative, the next one fails
	lost bool // whether database/sql has requested the error
}

// NewLosing returns a context that makes statement number at fail, counted from 0.
func NewLosing(ctx context.Context, at int) *Losing { return &Losing{Context: ctx, at: at} }

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// statement reports whether the function in database/sql that begins a statement is the caller's caller.
func statement() bool {
	var caller [1]uintptr
	runtime.Callers(3, caller[:])
	f, _ := runtime.CallersFrames(caller[:]).Next()
	return f.Function == "database/sql.(*Tx).grabConn" || f.Function == "database/sql.(*DB).conn"
}

// Done returns a closed channel to database/sql just before the failing statement, and otherwise nil. A statement that waits for a
// connection might get one at the same moment and run; then the next statement fails.
func (l *Losing) Done() <-chan struct{} {
	if !statement() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at--; l.at >= 0 || l.lost {
		return nil
	}
	return closed
}

// Err returns ErrLost to database/sql once, and otherwise nil.
func (l *Losing) Err() error {
	if !statement() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at >= 0 || l.lost {
		return nil
	}
	l.lost = true
	return ErrLost
}

// Lost reports whether the statement has failed.
func (l *Losing) Lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}
