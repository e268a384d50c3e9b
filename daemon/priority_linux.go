package daemon

import "golang.org/x/sys/unix"

// lowPriority makes everything else on the machine come before this thread.
func lowPriority() { _ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 19) } // it need not succeed
