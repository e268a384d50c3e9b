package cluster

import (
	"errors"
	"runtime"
)

// errFault is all that callers and other nodes learn about a panic; its cause is logged.
var errFault = errors.New("fault: the program failed while handling this request (tell the administrator; the node's log states the cause)")

// guard calls f and converts a panic to errFault, so that a question or document that triggers a bug in the program ends only its own
// call. Otherwise, it would bring down this node and then every other node asked in its place. f must hold no lock that a panic would
// leave locked. panicked is CopyOptions.Panicked.
func guard(panicked func(value any, stack []byte), f func() error) (err error) {
	if panicked == nil {
		return f()
	}
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 16<<10)
			panicked(p, stack[:runtime.Stack(stack, false)])
			err = errFault
		}
	}()
	return f()
}
