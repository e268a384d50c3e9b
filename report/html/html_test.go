package html_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"concordat/report"
	"concordat/report/html"
	"concordat/report/internal/scenario"
)

func load(t testing.TB, name string) *report.Findings {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Read(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTry(t *testing.T) {
	for _, n := range []string{"english", "chinese"} {
		var b bytes.Buffer
		if err := html.Write(&b, report.Build(load(t, n), report.Rules{ExcludeBibliography: true})); err != nil {
			t.Fatal(err)
		}
		os.WriteFile("/tmp/rep-"+n+".html", b.Bytes(), 0o644)
	}
}
