//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// endTogether makes the command a process group that is ended as a unit, because go test starts the tests, and these can start their own
// processes.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
