package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"concordat"
	"concordat/internal/indextest"
	"concordat/internal/powertest"
)

// afterPowerLoss opens the named shard as a machine would find it after a power failure at this point.
func afterPowerLoss(t *testing.T, d *powertest.Watched, name string, o Options) *Shard {
	t.Helper()
	s, err := Open(filepath.Join(d.Lost(), name), o)
	if err != nil {
		t.Fatalf("power lost: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestPowerLoss cuts the power after each acknowledged change. The shard opens and contains the change. The simulated file system is one
// that DESIGN.md lists.
func TestPowerLoss(t *testing.T) {
	if !powertest.Alone(t) {
		return
	}
	root := t.TempDir()
	d := powertest.Watch(t, root)
	d.FileNames = true
	s := open(t, filepath.Join(root, "shard"), testOptions)
	ps := someProfiles(40)
	for i := 0; i < len(ps); i += 10 {
		if err := s.Put(t.Context(), ps[i:i+10]...); err != nil {
			t.Fatal(err)
		}
		sameAnswers(t, afterPowerLoss(t, d, "shard", testOptions), ps[:i+10])
	}
	if err := s.Delete(t.Context(), concordat.Ref{Site: indextest.Site, Library: "lib0", Document: "3"}); err != nil {
		t.Fatal(err)
	}
	ps = slices.Delete(ps, 3, 4)
	sameAnswers(t, afterPowerLoss(t, d, "shard", testOptions), ps)
	if err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, afterPowerLoss(t, d, "shard", testOptions), ps)
	// The result of a merge counts only from the next change on.
	more := someProfiles(50)[40:]
	if err := s.Put(t.Context(), more...); err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, afterPowerLoss(t, d, "shard", testOptions), append(ps, more...))
}

// TestPersistedPowerLoss: everything covered by Persisted is found after a power failure, because the log is trimmed up to there.
func TestPersistedPowerLoss(t *testing.T) {
	if !powertest.Alone(t) {
		return
	}
	root := t.TempDir()
	o := testOptions
	o.Logged = true
	d := powertest.Watch(t, root)
	d.FileNames = true
	s := open(t, filepath.Join(root, "shard"), o)
	for seq := uint64(1); seq <= 30; seq++ {
		p := indextest.NewGenerator(seq, 3).Profile("l", concordat.DocumentID(fmt.Sprint(seq)), 20)
		if err := s.Apply(t.Context(), []Change{{Put: p}}, Applied{Seq: seq, Epoch: 1}); err != nil {
			t.Fatal(err)
		}
		if seq%10 == 0 {
			if err := s.Persist(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := s.Persisted().Seq; got != seq {
				t.Errorf("Persist after record %d says that %d is on disk", seq, got)
			}
		}
		if seq%5 != 0 {
			continue
		}
		want := s.Persisted().Seq
		after := afterPowerLoss(t, d, "shard", o)
		if got := after.Applied().Seq; got < want {
			t.Errorf("power lost: record %d is found, and %d was said to be on disk", got, want)
		}
		for i := uint64(1); i <= want; i++ {
			ref := concordat.Ref{Site: indextest.Site, Library: "l", Document: concordat.DocumentID(fmt.Sprint(i))}
			if _, err := after.Document(t.Context(), ref); err != nil {
				t.Errorf("power lost with %d on disk: document %d: %v", want, i, err)
			}
		}
	}
}

// TestCopiesPowerLoss: a shard made by Build or CopyTo is on disk when they return, on any file system.
func TestCopiesPowerLoss(t *testing.T) {
	if !powertest.Alone(t) {
		return
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "copy"), 0o700); err != nil { // the caller of CopyTo is responsible for syncing this name
		t.Fatal(err)
	}
	ps := someProfiles(60)
	d := powertest.Watch(t, root)
	if err := Build(filepath.Join(root, "built"), testOptions, sound(slices.Values(ps))); err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, afterPowerLoss(t, d, "built", testOptions), ps)
	s := open(t, filepath.Join(root, "built"), testOptions)
	if err := s.CopyTo(t.Context(), filepath.Join(root, "copy")); err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, afterPowerLoss(t, d, "copy", testOptions), ps)
}

// TestMergedPowerLoss: a merged segment is on disk before the snapshot that names it, whether it was written from memory or
// through files.
func TestMergedPowerLoss(t *testing.T) {
	if !powertest.Alone(t) {
		return
	}
	root := t.TempDir()
	d := powertest.Watch(t, root)
	d.FileNames = true
	for name, p := range map[string]*plugin{"memory.zap": {maxMerge: maxMerge}, "files.zap": {terms: 1 << 10}} {
		s, _, err := p.New(testEntries(rand.New(rand.NewPCG(1, 1)), 0, 50, new(counters)))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, name)
		if _, _, err := p.Merge([]segment.Segment{s}, []*roaring.Bitmap{nil}, path, nil, nil); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(d.Lost(), name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("power lost after the merge: of %s are %d bytes there, error %v, want all %d", name, len(got), err, len(want))
		}
	}
}

// TestReadOnlySyncsNothing: a shard opened for reading makes no sync, since some read-only file systems refuse that.
func TestReadOnlySyncsNothing(t *testing.T) {
	if !powertest.Alone(t) {
		return
	}
	dir := filepath.Join(t.TempDir(), "shard")
	ps := someProfiles(3)
	if err := Build(dir, testOptions, sound(slices.Values(ps))); err != nil {
		t.Fatal(err)
	}
	d := powertest.Watch(t, dir)
	o := testOptions
	o.ReadOnly = true
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, s, ps)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := d.Calls(); n > 0 {
		t.Errorf("%d syncs, want none", n)
	}
}
