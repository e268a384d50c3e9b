package eval

import (
	"strings"
	"testing"

	"concordat/align"
	reading "concordat/internal/corpora"
	"concordat/internal/cputime"
)

// BenchmarkPairTime measures the processor time for a pair of 3,000-word documents.
func BenchmarkPairTime(b *testing.B) {
	var texts [2]string
	for _, d := range reading.Tar(b, "pan13-train/pan13-train.tar.zst", ".txt") {
		side := 0
		if strings.HasPrefix(d.Name, "src/") {
			side = 1
		}
		if len(strings.Fields(texts[side])) < 3000 {
			texts[side] += d.Text + "\n\n"
		}
	}
	for i := range texts {
		texts[i] = strings.Join(strings.Fields(texts[i])[:3000], " ")
	}
	x, y := align.Prepare(texts[0]+texts[1][:3000]), align.Prepare(texts[1])
	b.Run("pair", func(b *testing.B) {
		start := cputime.Used()
		for b.Loop() {
			align.Pair(x, y, align.Options{})
		}
		cputime.Report(b, start, b.N, "op")
	})
	b.Run("prepare", func(b *testing.B) {
		start := cputime.Used()
		for b.Loop() {
			align.Prepare(texts[1])
		}
		cputime.Report(b, start, b.N, "op")
	})
}
