package instance_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"concordat"
	"concordat/instance"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
)

func create(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site")
	if _, err := instance.Create(t.Context(), dir, "test", "A test", profile.Natural, "", false); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, dir string, mode instance.Mode) *instance.Instance {
	t.Helper()
	o, err := instance.Open(t.Context(), dir, mode, instance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOpen: a site adds documents and finds them after being reopened.
func TestOpen(t *testing.T) {
	dir := create(t)
	o := open(t, dir, instance.WithIndex)
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	const text = "The measure of similarity between two documents is the share of sentences that they have in common."
	err := o.Site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: "one", Text: text}, nil)
	}, func(site.Ingested) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o = open(t, dir, instance.WithIndex)
	defer o.Close()
	if o.Site.ID() != "test" || o.Stats().Documents != 1 {
		t.Errorf("site %s with %d documents, want test with 1", o.Site.ID(), o.Stats().Documents)
	}
	for d, err := range o.LibraryDocuments(t.Context(), "theses") {
		if err != nil || d.ID != "one" || d.Text != text {
			t.Errorf("got %+v, %v", d, err)
		}
	}
}

// TestLocked: only one process at a time can have the index open; others can still read the store.
func TestLocked(t *testing.T) {
	dir := create(t)
	o := open(t, dir, instance.WithIndex)
	defer o.Close()
	for _, mode := range []instance.Mode{instance.Locked, instance.WithIndex, instance.Serve} {
		if _, err := instance.Open(t.Context(), dir, mode, instance.Options{}); !errors.Is(err, concordat.ErrLocked) {
			t.Errorf("mode %d: %v, want %v", mode, err, concordat.ErrLocked)
		}
	}
	beside := open(t, dir, instance.StoreOnly)
	if err := beside.Close(); err != nil {
		t.Error(err)
	}
}

// TestUsage: faults that a person must correct are a UsageError, and damage is not.
func TestUsage(t *testing.T) {
	for name, damage := range map[string]struct {
		do    func(dir string) error
		usage bool
	}{
		"no configuration": {func(dir string) error { return os.Remove(filepath.Join(dir, instance.ConfigName)) }, true},
		"no store":         {func(dir string) error { return os.Remove(filepath.Join(dir, instance.StoreName)) }, true},
		"unknown key": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, instance.ConfigName), []byte("site: {id: test}\nnonsense: 1\n"), 0o600)
		}, true},
		"short index key": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, instance.IndexKeyName), []byte("short"), 0o600)
		}, false},
	} {
		dir := create(t)
		if err := damage.do(dir); err != nil {
			t.Fatal(err)
		}
		_, err := instance.Open(t.Context(), dir, instance.StoreOnly, instance.Options{})
		var usage *instance.UsageError
		if err == nil || errors.As(err, &usage) != damage.usage {
			t.Errorf("%s: error %v, usage %v, want %v", name, err, usage != nil, damage.usage)
		}
		if name == "short index key" && !errors.Is(err, concordat.ErrCorrupt) {
			t.Errorf("%s: %v, want %v", name, err, concordat.ErrCorrupt)
		}
	}
}
