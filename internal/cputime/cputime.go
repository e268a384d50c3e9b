// Package cputime measures benchmarks by processor time, which other work on the machine affects less than elapsed time.
package cputime

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// Used returns the processor time used by all threads of the process.
func Used() time.Duration { return of(syscall.RUSAGE_SELF) }

// Children returns the processor time of child processes that have been waited for.
func Children() time.Duration { return of(syscall.RUSAGE_CHILDREN) }

func of(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(fmt.Sprint("getrusage: ", err)) // the first argument is always valid
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Report reports, as cpu-ns/UNIT, the processor time per unit for n units since Used returned start. Call it
// after the loop.
func Report(b *testing.B, start time.Duration, n int, unit string) {
	b.Helper()
	b.ReportMetric(float64((Used()-start).Nanoseconds())/float64(n), "cpu-ns/"+unit)
}

// Rate reports, as UNITS/cpu-s, how many of n units were completed per second of processor time since Used returned start.
func Rate(b *testing.B, start time.Duration, n int, units string) {
	b.Helper()
	b.ReportMetric(float64(n)/(Used()-start).Seconds(), units+"/cpu-s")
}
