package daemon

import "golang.org/x/sys/unix"

// lowPriority gives the current thread the lowest priority on the machine.
func lowPriority() { _ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 19) } // failure is harmless
