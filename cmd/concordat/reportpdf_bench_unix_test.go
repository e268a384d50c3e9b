//go:build unix

package main

import (
	"strconv"
	"syscall"
	"testing"
	"time"
)

// BenchmarkReportPDF makes and signs PDF reports of so many passages, each beside its source, half of them in Chinese.
func BenchmarkReportPDF(b *testing.B) {
	own := newSigning(b, "own")
	cpu := func() time.Duration {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			b.Fatal(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	for _, n := range []int{100, 1000, 2000} {
		rep := longReport(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			size, from := 0, cpu()
			for b.Loop() {
				out, err := (&signer{own.id}).pdf(rep, pageOptions{site: "Own"}, time.Now())
				if err != nil {
					b.Fatal(err)
				}
				size = len(out)
			}
			b.ReportMetric((cpu()-from).Seconds()*1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(size), "bytes/file")
		})
	}
}
