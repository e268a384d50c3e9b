package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

// runFiles runs the test suite of files. newPlace makes an empty place for one test and returns a function that opens its files, as two
// processes would.
func runFiles(t *testing.T, newPlace func(t *testing.T) func() *store.Files) {
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *store.Files, *store.Files)
	}{
		{"Put", testFilesPut},
		{"Sizes", testFilesSizes},
		{"Together", testFilesTogether},
		{"Erase", testFilesErase},
		{"Tidy", testFilesTidy},
		{"All", testFilesAll},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			tt.run(t, p(), p())
		})
	}
}

// content returns n bytes that differ for each seed.
func content(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func put(t *testing.T, f *store.Files, b []byte) string {
	t.Helper()
	hash, size, err := f.Put(t.Context(), bytes.NewReader(b), int64(len(b)))
	must(t, err)
	if size != int64(len(b)) {
		t.Errorf("size %d, want %d", size, len(b))
	}
	return hash
}

func wantFile(t *testing.T, f *store.Files, hash string, want []byte) {
	t.Helper()
	path, err := f.Fetch(t.Context(), hash)
	must(t, err)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v, want the %d that were put", len(got), err, len(want))
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func testFilesPut(t *testing.T, f, other *store.Files) {
	ctx := t.Context()
	hash, size, err := f.Put(ctx, strings.NewReader("abc"), 3)
	if err != nil || size != 3 || hash != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" { // FIPS 180-4, B.1
		t.Fatalf("got %s, %d, %v", hash, size, err)
	}
	for _, one := range []*store.Files{f, other, other} {
		wantFile(t, one, hash, []byte("abc"))
	}
	if again, _, err := other.Put(ctx, strings.NewReader("abc"), 3); err != nil || again != hash {
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
	for _, bad := range []string{"", "../../etc/passwd", strings.Repeat("A", 64), hash + "0"} {
		_, err := f.Fetch(ctx, bad)
		wantErr(t, err, concordat.ErrInvalid)
		_, err = f.Erase(ctx, "t", []string{bad})
		wantErr(t, err, concordat.ErrInvalid)
	}
	_, err = f.Fetch(ctx, strings.Repeat("0", 64))
	wantErr(t, err, concordat.ErrNotFound)
}

// testFilesSizes tries sizes close to the part size of files in a database.
func testFilesSizes(t *testing.T, f, other *store.Files) {
	for i, n := range []int{0, 1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1 << 20, 1<<20 + 1, 3<<20 + 77} {
		b := content(uint64(i), n)
		wantFile(t, other, put(t, f, b), b)
	}
}

func testFilesTogether(t *testing.T, f, other *store.Files) {
	b := content(1, 700_000)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			one := f
			if i%2 == 1 {
				one = other
			}
			wantFile(t, one, put(t, one, b), b)
		})
	}
	wg.Wait()
}

func testFilesErase(t *testing.T, f, other *store.Files) {
	ctx := t.Context()
	b := content(1, 300_000)
	hash := put(t, f, b)
	wantFile(t, other, hash, b)
	if n, err := other.Erase(ctx, "t", []string{hash, strings.Repeat("0", 64)}); err != nil || n != 1 {
		t.Errorf("erased %d, %v, want 1", n, err)
	}
	for _, one := range []*store.Files{f, other} {
		_, err := one.Fetch(ctx, hash)
		wantErr(t, err, concordat.ErrNotFound)
		_, err = one.Path(hash) // no local copy remains either
		wantErr(t, err, concordat.ErrNotFound)
	}
	wantFile(t, f, put(t, f, b), b)
}

func testFilesTidy(t *testing.T, f, other *store.Files) {
	ctx := t.Context()
	a, b := content(1, 300_000), content(2, 10)
	kept, gone := put(t, f, a), put(t, f, b)
	needed := func(hash string) (bool, error) { return hash == kept, nil }
	if n, err := other.Tidy(ctx, time.Now().Add(-time.Hour), needed); err != nil || n != 0 {
		t.Errorf("%d young ones went, %v", n, err)
	}
	if n, err := other.Tidy(ctx, time.Now().Add(time.Hour), needed); err != nil || n != 1 {
		t.Errorf("%d went, %v, want 1", n, err)
	}
	_, err := f.Fetch(ctx, gone)
	wantErr(t, err, concordat.ErrNotFound)
	wantFile(t, f, kept, a)
	broken := errors.New("not known")
	if _, err := f.Tidy(ctx, time.Now().Add(time.Hour), func(string) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	wantFile(t, other, kept, a)
}

func testFilesAll(t *testing.T, f, other *store.Files) {
	must(t, f.All(t.Context(), func(string) error { return errors.New("there is none") }))
	want := map[string]bool{}
	for i := range 5 {
		want[put(t, f, content(uint64(i), 10))] = true
	}
	must(t, other.All(t.Context(), func(hash string) error {
		if !want[hash] {
			t.Errorf("%s is there, or comes again", hash)
		}
		delete(want, hash)
		return nil
	}))
	if len(want) > 0 {
		t.Errorf("%d were not there", len(want))
	}
}
