//go:build !linux

package daemon

// lowPriority does nothing: threads have no separate priority here.
func lowPriority() {}
