package daemon

import "golang.org/x/sys/unix"

// lowPriority lets everything else on the machine run before this thread.
func lowPriority() { _ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 19) } // it need not succeed
