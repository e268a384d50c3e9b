package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/index"
	"concordat/internal/indextest"
)

// TestReprofile: documents that are only in the log, under a different scheme than the index, are indexed under the index's own scheme,
// or the copy stops and says why.
func TestReprofile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	written := CopyOptions{Index: index.Options{Site: indextest.Site, Shard: "00", Scheme: indextest.Scheme}}
	a, err := openAlone(t.Context(), dir, written)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		p := &concordat.Profile{Scheme: indextest.Scheme, Document: concordat.Document{Library: "l", ID: concordat.DocumentID(fmt.Sprint(i)),
			Text: fmt.Sprint("text of ", i)}}
		if err := a.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	gone := concordat.Ref{Site: indextest.Site, Library: "l", Document: "3"}
	if err := errors.Join(a.Delete(t.Context(), gone), a.Close()); err != nil {
		t.Fatal(err)
	}

	const other concordat.Scheme = "other@0123456789abcdef"
	print := concordat.Fingerprint{1, 2}
	broken := errors.New("no profile")
	o := written
	o.Index.Scheme = other
	open := func(f func(concordat.Document) (*concordat.Profile, error)) (*Alone, error) {
		t.Helper()
		behind := filepath.Join(t.TempDir(), "behind") // an index under the other scheme, without any of the log's documents
		x, err := index.Open(behind, o.Index)
		if err == nil {
			err = errors.Join(x.Close(), os.CopyFS(filepath.Join(behind, logName), os.DirFS(filepath.Join(dir, logName))))
		}
		if err != nil {
			t.Fatal(err)
		}
		o.Reprofile = f
		return openAlone(t.Context(), behind, o)
	}
	if _, err := open(nil); !errors.Is(err, concordat.ErrScheme) {
		t.Errorf("without Reprofile: %v", err)
	}
	if _, err := open(func(concordat.Document) (*concordat.Profile, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("with one that fails: %v", err)
	}
	b, err := open(func(d concordat.Document) (*concordat.Profile, error) {
		p := &concordat.Profile{Scheme: other, Document: d}
		p.Indexed = []concordat.Sentence{{Fingerprint: print, Span: concordat.Span{End: len(d.Text)}}}
		return p, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	found, err := b.Match(t.Context(), &concordat.Query{Scheme: other, Fingerprints: []concordat.Fingerprint{print}})
	if err != nil || len(found.Matches) != 4 {
		t.Errorf("%+v, %v: want the four documents that are left", found, err)
	}
	for i := range 5 {
		ref := concordat.Ref{Site: indextest.Site, Library: "l", Document: concordat.DocumentID(fmt.Sprint(i))}
		d, err := b.Document(t.Context(), ref)
		if ref == gone && errors.Is(err, concordat.ErrNotFound) {
			continue
		}
		if err != nil || d.Text != fmt.Sprint("text of ", i) {
			t.Errorf("document %d: %+v, %v", i, d, err)
		}
	}
}
