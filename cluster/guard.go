package cluster

import (
	"errors"
	"runtime"
)

// errFault is the only thing that callers and other nodes learn about a panic; its cause is logged.
var errFault = errors.New("fault: the program failed at this (tell the administrator; the log of the node has the cause)")

// guard calls f and turns a panic into errFault: a question or a document that triggers a fault of the program ends only its own call.
// Otherwise it would end this node, and then each other node that is asked instead. f must hold no lock that a panic would leave
// locked.
func (c *Copy) guard(f func() error) (err error) {
	if c.o.Panicked == nil {
		return f()
	}
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 16<<10)
			c.o.Panicked(p, stack[:runtime.Stack(stack, false)])
			err = errFault
		}
	}()
	return f()
}
