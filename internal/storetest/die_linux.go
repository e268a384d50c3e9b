package storetest

import "syscall"

// die makes a process end together with the thread that started it.
func die(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
