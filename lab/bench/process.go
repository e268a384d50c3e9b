package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// ProcessResult is the cost of one command including its child processes.
type ProcessResult struct {
	Command string  `json:"command"` // name of the program without its folder, and its first argument
	Rounds  int     `json:"rounds"`
	CPU     float64 `json:"cpu_s"`      // median of the rounds
	Best    float64 `json:"best_cpu_s"` // minimum of the rounds
	Wall    float64 `json:"wall_s"`     // median elapsed time
	Peak    float64 `json:"peak_mb"`    // maximum resident size of one process in any round; 0 if it ended before it could be sampled
}

// Process runs a command several times, one run after another, and reports the cost. The command's output goes to out. It stops at the
// first failure.
func Process(ctx context.Context, name string, command []string, times int, out io.Writer) (ProcessResult, error) {
	r := ProcessResult{Command: name, Rounds: times}
	var used, wall rounds
	for range times {
		c := exec.CommandContext(ctx, command[0], command[1:]...)
		c.Stdout, c.Stderr = out, out
		c.WaitDelay = time.Minute
		start := time.Now()
		if err := c.Start(); err != nil {
			return r, fmt.Errorf("run %s: %w", name, err)
		}
		seen := watch(c.Process.Pid)
		err := c.Wait()
		small := seen()
		if err != nil {
			return r, fmt.Errorf("run %s: %w", name, err)
		}
		wall = append(wall, time.Since(start))
		used = append(used, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
		u, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return r, errors.New("this system does not report the resources used by a process")
		}
		if most := float64(u.Maxrss) / 1024; most > peak() {
			r.Peak = max(r.Peak, most)
		} else {
			r.Peak = max(r.Peak, small)
		}
	}
	r.CPU, r.Best, r.Wall = used.median().Seconds(), used.best().Seconds(), wall.median().Seconds()
	return r, nil
}

// watch samples the maximum resident size of a process, and returns a function that stops sampling and returns the size. The size that
// the system reports for an ended process includes its parent's size at the start (Linux, exec_mmap), so it is useless for a process
// smaller than its parent.
func watch(pid int) (last func() float64) {
	done, result := make(chan struct{}), make(chan float64)
	go func() {
		most := 0.0
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, status(strconv.Itoa(pid), "VmHWM:"))
			select {
			case <-tick.C:
			case <-done:
				result <- most
				return
			}
		}
	}()
	return func() float64 {
		close(done)
		return <-result
	}
}
