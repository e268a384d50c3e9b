package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"concordat/demo"
)

var library = os.DirFS("../../../demo/library")

// The files in the tree must equal the ones that this program generates.
func TestGenerated(t *testing.T) {
	docx, truth, err := generate(library)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{submissionPath: docx, truthPath: truth} {
		got, err := os.ReadFile(path.Join("../../../demo", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the program makes: run go -C lab run ./gen/demo", name)
		}
	}
}

func TestLibrary(t *testing.T) {
	sources, err := os.ReadFile("../../../demo/SOURCES.md")
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	err = fs.WalkDir(library, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(library, name)
		if err != nil {
			return err
		}
		size += len(b)
		if !utf8.Valid(b) || strings.ContainsFunc(string(b), func(r rune) bool {
			return r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\n' && r != '\t'
		}) {
			t.Errorf("%s is not plain UTF-8 text", name)
		}
		if !bytes.Contains(sources, []byte("`"+name+"`")) {
			t.Errorf("SOURCES.md does not say where %s comes from", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	docs, err := loadLibrary(library)
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) < 50 || size > 3<<20 {
		t.Errorf("got %d documents of %d bytes together, want at least 50 of at most 3 MiB", len(docs), size)
	}
}

func truth(t *testing.T) demo.Truth {
	t.Helper()
	all, err := demo.ReadTruth()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPassages: the passages cover both languages and all kinds, and each is really of its kind.
func TestPassages(t *testing.T) {
	kinds := map[string]int{}
	for _, p := range truth(t).Passages {
		lang := " en"
		if strings.ContainsFunc(p.Text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			lang = " zh"
		}
		kinds[p.Kind+lang]++
		if p.Quoted {
			kinds["quoted"+lang]++
		}
		switch {
		case p.Kind == "verbatim" && p.Overlap != 1:
			t.Errorf("%q is not verbatim", p.Text)
		case p.Kind == "near" && (p.Overlap < 0.5 || p.Text == p.SourceText):
			t.Errorf("%q: overlap %v, want edited words in kept sentences", p.Text, p.Overlap)
		case p.Kind == "paraphrase" && (p.Overlap < 0.25 || p.Overlap > 0.75):
			t.Errorf("%q: overlap %v, want reworded sentences", p.Text, p.Overlap)
		}
	}
	for _, want := range []string{"verbatim", "near", "paraphrase", "quoted"} {
		for _, lang := range []string{" en", " zh"} {
			if kinds[want+lang] == 0 {
				t.Errorf("no passage is %s", want+lang)
			}
		}
	}
}

// TestOwn: text marked as the submission's own shares no run of 7 English words or 13 Chinese characters with the library; these are
// common limits.
func TestOwn(t *testing.T) {
	docs, err := loadLibrary(library)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for name, text := range docs {
		for _, n := range []int{7, 13} {
			for _, g := range grams(text, n) {
				have[g] = name
			}
		}
	}
	for _, own := range truth(t).Own {
		n := 7
		if strings.ContainsFunc(own, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			n = 13
		}
		for _, g := range grams(own, n) {
			if name, ok := have[g]; ok {
				t.Errorf("%q stands in %s", g, name)
			}
		}
	}
}
