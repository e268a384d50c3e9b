package index

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/internal/indextest"
)

// holding returns the files below dir that contain the bytes. If a file is removed while it reads, it starts over, because a background
// merge has then moved the contents to another file.
func holding(t *testing.T, dir string, needle []byte) []string {
	t.Helper()
	for {
		var out []string
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if bytes.Contains(b, needle) {
				out = append(out, path)
			}
			return err
		})
		if err == nil {
			return out
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// TestPurge: after Delete, a document's bytes remain in its segment; after Purge, the bytes of its text and fingerprints are gone, and
// the other documents are unchanged.
func TestPurge(t *testing.T) {
	dir := t.TempDir()
	o := testOptions
	s := open(t, dir, o)
	g := indextest.NewGenerator(4, 1)
	put := func(id concordat.DocumentID, text string) *concordat.Profile {
		t.Helper()
		x := &concordat.Profile{
			Scheme: o.Scheme, Document: concordat.Document{Library: "l", ID: id, Text: text}, Terms: g.Terms(),
			Indexed: []concordat.Sentence{{Span: concordat.Span{End: len(text)}, Fingerprint: g.Random()}},
		}
		if err := s.Put(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	const folios = "The reading room of the old library kept its shutters closed until noon, because the paper of the folios had begun to fade in the morning light."
	stays := put("stays", folios)
	for round, merged := range []bool{false, true, false} {
		gone := put("gone", "QZXWVKJ9 marks a sentence of a hundred and fifty letters, which nobody else has written and which is to be found on the disk until it has been purged away.")
		needles := [][]byte{[]byte("QZXWVKJ9"), appendFingerprints(nil, gone.Indexed[:1])}
		if merged { // all in one segment, which scorch alone would not rewrite
			if err := s.Merge(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range needles {
			if len(holding(t, dir, n)) == 0 {
				t.Fatalf("round %d: %x is not on disk before: nothing can be shown", round, n)
			}
		}
		if err := s.Delete(t.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: "gone"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, n := range needles {
			if in := holding(t, dir, n); len(in) > 0 {
				t.Errorf("round %d: %x is still in %s", round, n, in)
			}
		}
	}
	d, err := s.Document(t.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: "stays"})
	if err != nil || d.Text != folios {
		t.Errorf("the other document: %v, %v", d, err)
	}
	if got := s.Stats(); got.Documents != 1 || got.Sentences != len(stays.Indexed) {
		t.Errorf("stats %+v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, o)
	if err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	// Deleting the last document leaves no bytes either.
	if err := s.Delete(t.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: "stays"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if in := holding(t, dir, []byte("reading room")); len(in) > 0 {
		t.Errorf("the last document is still in %s", in)
	}
}

// TestPurgeOutlastsReader: while a reader holds old files, a purge fails; the files are removed later, even if the reader releases them
// after scorch's persister has looked for removable files.
func TestPurgeOutlastsReader(t *testing.T) {
	for _, logged := range []bool{false, true} {
		o := testOptions
		o.Logged = logged
		s := open(t, t.TempDir(), o)
		seq := uint64(0)
		change := func(c Change) {
			t.Helper()
			var err error
			seq++
			switch {
			case logged:
				err = s.Apply(t.Context(), []Change{c}, Applied{Seq: seq})
			case c.Put != nil:
				err = s.Put(t.Context(), c.Put)
			default:
				err = s.Delete(t.Context(), c.Delete)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		g := indextest.NewGenerator(4, 1)
		change(Change{Put: g.Profile("l", "stays", 3)})
		change(Change{Put: g.Profile("l", "gone", 3)})
		if err := s.Purge(t.Context()); err != nil { // everything is on disk
			t.Fatal(err)
		}
		change(Change{Delete: concordat.Ref{Site: indextest.Site, Library: "l", Document: "gone"}})
		reader, err := s.engine.snapshot()
		if err != nil {
			t.Fatal(err)
		}
		held, err := s.engine.segmentFiles()
		if err != nil || len(held) == 0 {
			t.Fatalf("%d segments, error %v", len(held), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*purgeRound)
		defer cancel()
		if err := s.Purge(ctx); !errors.Is(err, concordat.ErrUnavailable) {
			t.Errorf("logged %v: beside a reader: error %v, want ErrUnavailable", logged, err)
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.engine.awaitRemoval(t.Context(), held); err != nil {
			t.Errorf("logged %v: after the reader: %v", logged, err)
		}
	}
}
