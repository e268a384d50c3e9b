package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"concordat"
	"concordat/store"
)

func TestOriginals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "originals")
	f := store.OpenFiles(dir)
	ctx := t.Context()
	hash, size, err := f.Put(ctx, strings.NewReader("abc"), 3)
	if err != nil || size != 3 || hash != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" { // FIPS 180-4, B.1
		t.Fatalf("got %s, %d, %v", hash, size, err)
	}
	path, err := f.Path(hash)
	must(t, err)
	if b, err := os.ReadFile(path); err != nil || string(b) != "abc" {
		t.Errorf("got %q, %v", b, err)
	}
	if again, _, err := f.Put(ctx, strings.NewReader("abc"), 3); err != nil || again != hash {
		t.Errorf("the same again: %s, %v", again, err)
	}
	_, _, err = f.Put(ctx, strings.NewReader("abcd"), 3)
	wantErr(t, err, concordat.ErrInvalid)
	broken := errors.New("line cut")
	if _, _, err = f.Put(ctx, io.MultiReader(strings.NewReader("x"), failingReader{broken}), 3); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err = f.Put(ended, strings.NewReader("x"), 3); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("%d entries, want the one folder of the one file", len(entries))
	}
	for _, bad := range []string{"", "../../etc/passwd", strings.Repeat("A", 64), hash + "0"} {
		_, err := f.Path(bad)
		wantErr(t, err, concordat.ErrInvalid)
		wantErr(t, f.Delete(bad), concordat.ErrInvalid)
	}
	must(t, f.Delete(hash))
	must(t, f.Delete(hash))
	_, err = f.Path(hash)
	wantErr(t, err, concordat.ErrNotFound)
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestOriginalsTogether(t *testing.T) {
	f := store.OpenFiles(t.TempDir())
	content := bytes.Repeat([]byte("word "), 100_000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			hash, _, err := f.Put(t.Context(), bytes.NewReader(content), 1<<20)
			if err != nil {
				t.Error(err)
				return
			}
			path, err := f.Path(hash)
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, content) {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
	wg.Wait()
}

// What a killed process left goes at the next start; whole files stay.
func TestSweepOriginals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "originals [1]")
	f := store.OpenFiles(dir)
	must(t, f.Sweep())
	hash, _, err := f.Put(t.Context(), strings.NewReader("abc"), 3)
	must(t, err)
	left := filepath.Join(dir, "incoming-1")
	must(t, os.WriteFile(left, []byte("a"), 0o600))
	must(t, f.Sweep())
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left: %v", err)
	}
	if _, err := f.Path(hash); err != nil {
		t.Error(err)
	}
}
