package report_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/report/internal/scenario"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func load(t testing.TB, name string) *report.Findings {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Read(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// assets matches the style and script of a page, which would obscure the content of a golden page.
var assets = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|'sha256-[^']*'`)

// strict returns rules of many kinds and excludes one passage by hand.
func strict(f *report.Findings) report.Rules {
	p := f.Passages[len(f.Passages)-1]
	return report.Rules{ExcludeQuotes: true, ExcludeBibliography: true, MinCharacters: 20,
		ExcludeSources: []concordat.Ref{f.Passages[0].Source},
		ExcludePassages: []report.ExcludedPassage{{Span: p.Span, Comment: "cited on the page before", By: "supervisor",
			At: time.Date(2026, 3, 15, 8, 0, 0, 0, time.UTC)}}}
}

func TestGolden(t *testing.T) {
	forms := []struct {
		ext   string
		write func(io.Writer, *report.Report) error
	}{
		{"json", report.WriteJSON},
		{"csv", func(w io.Writer, r *report.Report) error { return report.WriteCSV(w, r, report.CSVOptions{BOM: true}) }},
		{"summary", report.WriteSummary},
		{"text", report.WriteText},
		{"html", html.Write},
	}
	for _, name := range []string{"english", "chinese", "arabic"} {
		f := load(t, name)
		for rules, r := range map[string]report.Rules{"": {}, "-strict": strict(f), "-zh": {}} {
			rep := report.Build(f, r)
			if rules == "-zh" {
				if name != "chinese" {
					continue
				}
				rep = everything(t)
			}
			for _, form := range forms {
				file := filepath.Join("testdata", "golden", name+rules+"."+form.ext)
				t.Run(filepath.Base(file), func(t *testing.T) {
					var got bytes.Buffer
					if err := form.write(&got, rep); err != nil {
						t.Fatal(err)
					}
					if form.ext == "html" {
						plain := assets.ReplaceAll(got.Bytes(), []byte("…"))
						got.Reset()
						got.Write(plain)
					}
					if *rewrite {
						if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
							t.Fatal(err)
						}
						return
					}
					want, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(string(want), got.String()); d != "" {
						t.Errorf("%s differs (-rewrite writes it anew):\n%s", file, d)
					}
				})
			}
		}
	}
}
