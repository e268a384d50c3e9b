package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"concordat/extract/sandbox"
	"concordat/internal/cputime"
)

// BenchmarkFile measures files of one word, one after the other: what a child costs beyond reading.
func BenchmarkFile(b *testing.B) {
	for _, c := range []struct{ name, content string }{{"a.txt", "word"}, {"a.pdf", mixedPDF()}} {
		b.Run("file="+c.name, func(b *testing.B) {
			p := filepath.Join(b.TempDir(), c.name)
			if err := os.WriteFile(p, []byte(c.content), 0o600); err != nil {
				b.Fatal(err)
			}
			r, err := sandbox.New(sandbox.Options{CacheDir: cacheDir})
			if err != nil {
				b.Fatal(err)
			}
			file := func() {
				items, err := r.File(context.Background(), p)
				if err != nil || len(items) != 1 || items[0].Result == nil {
					b.Fatal(items, err)
				}
			}
			for range 3 {
				file()
			}
			start := cputime.Children()
			for b.Loop() {
				file()
			}
			b.ReportMetric(float64((cputime.Children()-start).Nanoseconds())/float64(b.N), "child-cpu-ns/op")
			r.Close()
		})
	}
}
