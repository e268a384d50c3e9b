//go:build !linux

package daemon

// lowPriority does nothing, because threads have no separate priority here.
func lowPriority() {}
