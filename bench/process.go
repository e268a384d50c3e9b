package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// ProcessResult is what one command costs, its children included.
type ProcessResult struct {
	Command string  `json:"command"` // without its folder, and its first word
	Rounds  int     `json:"rounds"`
	CPU     float64 `json:"cpu_s"`      // the median of the rounds
	Best    float64 `json:"best_cpu_s"` // the least of them
	Wall    float64 `json:"wall_s"`     // on the clock, the median
	Peak    float64 `json:"peak_mb"`    // largest resident size of one process in any round
}

// Process runs a command so often, one after the other, and reports what it took. What it writes goes to out. A
// command that fails ends it.
func Process(ctx context.Context, name string, command []string, times int, out io.Writer) (ProcessResult, error) {
	r := ProcessResult{Command: name, Rounds: times}
	var used, wall rounds
	for range times {
		c := exec.CommandContext(ctx, command[0], command[1:]...)
		c.Stdout, c.Stderr = out, out
		c.WaitDelay = time.Minute
		start := time.Now()
		if err := c.Run(); err != nil {
			return r, fmt.Errorf("run %s: %w", name, err)
		}
		wall = append(wall, time.Since(start))
		used = append(used, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
		u, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return r, errors.New("this system does not say what a process has used")
		}
		r.Peak = max(r.Peak, float64(u.Maxrss)/1024)
	}
	r.CPU, r.Best, r.Wall = used.median().Seconds(), used.best().Seconds(), wall.median().Seconds()
	return r, nil
}
