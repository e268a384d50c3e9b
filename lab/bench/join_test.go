package bench

import (
	"testing"

	"concordat"
	"concordat/screen"
)

// TestJoin: a small join finds all planted pairs.
func TestJoin(t *testing.T) {
	for _, p := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
		r, err := Join(20_000, 1, p, screen.Candidates)
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
	var own, table float64
	for b.Loop() { // building the libraries is included in ns/op, but not in the reported figures
		r, err := Join(1_000_000, 1, concordat.ProbeExact, screen.Candidates)
		if err != nil {
			b.Fatal(err)
		}
		own, table = own+r.CPU, table+r.TableCPU
	}
	b.ReportMetric(1e9*own/float64(b.N), "cpu-ns/join")
	b.ReportMetric(own/table, "x-table")
}
