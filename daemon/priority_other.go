//go:build !linux

package daemon

// lowPriority does nothing: a thread has no priority of its own here.
func lowPriority() {}
