package eval

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// corpusDir is the folder of the evaluation texts.
type corpusDir string

// reader returns the decompressed bytes of a file.
func (c corpusDir) reader(path string) (io.Reader, func() error, error) {
	f, err := os.Open(filepath.Join(string(c), filepath.FromSlash(path)))
	if err != nil {
		return nil, nil, err
	}
	switch filepath.Ext(path) {
	case ".zst":
		z, err := zstd.NewReader(f)
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		return z, func() error { z.Close(); return f.Close() }, nil
	case ".gz":
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		return z, func() error { return errors.Join(z.Close(), f.Close()) }, nil
	}
	return f, f.Close, nil
}

// files calls each for every regular file of an archive, with its name without a leading "./".
func (c corpusDir) files(path string, each func(name, text string) error) (err error) {
	r, done, err := c.reader(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(t)
		if err != nil {
			return err
		}
		if err := each(strings.TrimPrefix(h.Name, "./"), string(b)); err != nil {
			return err
		}
	}
}

// docs returns an archive's files whose names satisfy want; bytes that are not UTF-8 become U+FFFD.
func (c corpusDir) docs(path string, want func(name string) bool) ([]Doc, error) {
	var out []Doc
	err := c.files(path, func(name, text string) error {
		if want(name) {
			out = append(out, Doc{name, strings.ToValidUTF8(text, "\ufffd")})
		}
		return nil
	})
	return out, err
}

// rows calls each with the tab-separated fields of every line of a file, until each returns false.
func (c corpusDir) rows(path string, each func(fields []string) bool) (err error) {
	r, done, err := c.reader(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		if !each(strings.Split(strings.TrimPrefix(sc.Text(), "\ufeff"), "\t")) {
			return nil
		}
	}
	return sc.Err()
}

// reviews returns the first n documents of bulk-en-reviews.
func (c corpusDir) reviews(n int) ([]Doc, error) {
	var out []Doc
	err := c.rows("bulk-en-reviews/reviews.tsv.zst", func(f []string) bool {
		if len(f) == 2 {
			out = append(out, Doc{f[0], f[1]})
		}
		return len(out) < n
	})
	return out, err
}

// modern returns the first n chapters of bulk-zh-histories-modern, with their sentences joined.
func (c corpusDir) modern(n int) ([]Doc, error) {
	var out []Doc
	var text strings.Builder
	name := ""
	err := c.rows("bulk-zh-histories-modern/sentences.tsv.zst", func(f []string) bool {
		if len(f) != 3 {
			return true
		}
		if f[0] != name {
			if name != "" {
				out = append(out, Doc{name, text.String()})
			}
			name = f[0]
			text.Reset()
		}
		text.WriteString(f[2])
		return len(out) < n
	})
	if name != "" && len(out) < n {
		out = append(out, Doc{name, text.String()})
	}
	return out, err
}
