package managed

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// separate makes a command end with the thread that starts it and, if alone is set, run without a network.
func separate(c *exec.Cmd, alone bool) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if alone {
		c.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNET
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
}

// confine restricts this thread, and every process that it starts, to the given number of processors, namely the last ones that it may
// use. It returns a function that lifts the restriction. If the system refuses, processes run on all processors at low priority.
func confine(processors int) func() {
	var mine, its unix.CPUSet
	if unix.SchedGetaffinity(0, &mine) != nil {
		return func() {}
	}
	for cpu := len(mine)*64 - 1; cpu >= 0 && its.Count() < processors; cpu-- {
		if mine.IsSet(cpu) {
			its.Set(cpu)
		}
	}
	_ = unix.SchedSetaffinity(0, &its)
	return func() { _ = unix.SchedSetaffinity(0, &mine) }
}
