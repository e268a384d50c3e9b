package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"concordat/internal/cputime"
	"concordat/internal/suite"
)

// TestStream: a merge through files writes the same bytes as one in memory, whatever the ranges of terms, and leaves nothing behind.
func TestStream(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	c := new(counters)
	var segs []segment.Segment
	inMemory := plugin{maxMerge: maxMerge}
	// With one term per range, the file is read once for each range.
	size := suite.Rounds(800, 3000)
	ranges := []int{suite.Rounds(20, 1), 700, 1 << 20}
	if testing.Short() {
		size, ranges = 300, []int{70, 1 << 20}
	}
	for i := range 3 {
		s, _, err := inMemory.New(testEntries(r, size*i, size, c))
		if err != nil {
			t.Fatal(err)
		}
		segs = append(segs, s)
	}
	dead := roaring.New()
	dead.AddRange(100, 250)
	drops := []*roaring.Bitmap{nil, dead, nil}
	merge := func(p *plugin) []byte {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, "merged.zap")
		numbers, n, err := p.Merge(segs, drops, path, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
			t.Errorf("%d files after the merge (%v)", len(names), err)
		}
		if p.maxMerge == 0 && n != uint64(len(b)) {
			t.Errorf("said to be %d bytes, is %d", n, len(b))
		}
		s, err := p.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		checkNumbers(t, segs, drops, numbers, s)
		if want, got := crc32.ChecksumIEEE(b[:len(b)-4]), binary.BigEndian.Uint32(b[len(b)-4:]); got != want {
			t.Errorf("checksum %08x, want %08x", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return b
	}
	want := merge(&inMemory)
	for _, terms := range ranges {
		if got := merge(&plugin{terms: terms}); !bytes.Equal(got, want) {
			t.Errorf("ranges of %d terms: %d bytes differ from %d", terms, len(got), len(want))
		}
	}
}

// TestStreamFails: a merge that is cancelled or runs out of space leaves no file.
func TestStreamFails(t *testing.T) {
	var p plugin
	s, _, err := p.New(testEntries(rand.New(rand.NewPCG(1, 1)), 0, 50, new(counters)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	closed := make(chan struct{})
	close(closed)
	if _, _, err := p.Merge([]segment.Segment{s}, []*roaring.Bitmap{nil}, filepath.Join(dir, "a.zap"), closed, nil); !errors.Is(err,
		segment.ErrClosed) {
		t.Errorf("closed merge: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "b.zap.prints"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Merge([]segment.Segment{s}, []*roaring.Bitmap{nil}, filepath.Join(dir, "b.zap"), nil, nil); err == nil {
		t.Error("merge without its second file succeeds")
	}
	for _, name := range []string{"a.zap", "a.zap.prints", "b.zap"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// closing is a segment that closes a channel when its last document is read.
type closing struct {
	segment.Segment
	closed chan struct{}
}

func (s closing) VisitStoredFields(n uint64, visit segment.StoredFieldValueVisitor) error {
	if n == s.Count()-1 {
		close(s.closed)
	}
	return s.Segment.VisitStoredFields(n, visit)
}

// TestMergeEnds: a merge cancelled after all documents were read writes no more dictionaries.
func TestMergeEnds(t *testing.T) {
	for name, p := range map[string]*plugin{"memory": {maxMerge: maxMerge}, "files": {terms: 100}} {
		made, _, err := p.New(testEntries(rand.New(rand.NewPCG(1, 1)), 0, 50, new(counters)))
		if err != nil {
			t.Fatal(err)
		}
		s := closing{made, make(chan struct{})}
		dir := t.TempDir()
		if _, _, err := p.Merge([]segment.Segment{s}, []*roaring.Bitmap{nil}, filepath.Join(dir, "a.zap"), s.closed,
			nil); err != segment.ErrClosed {
			t.Errorf("%s: got %v, want ErrClosed itself", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v (%v)", name, left, err)
		}
	}
}

// TestSinkFull: after a failed write, nothing more is collected in memory, and no further document is read.
func TestSinkFull(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	m := new(merger)
	m.sink = &sink{file: f}
	for range 3 {
		m.b = append(m.b, make([]byte, drained)...)
		if m.drain(false); len(m.b) > 0 {
			t.Fatalf("%d bytes gathered after a failed write", len(m.b))
		}
	}
	var p plugin
	s, _, err := p.New(testEntries(rand.New(rand.NewPCG(1, 1)), 0, 50, new(counters)))
	if err != nil {
		t.Fatal(err)
	}
	err = m.fill([]segment.Segment{s}, []*roaring.Bitmap{nil}, make([][]uint64, 1))
	if !errors.Is(err, os.ErrClosed) || len(m.ids) > 0 {
		t.Errorf("got %v after %d documents, want what the write said after none", err, len(m.ids))
	}
}

// TestPrintFile: the second file of a merge has no name on disk, so a crash leaves nothing of it behind.
func TestPrintFile(t *testing.T) {
	dir := t.TempDir()
	p, err := newPrintFile(filepath.Join(dir, "a.zap.prints"), 10)
	if err != nil {
		t.Fatal(err)
	}
	defer p.f.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v (%v)", left, err)
	}
}

// BenchmarkStream compares merges through files with merges in memory and with zap's.
func BenchmarkStream(b *testing.B) {
	const n = 20_000
	r, c := rand.New(rand.NewPCG(1, 2)), new(counters)
	var segs []segment.Segment
	var p plugin
	for i := range 2 {
		s, _, err := p.New(testEntries(r, n*i, n, c))
		if err != nil {
			b.Fatal(err)
		}
		segs = append(segs, s)
	}
	var stock zap.ZapPlugin
	for _, by := range []struct {
		name  string
		merge func(path string) error
	}{
		{"memory", func(path string) error {
			_, _, err := (&plugin{maxMerge: maxMerge}).Merge(segs, make([]*roaring.Bitmap, 2), path, nil, nil)
			return err
		}},
		{"files", func(path string) error {
			_, _, err := (&plugin{terms: streamTerms}).Merge(segs, make([]*roaring.Bitmap, 2), path, nil, nil)
			return err
		}},
		{"zap", func(path string) error {
			_, _, err := stock.Merge(unwrap(segs), make([]*roaring.Bitmap, 2), path, nil, nil)
			return err
		}},
	} {
		b.Run("by="+by.name, func(b *testing.B) {
			dir, i, start := b.TempDir(), 0, cputime.Used()
			for b.Loop() {
				i++
				if err := by.merge(filepath.Join(dir, fmt.Sprint(i))); err != nil {
					b.Fatal(err)
				}
			}
			cputime.Report(b, start, i, "op")
		})
	}
}
