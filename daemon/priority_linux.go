package daemon

import "golang.org/x/sys/unix"

// lowPriority gives everything else on the machine priority over this thread.
func lowPriority() { _ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 19) } // it need not succeed
