package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/index"
	"concordat/internal/indextest"
)

var aloneOptions = index.Options{Site: indextest.Site, Shard: "00", Scheme: indextest.Scheme}

func openAlone(t *testing.T, dir string) *cluster.Alone {
	t.Helper()
	a, err := cluster.OpenAlone(t.Context(), dir, aloneOptions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestAloneContract(t *testing.T) {
	indextest.Run(t, indextest.Subject{Open: func(t *testing.T) concordat.Index { return openAlone(t, filepath.Join(t.TempDir(), "shard")) }})
}

func profileOf(id, text string) *concordat.Profile {
	return &concordat.Profile{Scheme: indextest.Scheme, Document: concordat.Document{Library: "l", ID: concordat.DocumentID(id), Text: text},
		Terms: []concordat.TermCount{{Term: 1, Count: 1}}}
}

func refOf(id string) concordat.Ref {
	return concordat.Ref{Site: indextest.Site, Library: "l", Document: concordat.DocumentID(id)}
}

// textOf returns the text of a document, or "none".
func textOf(t testing.TB, x concordat.Index, id string) string {
	t.Helper()
	d, err := x.Document(t.Context(), refOf(id))
	if errors.Is(err, concordat.ErrNotFound) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	return d.Text
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAloneSurvives copies the folder while work is in progress, as a crash would leave it, and opens the copies. Everything acknowledged
// is there, and everything deleted is gone.
func TestAloneSurvives(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	a := openAlone(t, dir)
	for round := range 5 {
		var wg sync.WaitGroup
		for w := range 3 {
			wg.Go(func() {
				for i := range 20 {
					id := fmt.Sprintf("%d-%d", w, i)
					if err := a.Put(context.Background(), profileOf(id, fmt.Sprint(round))); err != nil {
						t.Error(err)
					}
					if i%4 == round%4 {
						if err := a.Delete(context.Background(), refOf(id)); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		// The log uses plain writes, so a copy of the file equals the file of a killed process. Bleve changes its files in the
		// background; without them, all content must come from the log.
		dead := filepath.Join(t.TempDir(), "dead")
		x, err := index.Open(dead, aloneOptions)
		must(t, err)
		must(t, x.Close())
		must(t, os.CopyFS(filepath.Join(dead, "log"), os.DirFS(filepath.Join(dir, "log"))))
		b := openAlone(t, dead)
		for w := range 3 {
			for i := range 20 {
				want := fmt.Sprint(round)
				if i%4 == round%4 {
					want = "none"
				}
				if got := textOf(t, b, fmt.Sprintf("%d-%d", w, i)); got != want {
					t.Fatalf("round %d: document %d-%d says %q, want %q", round, w, i, got, want)
				}
			}
		}
	}
}

// TestAloneAdopts adds a log to an index that never had one, and continues with both.
func TestAloneAdopts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	s, err := index.Open(dir, aloneOptions)
	must(t, err)
	must(t, s.Put(t.Context(), profileOf("old", "before")))
	must(t, s.Close())
	for range 3 {
		a := openAlone(t, dir)
		if got := textOf(t, a, "old"); got != "before" {
			t.Errorf("got %q", got)
		}
		must(t, a.Put(t.Context(), profileOf("new", "after")))
		must(t, a.Close())
		if err := a.Put(t.Context(), profileOf("new", "late")); !errors.Is(err, concordat.ErrUnavailable) {
			t.Errorf("after Close: %v", err)
		}
	}
	// A backup of the index without its log also works.
	must(t, os.RemoveAll(filepath.Join(dir, "log")))
	if got := textOf(t, openAlone(t, dir), "new"); got != "after" {
		t.Errorf("got %q", got)
	}
}

// TestAloneDamaged flips a bit of an acknowledged record that only the log contains. The site must refuse to start. If the index has the
// record too, nothing is lost, and the site starts.
func TestAloneDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	a := openAlone(t, dir)
	for i := range 10 {
		must(t, a.Put(t.Context(), profileOf(fmt.Sprint(i), "here")))
	}
	must(t, a.Close())
	flip := func(dir string) {
		files, err := filepath.Glob(filepath.Join(dir, "log", "*.wal"))
		must(t, err)
		b, err := os.ReadFile(files[0])
		must(t, err)
		b[len(b)/2] ^= 1
		must(t, os.WriteFile(files[0], b, 0o600))
	}
	flip(dir)
	a = openAlone(t, dir)
	if got := textOf(t, a, "9"); got != "here" {
		t.Errorf("got %q", got)
	}
	must(t, a.Put(t.Context(), profileOf("more", "here")))
	must(t, a.Close())

	// Only the log is left, from its beginning.
	lone := filepath.Join(t.TempDir(), "lone")
	other := filepath.Join(t.TempDir(), "other")
	b := openAlone(t, other)
	for i := range 10 {
		must(t, b.Put(t.Context(), profileOf(fmt.Sprint(i), "here")))
	}
	must(t, b.Close())
	s, err := index.Open(lone, aloneOptions)
	must(t, err)
	must(t, s.Close())
	must(t, os.CopyFS(filepath.Join(lone, "log"), os.DirFS(filepath.Join(other, "log"))))
	flip(lone)
	for range 2 { // refused both times
		if _, err := cluster.OpenAlone(t.Context(), lone, aloneOptions); !errors.Is(err, concordat.ErrCorrupt) {
			t.Fatalf("got %v", err)
		}
	}
	// As the message advises: remove the log and add the documents again.
	must(t, os.RemoveAll(filepath.Join(lone, "log")))
	for range 2 {
		a = openAlone(t, lone)
		must(t, a.Put(t.Context(), profileOf("again", "here")))
		must(t, a.Close())
	}
}

// TestAloneState: a shard opens as before if its coordinator's file or the copy's own state file is missing; if the two files contradict
// each other, the shard reports this instead of waiting.
func TestAloneState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	for i := range 3 { // makes three epochs
		a := openAlone(t, dir)
		must(t, a.Put(t.Context(), profileOf(fmt.Sprint(i), "here")))
		must(t, a.Close())
	}
	for _, c := range []struct {
		file, from, to string // if from is empty, the file is removed
		told           bool
	}{
		{file: "cluster.json"},
		{file: "replica.json"},
		{"cluster.json", `"epoch": 3`, `"epoch": 1`, true},
		{"cluster.json", `"epoch": 3`, `"epoci": 3`, true},
		{"cluster.json", `"alone"`, `"elone"`, true},
		{"cluster.json", `"00"`, `"10"`, false},
		{"cluster.json", `{`, ``, true},
		{"replica.json", `"epoch":3`, `"epoch":7`, true},
		{"replica.json", `"epoch":3`, `"epoch":1`, false},
	} {
		at := filepath.Join(t.TempDir(), "shard")
		must(t, os.CopyFS(at, os.DirFS(dir)))
		path := filepath.Join(at, c.file)
		b, err := os.ReadFile(path)
		must(t, err)
		if changed := bytes.Replace(b, []byte(c.from), []byte(c.to), 1); c.from == "" {
			must(t, os.Remove(path))
		} else if bytes.Equal(changed, b) {
			t.Fatalf("%s has no %s: %s", c.file, c.from, b)
		} else {
			must(t, os.WriteFile(path, changed, 0o600))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		a, err := cluster.OpenAlone(ctx, at, aloneOptions)
		if c.told {
			if !errors.Is(err, concordat.ErrCorrupt) || !strings.Contains(err.Error(), "cluster.json") ||
				!strings.Contains(err.Error(), "delete this file") {
				t.Errorf("%+v: %v, want ErrCorrupt naming the file and what to do", c, err)
				continue
			}
			must(t, os.Remove(filepath.Join(at, "cluster.json"))) // as the message advises
			a, err = cluster.OpenAlone(ctx, at, aloneOptions)
		}
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		for i := range 3 {
			if got := textOf(t, a, fmt.Sprint(i)); got != "here" {
				t.Errorf("%+v: document %d says %q", c, i, got)
			}
		}
		must(t, a.Put(t.Context(), profileOf("more", "here")))
		must(t, a.Close())
	}
}

// TestAlonePurge: no file, not even the log, contains deleted bytes, and everything else is there.
func TestAlonePurge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	a := openAlone(t, dir)
	secret := "a-word-that-nobody-else-writes"
	must(t, a.Put(t.Context(), profileOf("gone", secret), profileOf("stays", "other")))
	must(t, a.Delete(t.Context(), refOf("gone")))
	must(t, a.Purge(t.Context()))
	must(t, a.Put(t.Context(), profileOf("later", "other")))
	logs, err := filepath.Glob(filepath.Join(dir, "log", "*"))
	must(t, err)
	for _, f := range logs {
		b, err := os.ReadFile(f)
		must(t, err)
		if strings.Contains(string(b), secret) {
			t.Errorf("%s holds what was deleted", f)
		}
	}
	must(t, a.Close())
	a = openAlone(t, dir)
	if got := textOf(t, a, "gone") + textOf(t, a, "stays") + textOf(t, a, "later"); got != "noneotherother" {
		t.Errorf("got %q", got)
	}
}

func TestAloneRefuses(t *testing.T) {
	a := openAlone(t, filepath.Join(t.TempDir(), "shard"))
	p := profileOf("x", "y")
	p.Scheme = "other@0"
	if err := a.Put(t.Context(), p); !errors.Is(err, concordat.ErrScheme) {
		t.Errorf("got %v", err)
	}
	p = profileOf("x", "y")
	p.Document.Library = "x\x00y"
	if err := a.Put(t.Context(), p); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	must(t, a.Put(t.Context()))
	if _, err := cluster.OpenAlone(t.Context(), filepath.Join(t.TempDir(), "z"), index.Options{ReadOnly: true}); !errors.Is(err,
		concordat.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestRenewProfiles: a recomputed profile replaces only the document that it was made from, not one that has been replaced or deleted
// since. Renewed profiles are there after reopening, in this process or another one.
func TestRenewProfiles(t *testing.T) {
	for name, through := range map[string]func(*testing.T, *cluster.Alone) cluster.Renewer{
		"here":  func(_ *testing.T, a *cluster.Alone) cluster.Renewer { return a },
		"there": func(t *testing.T, a *cluster.Alone) cluster.Renewer { return serve(t, a) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "shard")
			a, err := cluster.OpenAlone(t.Context(), dir, aloneOptions)
			must(t, err)
			for _, id := range []string{"same", "none", "replaced", "deleted"} {
				must(t, a.Put(t.Context(), profileOf(id, "one")))
			}
			if s, err := a.TextStats(t.Context(), nil); err != nil || s.Meant != 0 {
				t.Fatalf("the cells of %d documents are known before, %v", s.Meant, err)
			}
			var ps []*concordat.Profile
			for _, id := range []string{"same", "none", "replaced", "deleted"} {
				p := profileOf(id, "one")
				p.Cells = []concordat.Cell{7, 70}
				if id == "none" {
					p.Cells = []concordat.Cell{}
				}
				ps = append(ps, p)
			}
			must(t, a.Put(t.Context(), profileOf("replaced", "two")))
			must(t, a.Delete(t.Context(), refOf("deleted")))
			n, err := through(t, a).Renew(t.Context(), ps...)
			if err != nil || n != 2 {
				t.Errorf("%d documents are renewed, %v; want 2", n, err)
			}
			must(t, a.Close())
			a = openAlone(t, dir)
			for id, want := range map[string]string{"same": "one", "none": "one", "replaced": "two", "deleted": "none"} {
				if got := textOf(t, a, id); got != want {
					t.Errorf("%s has the text %q, want %q", id, got, want)
				}
			}
			if s, err := a.TextStats(t.Context(), nil); err != nil || a.Index().Stats().Documents != 3 || s.Meant != 2 {
				t.Errorf("%d documents, the cells of %d of them known, %v; want 3 and 2", a.Index().Stats().Documents, s.Meant, err)
			}
		})
	}
}
