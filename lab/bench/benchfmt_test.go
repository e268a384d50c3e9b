package bench

import (
	"slices"
	"testing"
)

// TestBenchmark: words describe what was measured, and times are in nanoseconds.
func TestBenchmark(t *testing.T) {
	r := struct {
		Path      string  `json:"path"`
		File      string  `json:"file"`
		None      string  `json:"none"`
		Sentences int     `json:"sentences"`
		Missed    int     `json:"missed"`
		CPU       float64 `json:"cpu_us"`
		Open      float64 `json:"open_cpu_s"`
		Document  float64 `json:"document_ms"`
		Line      float64 `json:"line_ns"`
		Stream    float64 `json:"stream_gb_per_s"`
		Rate      float64 `json:"sentences_per_cpu_second"`
		Peak      float64 `json:"peak_mb"`
		Own       float64
	}{"table", "a b/c", "", 1000, 2, 0.5, 0.25, 1.5, 12, 30, 1e6, 100, 1}
	line, higher := Benchmark("Query", r)
	want := "BenchmarkQuery/path=table/file=a_b_c/sentences=1000 1 2 missed 500 cpu-ns 2.5e+08 open-cpu-ns 1.5e+06 document-ns 12 line-ns 30 stream-gb-per-s 1e+06 sentences-per-cpu-second 100 peak-MB"
	if line != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
	if !slices.Equal(higher, []string{"sentences-per-cpu-second", "stream-gb-per-s"}) {
		t.Errorf("got %v", higher)
	}
}
