package demo_test

import (
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"concordat"
	"concordat/demo"
	"concordat/extract"
	"concordat/index"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// newSite returns a site with the library as one collection.
func newSite(t *testing.T) *site.Site {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(dir, "store.db"))
	must(t, err)
	t.Cleanup(func() { db.Close() })
	profiler, err := profile.New(profile.Options{})
	must(t, err)
	shard, err := index.Open(filepath.Join(dir, "shard"), index.Options{Site: "demo", Shard: "00", Scheme: profiler.Scheme()})
	must(t, err)
	t.Cleanup(func() { shard.Close() })
	must(t, db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "all", Title: "Demonstration"}))
	s := site.New(site.Options{ID: "demo", Index: shard, Store: db, Profiler: profiler})
	n := 0
	must(t, s.Ingest(t.Context(), "all", documents(), func(site.Ingested) error { n++; return nil }))
	if n != 93 {
		t.Errorf("%d documents were taken in, want 93", n)
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// documents returns the library under the names in truth.json.
func documents() iter.Seq2[site.Incoming, error] {
	return func(yield func(site.Incoming, error) bool) {
		err := fs.WalkDir(demo.Files, "library", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := read(name)
			if err != nil {
				return err
			}
			id := strings.TrimPrefix(name, "library/")
			docs := []site.Incoming{{ID: concordat.DocumentID(id), Title: id, Text: text}}
			if path.Ext(name) == ".tsv" {
				docs = nil
				for line := range strings.Lines(text) {
					if cells := strings.Split(strings.TrimSpace(line), "\t"); len(cells) == 3 {
						docs = append(docs, site.Incoming{ID: concordat.DocumentID(id + "#" + cells[0]), Title: cells[1], Text: cells[2]})
					}
				}
			}
			for _, doc := range docs {
				if !yield(doc, nil) {
					return fs.SkipAll
				}
			}
			return nil
		})
		if err != nil {
			yield(site.Incoming{}, err)
		}
	}
}

// read returns the text extracted from a file.
func read(name string) (string, error) {
	b, err := demo.Files.ReadFile(name)
	if err != nil || path.Ext(name) == ".tsv" {
		return string(b), err
	}
	r, err := extract.Bytes(name, b, extract.Options{})
	if err != nil {
		return "", err
	}
	return r.Text, nil
}

// TestCheckFindsPassages: a check finds each planted passage in its source document, or in one with the same words. One passage is too
// short to be fingerprinted; its words nominate its source. If CONCORDAT_PICTURES is set, the test also draws the picture of README.md.
func TestCheckFindsPassages(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: adds the whole library to a site")
	}
	truth, err := demo.ReadTruth()
	must(t, err)
	text, err := read(truth.Submission)
	must(t, err)
	found, err := newSite(t).Check(t.Context(), site.Submission{ID: "submission", Title: truth.Title, Text: text}, site.CheckOptions{})
	must(t, err)
	for _, p := range truth.Passages {
		at := strings.Index(text, p.Text)
		if at < 0 {
			t.Errorf("the submission does not hold %q", p.Text)
			continue
		}
		share := covered(concordat.Span{Start: at, End: at + len(p.Text)}, found, append(p.Also, p.Document))
		least := 0.8 // a passage ends after its last counterpart
		if p.Kind == "verbatim" {
			least = 0.95
		}
		if share < least {
			t.Errorf("%s: a %s passage is covered to %.2f, want %v: %q", p.Document, p.Kind, share, least, p.Text)
		}
	}
	draw(t, report.Build(found, report.Rules{}), "report.png", 1200, func(p *[]byte) chromedp.Tasks {
		return chromedp.Tasks{chromedp.WaitReady("body", chromedp.ByQuery), chromedp.CaptureScreenshot(p)}
	})
}

// covered returns the share of span, in bytes, that passages of the given documents cover.
func covered(span concordat.Span, f *report.Findings, documents []string) float64 {
	hit := make([]bool, span.Len())
	for _, p := range f.Passages {
		for _, d := range documents {
			if string(p.Source.Document) != d {
				continue
			}
			for i := max(span.Start, p.Span.Start); i < min(span.End, p.Span.End); i++ {
				hit[i-span.Start] = true
			}
		}
	}
	n := 0
	for _, h := range hit {
		if h {
			n++
		}
	}
	return float64(n) / float64(len(hit))
}
