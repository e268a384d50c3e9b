package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"concordat/internal/cputime"
)

// adopt makes this process the parent of processes whose own parent has ended, for example a browser's. Only the process that waits for
// another learns its resource use (prctl(2), PR_SET_CHILD_SUBREAPER).
func adopt() error {
	const setChildSubreaper = 36
	if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); err != 0 {
		return fmt.Errorf("become the parent of orphaned processes: %w", err)
	}
	return nil
}

// grace is how long processes left behind by tests may continue.
const grace = 10 * time.Second

// cost runs a binary in a folder and returns the processor time used by it and everything that it started.
func cost(dir, binary string, args ...string) (used time.Duration, passed bool, err error) {
	before := cputime.Children()
	p, err := os.StartProcess(binary, append([]string{binary}, args...), &os.ProcAttr{Dir: dir, Files: []*os.File{nil, nil, os.Stderr},
		Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return 0, false, err
	}
	var left *time.Timer
	defer func() {
		if left != nil {
			left.Stop()
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD):
			return cputime.Children() - before, passed, nil
		case err != nil:
			return 0, false, err
		case pid == p.Pid:
			passed = status.Exited() && status.ExitStatus() == 0
			// Remaining processes end by themselves or with their group.
			left = time.AfterFunc(grace, func() { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) })
		}
	}
}
