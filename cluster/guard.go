package cluster

import (
	"errors"
	"runtime"
)

// errFault is all that callers and other nodes hear of a panic; the cause is for the log.
var errFault = errors.New("fault: the program failed at this (tell the administrator; the log of the node has the cause)")

// guard calls f, and makes errFault of a panic: a question or a document that meets a fault of the program ends its own call. It would
// otherwise end this node, and then each other one that is asked instead. f holds no lock that a panic would leave behind.
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
