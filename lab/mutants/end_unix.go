//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// endTogether makes the command a group of processes that is ended as one: go test starts the tests, and these may
// start processes of their own.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
