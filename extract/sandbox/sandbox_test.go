package sandbox_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat/extract"
	"concordat/extract/sandbox"
)

func TestMain(m *testing.M) {
	if sandbox.IsWorker() {
		misbehave(filepath.Base(os.Args[0]))
		sandbox.Main()
	}
	if len(os.Args) == 2 {
		if kind, ok := strings.CutPrefix(os.Args[1], "probe-"); ok {
			probe(kind)
		}
	}
	dir, err := os.MkdirTemp("", "concordat-cache-")
	if err != nil {
		panic(err)
	}
	cacheDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// cacheDir stores the compiled PDFium for all tests of one run.
var cacheDir string

func newRunner(t *testing.T, o sandbox.Options) *sandbox.Runner {
	t.Helper()
	if o.CacheDir == "" {
		o.CacheDir = cacheDir
	}
	r, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestText(t *testing.T) {
	r := newRunner(t, sandbox.Options{})
	t.Log("isolation:", r.Isolation())
	for range 3 {
		begin := time.Now()
		items, err := r.File(context.Background(), write(t, "a.txt", "Grüße,\r\nWelt"))
		if err != nil {
			t.Fatal(err)
		}
		t.Log("took", time.Since(begin))
		if len(items) != 1 || items[0].Result == nil || items[0].Result.Text != "Grüße,\nWelt" {
			t.Fatalf("got %+v", items)
		}
	}
}

func TestTypedErrors(t *testing.T) {
	huge := write(t, "huge.txt", "") // 2 GiB that occupy no disk space
	if err := os.Truncate(huge, 2<<30); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, sandbox.Options{Extract: extract.Options{MaxInput: 1000}})
	for _, c := range []struct{ path, code string }{
		{write(t, "empty.txt", ""), extract.Empty},
		{write(t, "big.txt", strings.Repeat("x", 1001)), extract.Limit},
		{huge, extract.Limit},
		{write(t, "bin.txt", "\x01\x02\x03\x04\x05\x06\x07\x00\x01\x02\x03\x04"), extract.Binary},
		{filepath.Join(t.TempDir(), "missing.txt"), extract.Unreadable},
		{t.TempDir(), extract.Unreadable},
	} {
		items, err := r.File(context.Background(), c.path)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) != 1 || items[0].Err == nil || items[0].Err.Code != c.code {
			t.Errorf("%s: got %+v, want code %s", filepath.Base(c.path), items, c.code)
		}
	}
}

// TestPDFInside submits PDFs in other files. A child without PDFium passes them to a child with it.
func TestPDFInside(t *testing.T) {
	r := newRunner(t, sandbox.Options{Files: 10})
	pdf := mixedPDF()
	zipped := func(name, content string) string { // twice, because a second PDF needs the engine just like the first
		var buf bytes.Buffer
		w := zip.NewWriter(&buf)
		var err error
		for _, n := range []string{"1/" + name, "2/" + name} {
			f, cerr := w.Create(n)
			if err = errors.Join(err, cerr); err == nil {
				_, err = f.Write([]byte(content))
			}
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return buf.String()
	}
	mail := "From: a@example.org\r\nSubject: s\r\nMIME-Version: 1.0\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
		base64.StdEncoding.EncodeToString([]byte(pdf))
	for _, c := range []struct {
		name, content string
		want          int
	}{
		{"a.zip", zipped("a.pdf", pdf), 2},
		{"b.zip", zipped("no-extension", pdf), 2},
		{"c.zip", zipped("inner.zip", zipped("no-extension", pdf)), 4},
		{"d.eml", mail, 1},
		{"e.pdf", pdf, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.name, c.content)
			stream := func() ([]sandbox.Item, error) { // the source cannot be read twice
				return r.Stream(context.Background(), c.name, io.MultiReader(strings.NewReader(c.content)), int64(len(c.content)))
			}
			for i, read := range []func() ([]sandbox.Item, error){func() ([]sandbox.Item, error) { return r.File(context.Background(), path) },
				stream} {
				items, err := read()
				if err != nil {
					t.Fatal(err)
				}
				found := 0
				for _, it := range items {
					if it.Result != nil && strings.Contains(it.Result.Text, "The third page ends here.") {
						found++
					}
				}
				if found != c.want {
					t.Errorf("way %d: the text of %d PDFs, want %d, in %+v", i, found, c.want, items)
				}
			}
		})
	}
}

// TestNoChildTooMany counts the waiting children. None wait after the last announced file, and none with PDFium before a PDF arrives.
func TestNoChildTooMany(t *testing.T) {
	r := newRunner(t, sandbox.Options{Files: 3})
	text, pdf := write(t, "a.txt", "word"), write(t, "a.pdf", mixedPDF())
	for i, c := range []struct {
		path                string
		wantPlain, wantFull int
	}{{"", 1, 0}, {text, 1, 0}, {pdf, 1, 1}, {pdf, 1, 0}} {
		if c.path != "" {
			if _, err := r.File(context.Background(), c.path); err != nil {
				t.Fatal(err)
			}
		}
		if plain, full := sandbox.Waiting(r); plain != c.wantPlain || full != c.wantFull {
			t.Errorf("after %d files %d and %d children wait, want %d and %d", i, plain, full, c.wantPlain, c.wantFull)
		}
	}
	r = newRunner(t, sandbox.Options{Files: 1})
	if _, err := r.File(context.Background(), text); err != nil {
		t.Fatal(err)
	}
	if plain, full := sandbox.Waiting(r); plain+full > 0 {
		t.Errorf("%d children wait after the only file", plain+full)
	}
	if plain, full := sandbox.Waiting(newRunner(t, sandbox.Options{})); plain != 1 || full != 1 {
		t.Errorf("a service has %d and %d children waiting, want one of each kind", plain, full)
	}
}
