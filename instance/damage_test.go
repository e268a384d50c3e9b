package instance_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/instance"
	"concordat/internal/sitetest"
	"concordat/internal/suite"
	"concordat/site"
	"concordat/store"
)

// errSilent means that an answer differs without any reported reason.
var errSilent = errors.New("silent")

// errHangs means that a start took more than a minute.
var errHangs = errors.New("hangs")

// kindOf returns the kind of file or folder at a path relative to the site's folder.
func kindOf(rel string, folder bool) string {
	switch name := filepath.Base(rel); {
	case folder:
		return "folder"
	case strings.HasPrefix(name, instance.StoreName):
		return name
	case strings.HasSuffix(name, ".zap"):
		return "segment"
	case strings.HasPrefix(rel, filepath.Join(instance.IndexName, "00", "log")):
		return "log of the index"
	default:
		return name
	}
}

// damage flips a bit of a random file in a folder, truncates the file, or removes it or a folder inside. It returns the kind of file
// and a description. All kinds are equally likely.
func damage(t *testing.T, r *rand.Rand, dir, only string) (kind, what string) {
	t.Helper()
	kinds := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil || !d.IsDir() && info.Size() == 0 {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		kinds[kindOf(rel, d.IsDir())] = append(kinds[kindOf(rel, d.IsDir())], rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(kinds))
	if only != "" {
		names = []string{only}
	}
	kind = names[r.IntN(len(names))]
	if len(kinds[kind]) == 0 {
		t.Fatalf("no file of kind %q", kind)
	}
	rel := kinds[kind][r.IntN(len(kinds[kind]))]
	path := filepath.Join(dir, rel)
	if kind == "folder" || r.IntN(6) == 0 {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		return kind, rel + " removed"
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := r.IntN(len(b))
	what = fmt.Sprintf("%s of %d bytes, flipped at %d", rel, len(b), at)
	if r.IntN(3) == 0 {
		what = fmt.Sprintf("%s of %d bytes, cut at %d", rel, len(b), at)
		b = b[:at]
	} else {
		b[at] ^= 1 << r.IntN(8)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return kind, what
}

// damages is the environment variable that sets the number of rounds and, after a space, the only kind of file to damage. With -v, the
// test prints its results by kind of file.
const damages = "CONCORDAT_DAMAGES"

// TestDamageIsTold damages one file of a site as left by a killed process, and checks copies of its documents. Either the answers and the
// catalogue are the same as on the undamaged site, or the site reports a fault.
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
			yield(site.Incoming{ID: id, Title: string(id), Text: texts[id], Author: "Ada " + string(id)}, nil)
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
	// answers returns what a site finds for copies, and what its catalogue contains.
	answers := func(dir string) (out []string, err error) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errHangs)
		defer cancel()
		o, err := instance.Open(ctx, dir, instance.WithIndex, instance.Options{})
		if err != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
		defer o.Close()
		for _, id := range asked {
			f, err := o.Site.Check(t.Context(), site.Submission{ID: "copy", Text: texts[id]}, site.CheckOptions{})
			if err != nil {
				return nil, err
			}
			if len(f.Consulted) != 1 || len(f.Consulted[0].Missing) > 0 {
				return nil, fmt.Errorf("consulted %+v", f.Consulted)
			}
			for _, p := range f.Passages {
				out = append(out, fmt.Sprintf("%s: %s %q %v %v", id, p.Source, p.Title, p.Span, f.Works))
			}
		}
		rows, err := o.Store.Catalogue.Documents(t.Context(), "l", "", documents+1)
		for _, row := range rows {
			out = append(out, fmt.Sprintf("%+v", row))
		}
		return out, err
	}
	want, err := answers(leave(t, killed))
	if err != nil || len(want) != len(asked)+documents {
		t.Fatalf("undamaged: %q, %v", want, err)
	}
	try := func(dir string) error {
		got, err := answers(dir)
		if err == nil && !slices.Equal(got, want) {
			missing := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(got, s) })
			return fmt.Errorf("%w: %d of %d, %.1000q", errSilent, len(missing), len(want), missing[:min(2, len(missing))])
		}
		return err
	}
	rounds := suite.Rounds(12, 300)
	number, only, _ := strings.Cut(os.Getenv(damages), " ")
	if n, err := strconv.Atoi(number); err == nil {
		rounds = n
	}
	r := rand.New(rand.NewPCG(40, 13))
	type result struct{ rounds, right, told, silent int }
	results := map[string]*result{}
	for range rounds {
		at := leave(t, killed)
		kind, what := damage(t, r, at, only)
		of := results[kind]
		if of == nil {
			of = &result{}
			results[kind] = of
		}
		err := try(at)
		of.rounds++
		switch {
		case err == nil:
			of.right++
		case errors.Is(err, errSilent), errors.Is(err, errHangs):
			of.silent++
			t.Errorf("%s: %v", what, err)
		default:
			of.told++
			t.Logf("%s: %v", what, err)
		}
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(results)) {
		x := results[kind]
		t.Logf("%-20s rounds %3d  right %3d  told %3d  silent %3d", kind, x.rounds, x.right, x.told, x.silent)
	}
}
