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
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

// leave copies the folder of an open site, as a killed process leaves it.
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

// held returns the names of the documents that the catalogue of a site has, if its index has the same.
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

// TestComparedAtStart: after the death of the process, an index whose log was cut refuses to open until somebody goes on without
// what is lost, and a store that went back takes documents in again from the index.
func TestComparedAtStart(t *testing.T) {
	dir := create(t)
	o := open(t, dir, instance.WithIndex)
	defer o.Close()
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "l"}); err != nil {
		t.Fatal(err)
	}
	var early string
	var want []string
	for i := range 12 {
		if i == 5 {
			early = leave(t, dir)
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
	// The index of an earlier moment with the store of a later one.
	old := leave(t, dir)
	shard := filepath.Join(instance.IndexName, "00")
	if err := os.RemoveAll(filepath.Join(old, shard)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(old, shard), os.DirFS(filepath.Join(early, shard))); err != nil {
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
	// The store of an earlier moment with the index of a later one.
	back := leave(t, dir)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(filepath.Join(early, instance.StoreName+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(back, instance.StoreName+suffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := held(t, back); err != nil || !slices.Equal(got, want) {
		t.Errorf("the store went back: %v, %v", got, err)
	}
}
