package compare

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Fault is a panic in work called by Guard, meaning that a text triggered a bug in the program.
type Fault struct {
	Value any // panic value
	Stack []byte

	noted atomic.Bool
}

// Error omits the cause, which belongs in the log; its message is for users.
func (f *Fault) Error() string {
	code, detail, advice := f.Reason()
	return code + ": " + detail + " (" + advice + ")"
}

// Reason returns the parts of the message for the cause of a task.
func (*Fault) Reason() (code, detail, advice string) {
	return "fault", "the program failed on this document", "tell the administrator; the cause is in the log"
}

// Guard calls f and returns its error, or a *Fault if it panics. Texts come from strangers, so one that triggers a bug in the program can
// end its own check, but not the site's process.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 16<<10)
			err = &Fault{Value: p, Stack: stack[:runtime.Stack(stack, false)]}
		}
	}()
	return f()
}

// Go runs f in g under Guard, because an unrecovered panic in any goroutine would end the process.
func Go(g *errgroup.Group, f func() error) {
	g.Go(func() error { return Guard(f) })
}

// Panics records panics. The zero value only logs them.
type Panics struct {
	Logger  *slog.Logger // nil means slog.Default, so that no stack is lost
	Counted func()       // called after each panic; can be nil
}

// Note logs the *Fault in err, with its stack and attrs, counts it, and reports whether err contains one. A fault is recorded only once,
// however many callers pass it to Note.
func (p Panics) Note(err error, attrs ...any) bool {
	var fault *Fault
	if !errors.As(err, &fault) {
		return false
	}
	if fault.noted.CompareAndSwap(false, true) {
		cmp.Or(p.Logger, slog.Default()).Error("panic", append(attrs, "cause", fmt.Sprint(fault.Value), "stack", string(fault.Stack))...)
		if p.Counted != nil {
			p.Counted()
		}
	}
	return true
}
