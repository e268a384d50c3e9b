package compare

import "runtime"

// Fault is a panic of work that Guard called: a fault of the program that one text has met.
type Fault struct {
	Value any // of the panic
	Stack []byte
}

// Error says nothing of the cause, which is for the log: people read it.
func (*Fault) Error() string {
	return "fault: the program failed at this document (tell the administrator; the log has the cause)"
}

// Guard calls f and returns its error, or a *Fault if it panics. Texts come from strangers: one that meets a fault of the program must
// end its own check, not the site.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 16<<10)
			err = &Fault{p, stack[:runtime.Stack(stack, false)]}
		}
	}()
	return f()
}
