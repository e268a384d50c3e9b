package sandbox_test

import (
	"context"
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

// cacheDir keeps the compiled PDFium for all tests of one run.
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
	huge := write(t, "huge.txt", "") // 2 GiB that take no room on the disk
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
