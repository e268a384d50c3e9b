package instance_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/instance"
	"concordat/internal/sitetest"
	"concordat/internal/suite"
	"concordat/site"
	"concordat/store"
)

// errSilent: a document is not found, and nothing says why.
var errSilent = errors.New("silent")

// damage flips a bit of a random file in a folder, or truncates the file, and returns a description. Half of the time it picks one of the
// logs.
func damage(t *testing.T, r *rand.Rand, dir string) string {
	t.Helper()
	var files, logs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		files = append(files, path)
		if strings.HasSuffix(path, "-wal") || strings.Contains(path, "/log/") {
			logs = append(logs, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.IntN(2) == 0 {
		files = logs
	}
	path := files[r.IntN(len(files))]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := r.IntN(len(b))
	what := fmt.Sprintf("%s of %d bytes, flipped at %d", path[len(dir)+1:], len(b), at)
	if r.IntN(3) == 0 {
		what = fmt.Sprintf("%s of %d bytes, cut at %d", path[len(dir)+1:], len(b), at)
		b = b[:at]
	} else {
		b[at] ^= 1 << r.IntN(8)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return what
}

// TestDamageIsTold damages one file of a site as a killed process left it, and checks copies of its documents: each is found, or
// the site reports a fault.
func TestDamageIsTold(t *testing.T) {
	const documents = 24
	dir := create(t)
	o := open(t, dir, instance.WithIndex)
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "l"}); err != nil {
		t.Fatal(err)
	}
	texts := map[concordat.DocumentID]string{}
	for i := range documents {
		if i == documents/2 { // half of them are in the segments, half in the logs
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			o = open(t, dir, instance.WithIndex)
		}
		id := concordat.DocumentID(fmt.Sprintf("d%02d", i))
		texts[id] = sitetest.Prose(uint64(i), 40)
		err := o.Site.Ingest(t.Context(), "l", func(yield func(site.Incoming, error) bool) {
			yield(site.Incoming{ID: id, Title: string(id), Text: texts[id]}, nil)
		}, func(site.Ingested) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	killed := leave(t, dir)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	asked := []concordat.DocumentID{"d00", "d07", "d11", "d12", "d18", "d23"}
	try := func(dir string) error {
		o, err := instance.Open(t.Context(), dir, instance.WithIndex, instance.Options{})
		if err != nil {
			return err
		}
		defer o.Close()
		for _, id := range asked {
			f, err := o.Site.Check(t.Context(), site.Submission{ID: "copy", Text: texts[id]}, site.CheckOptions{})
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(f.Passages, func(p concordat.Passage) bool { return p.Source.Document == id && p.Title == string(id) }) &&
				len(f.Consulted) == 1 && len(f.Consulted[0].Missing) == 0 {
				return fmt.Errorf("%w: %s", errSilent, id)
			}
		}
		return nil
	}
	if err := try(leave(t, killed)); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	r := rand.New(rand.NewPCG(40, 13))
	told := 0
	for range suite.Rounds(12, 300) {
		at := leave(t, killed)
		what := damage(t, r, at)
		err := try(at)
		if err != nil {
			told++
		}
		if errors.Is(err, errSilent) {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("told in %d rounds", told)
}
