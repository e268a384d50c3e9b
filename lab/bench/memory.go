package bench

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

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
