package bench

import (
	"testing"

	"concordat"
)

// TestJoin: a small join finds all planted pairs.
func TestJoin(t *testing.T) {
	for _, p := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
		r, err := Join(20_000, 1, p)
		if err != nil {
			t.Fatal(err)
		}
		if r.Missed != 0 || r.Pairs < 100 {
			t.Errorf("%s: %d pairs, %d missed", r.Probe, r.Pairs, r.Missed)
		}
	}
}

// BenchmarkJoin joins two libraries of a million sentences each.
func BenchmarkJoin(b *testing.B) {
	for b.Loop() {
		r, err := Join(1_000_000, 1, concordat.ProbeExact)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(r.CPU, "cpu_s/join")
		b.ReportMetric(r.Ratio, "x_table")
	}
}
