package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"concordat/extract/sandbox"
	"concordat/internal/cputime"
)

// BenchmarkFile reads files of one word, one after the other, to measure the cost of a child besides reading.
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

// BenchmarkFileOfLargeProcess does the same in a process that uses much memory, as with a large index, to measure how much of its
// processor time starting children takes.
func BenchmarkFileOfLargeProcess(b *testing.B) {
	for _, mb := range []int{16, 512, 2048} {
		b.Run("MB="+strconv.Itoa(mb), func(b *testing.B) {
			p := filepath.Join(b.TempDir(), "a.txt")
			if err := os.WriteFile(p, []byte("word"), 0o600); err != nil {
				b.Fatal(err)
			}
			r, err := sandbox.New(sandbox.Options{CacheDir: cacheDir})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			held := make([]byte, mb<<20)
			use := func() {
				for i := 0; i < len(held); i += 4096 {
					held[i]++
				}
			}
			use()
			start := cputime.Used()
			for b.Loop() {
				if _, err := r.File(context.Background(), p); err != nil {
					b.Fatal(err)
				}
				use()
			}
			cputime.Report(b, start, b.N, "op") // parent process only
		})
	}
}
