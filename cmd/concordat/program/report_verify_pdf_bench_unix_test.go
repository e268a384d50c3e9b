//go:build unix

package program

import (
	"strconv"
	"testing"
	"time"

	"concordat/instance/signing"
	"concordat/internal/cputime"
)

// BenchmarkReportPDF makes and signs PDF reports with the given number of passages, half of them in Chinese, each next to its source.
func BenchmarkReportPDF(b *testing.B) {
	own := newSigning(b, "own")
	for _, n := range []int{100, 1000, 2000} {
		rep := longReport(n)
		b.Run("passages="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			size, start := 0, cputime.Used()
			for b.Loop() {
				out, err := signing.NewSigner(own.id).PDF(rep, signing.Pages{Site: "Own"}, time.Now())
				if err != nil {
					b.Fatal(err)
				}
				size = len(out)
			}
			cputime.Report(b, start, b.N, "op")
			b.ReportMetric(float64(size), "bytes/file")
		})
	}
}
