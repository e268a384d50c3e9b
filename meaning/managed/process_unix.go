//go:build unix

package managed

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// bound makes a command run with low priority and at most memory bytes of address space.
func bound(c *exec.Cmd, memory int64) {
	c.Args = append([]string{"sh", "-c", `ulimit -v "$0" && exec nice -n 10 "$@"`, fmt.Sprint(memory >> 10)}, c.Args...)
	c.Path, c.Err = "/bin/sh", nil
}

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
