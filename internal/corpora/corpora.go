// Package corpora reads the evaluation texts for tests and benchmarks. The environment variable CONCORDAT_CORPORA sets the folder;
// without it, every function skips the test and states that reason.
package corpora

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Doc is a document of a corpus. Name is its path or identity in the corpus.
type Doc struct{ Name, Title, Text string }

// Dir returns the folder of the corpora, or skips the test.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("CONCORDAT_CORPORA")
	if dir == "" {
		tb.Skip("the evaluation texts are missing: set CONCORDAT_CORPORA to their folder")
	}
	return dir
}

// open returns the decompressed bytes of a file below Dir.
func open(tb testing.TB, path string) io.Reader {
	tb.Helper()
	f, err := os.Open(filepath.Join(Dir(tb), path))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	switch filepath.Ext(path) {
	case ".zst":
		z, err := zstd.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(z.Close)
		return z
	case ".gz":
		z, err := gzip.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		return z
	}
	return f
}

// Lines calls each for every decompressed line of a file below Dir, until each returns false.
func Lines(tb testing.TB, path string, each func(line string) bool) {
	tb.Helper()
	sc := bufio.NewScanner(open(tb, path))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		if !each(sc.Text()) {
			return
		}
	}
	if err := sc.Err(); err != nil {
		tb.Fatal(err)
	}
}

// Tar returns the files of an archive below Dir whose names end in suffix.
func Tar(tb testing.TB, path, suffix string) []Doc {
	tb.Helper()
	var out []Doc
	for r := tar.NewReader(open(tb, path)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			tb.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || !strings.HasSuffix(h.Name, suffix) {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, Doc{Name: strings.TrimPrefix(h.Name, "./"), Text: string(b)})
	}
}

// Reviews returns the first n documents of bulk-en-reviews.
func Reviews(tb testing.TB, n int) []Doc {
	tb.Helper()
	var out []Doc
	Lines(tb, "bulk-en-reviews/reviews.tsv.zst", func(line string) bool {
		if id, text, ok := strings.Cut(line, "\t"); ok {
			out = append(out, Doc{Name: id, Text: text})
		}
		return len(out) < n
	})
	return out
}

// Histories returns the first n chapters of bulk-zh-histories-modern, with their sentences joined.
func Histories(tb testing.TB, n int) []Doc {
	tb.Helper()
	var out []Doc
	Lines(tb, "bulk-zh-histories-modern/sentences.tsv.zst", func(line string) bool {
		f := strings.Split(line, "\t")
		if len(f) < 3 {
			return true
		}
		if len(out) == 0 || out[len(out)-1].Name != f[0] {
			if len(out) == n {
				return false
			}
			out = append(out, Doc{Name: f[0]})
		}
		out[len(out)-1].Text += f[2]
		return true
	})
	return out
}
