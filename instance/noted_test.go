package instance_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/cluster"
	"concordat/instance"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/store"
)

// leave copies the folder of an open site, as a killed process would leave it.
func leave(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "site")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(to, rel), 0o700))
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// held returns the names of the documents in a site's catalogue, if its index has the same documents.
func held(t *testing.T, dir string) ([]string, error) {
	t.Helper()
	o, err := instance.Open(t.Context(), dir, instance.WithIndex, instance.Options{})
	if err != nil {
		return nil, err
	}
	defer o.Close()
	st, err := o.CheckIndex(t.Context(), true)
	if err != nil || st.Missing+st.Extra > 0 {
		return nil, fmt.Errorf("%+v, %w", st, err)
	}
	var out []string
	err = o.EachDocument(t.Context(), func(r concordat.Ref) { out = append(out, string(r.Document)) })
	return out, err
}

// TestComparedAtStart: after the process was killed, an index with a truncated log refuses to open until a person accepts the loss, and a
// store reset to an older state gets the missing documents from the index.
func TestComparedAtStart(t *testing.T) {
	dir := create(t)
	o := open(t, dir, instance.WithIndex)
	defer o.Close()
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "l"}); err != nil {
		t.Fatal(err)
	}
	const documents = 12
	early := map[int]string{} // copy of the site by number of documents
	var want []string
	for i := range documents {
		if i == 5 || i >= documents-4 {
			early[i] = leave(t, dir)
		}
		id := fmt.Sprintf("d%02d", i)
		want = append(want, id)
		err := o.Site.Ingest(t.Context(), "l", func(yield func(site.Incoming, error) bool) {
			text := strings.Repeat("Sentence "+id+" of the reading room says how the folios fade. ", 9)
			yield(site.Incoming{ID: concordat.DocumentID(id), Title: id, Text: text}, nil)
		}, func(site.Ingested) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := held(t, leave(t, dir)); err != nil || !slices.Equal(got, want) {
		t.Fatalf("untouched: %v, %v", got, err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, instance.IndexName, "00", "log", "*"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	rel, err := filepath.Rel(dir, logs[0])
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	for n := len(whole) - 1; n > 100; n -= max(1, len(whole)/40) {
		at := leave(t, dir)
		if err := os.Truncate(filepath.Join(at, rel), int64(n)); err != nil {
			t.Fatal(err)
		}
		got, err := held(t, at)
		if err == nil && !slices.Equal(got, want) || err != nil && !errors.Is(err, concordat.ErrCorrupt) {
			t.Errorf("log cut at %d of %d: %v, %v", n, len(whole), got, err)
		}
	}
	// Combine an older index with a newer store.
	old := leave(t, dir)
	shard := filepath.Join(instance.IndexName, "00")
	if err := os.RemoveAll(filepath.Join(old, shard)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(old, shard), os.DirFS(filepath.Join(early[5], shard))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := held(t, old); !errors.Is(err, concordat.ErrCorrupt) || !strings.Contains(err.Error(), "7 acknowledged changes") &&
			!strings.Contains(err.Error(), "some acknowledged changes") {
			t.Errorf("an older index: %v, want ErrCorrupt", err)
		}
	}
	if err := os.Remove(filepath.Join(old, shard, "identity")); err != nil {
		t.Fatal(err)
	}
	if _, err := held(t, old); err == nil || !strings.Contains(err.Error(), "Missing:7") {
		t.Errorf("an older index, accepted: %v, want 7 documents missing", err)
	}
	// Different profiles are changes, too.
	before := leave(t, dir)
	d, err := o.Index.Document(t.Context(), o.Site.Ref("l", "d00"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Profile(t.Context(), *d)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := o.Index.(cluster.Renewer).Renew(t.Context(), p); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	renewed := leave(t, dir)
	if err := errors.Join(os.RemoveAll(filepath.Join(renewed, shard)),
		os.CopyFS(filepath.Join(renewed, shard), os.DirFS(filepath.Join(before, shard)))); err != nil {
		t.Fatal(err)
	}
	if _, err := held(t, renewed); !errors.Is(err, concordat.ErrCorrupt) || !strings.Contains(err.Error(), "lacks 1 acknowledged") {
		t.Errorf("an index from before a renewal: %v, want ErrCorrupt", err)
	}
	// Combine an older store with a newer index, possibly after other starts.
	for n, at := range early {
		for starts := range 3 {
			back := leave(t, dir)
			for range starts {
				if err := cluster.Replay(t.Context(), filepath.Join(back, shard)); err != nil {
					t.Fatal(err)
				}
			}
			for _, suffix := range []string{"", "-wal", "-shm"} {
				b, err := os.ReadFile(filepath.Join(at, instance.StoreName+suffix))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(back, instance.StoreName+suffix), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := held(t, back); err != nil || !slices.Equal(got, want) {
				t.Errorf("the store lost %d of %d documents, then %d starts: %v, %v", documents-n, documents, starts, got, err)
			}
		}
	}
}

// TestIndexGone: a site whose index is missing is neither opened nor reindexed as if it were empty until a person confirms it. An index
// from before identities existed opens, as does the empty index of a site without documents.
func TestIndexGone(t *testing.T) {
	dir := create(t)
	shard := filepath.Join(dir, instance.IndexName, "00")
	identity := filepath.Join(shard, "identity")
	opens := func() error {
		o, err := instance.Open(t.Context(), dir, instance.WithIndex, instance.Options{})
		if err == nil {
			err = o.Close()
		}
		return err
	}
	if err := errors.Join(opens(), os.RemoveAll(shard), opens()); err != nil {
		t.Fatalf("without documents: %v", err)
	}
	o := open(t, dir, instance.WithIndex)
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "l"}); err != nil {
		t.Fatal(err)
	}
	err := o.Site.Ingest(t.Context(), "l", func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: "d", Title: "d", Text: sitetest.Prose(1, 20)}, nil)
	}, func(site.Ingested) error { return nil })
	if err := errors.Join(err, o.Close()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(identity), opens()); err != nil {
		t.Errorf("without an identity: %v", err)
	}
	if err := os.RemoveAll(shard); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := opens(); !errors.Is(err, concordat.ErrCorrupt) || !strings.Contains(err.Error(), identity) {
			t.Errorf("without an index: %v, want ErrCorrupt naming %s", err, identity)
		}
	}
	if err := errors.Join(os.WriteFile(identity, []byte("another"), 0o600), opens(), opens()); err != nil {
		t.Errorf("without an index, which somebody accepted: %v", err)
	}
}
