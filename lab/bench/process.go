package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
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

// rounds holds the processor times of rounds of the same work.
type rounds []time.Duration

func (r *rounds) time(f func() error) error {
	start := cpu()
	err := f()
	*r = append(*r, cpu()-start)
	return err
}

func (r rounds) best() time.Duration { return slices.Min(r) }

// median returns the middle value, or the mean of the two in the middle.
func (r rounds) median() time.Duration {
	s := slices.Sorted(slices.Values(r))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// MemoryResult is the current memory speed of one core. This speed limits look-ups, which spend more time
// waiting for memory than computing.
type MemoryResult struct {
	Stream  float64 `json:"stream_gb_per_s"` // sequential read
	Lines   float64 `json:"line_ns"`         // a random access that is independent of the next one
	Latency float64 `json:"latency_ns"`      // a random access that determines the next one
}

// Memory measures the speed over 128 MB, which exceeds the caches, and returns the best of three passes.
func Memory() MemoryResult {
	const lines, step = 1 << 21, 8 // lines of 64 bytes, in words of 8
	a := make([]uint64, lines*step)
	order := rand.New(rand.NewPCG(1, 103)).Perm(lines)
	for i, line := range order {
		a[line*step] = uint64(order[(i+1)%lines]) * step
	}
	var r MemoryResult
	sum := uint64(0)
	best := func(at *float64, unit float64, f func()) {
		for range 3 {
			start := cpu()
			f()
			if took := float64((cpu() - start).Nanoseconds()) / unit; *at == 0 || took < *at {
				*at = took
			}
		}
	}
	var each float64
	best(&each, float64(len(a)*8), func() {
		sum += add(a)
	})
	r.Stream = 1 / each
	best(&r.Lines, lines, func() {
		for i := uint64(0); i < lines; i++ {
			sum += a[i*2654435761%lines*step]
		}
	})
	best(&r.Latency, lines/4, func() {
		at := uint64(0)
		for range lines / 4 {
			at = a[at]
		}
		sum += at
	})
	if sum == 1 { // prevents the compiler from removing the loads
		r.Stream = 0
	}
	return r
}

// add reads a in order and returns the sum.
func add(a []uint64) uint64 {
	var s [4]uint64
	for len(a) >= 4 {
		s[0] += a[0]
		s[1] += a[1]
		s[2] += a[2]
		s[3] += a[3]
		a = a[4:]
	}
	return s[0] + s[1] + s[2] + s[3]
}

// resident returns the resident size of the process in megabytes, or 0 if unknown.
func resident() float64 { return status("self", "VmRSS:") }

// status returns a value from /proc/PROCESS/status in megabytes, or 0 if there is none.
func status(process, name string) float64 {
	b, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			kb, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return 0
			}
			return kb / 1024
		}
	}
	return 0
}

// resetPeak resets the record of the peak, if the system supports this (Linux, proc(5), clear_refs).
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
