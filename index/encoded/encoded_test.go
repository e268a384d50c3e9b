package encoded_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"concordat"
	"concordat/index/encoded"
	"concordat/meaning"
	"concordat/meaning/fit"
)

// space returns a space of the table's own vectors, and a function that reads a text with them.
var space = sync.OnceValues(func() (*meaning.Space, error) {
	texts, err := fit.Sentences()
	if err != nil {
		return nil, err
	}
	texts = texts[:400]
	vectors, err := vectorsOf(texts)
	if err != nil {
		return nil, err
	}
	b, err := fit.Space(texts, vectors)
	if err != nil {
		return nil, err
	}
	return meaning.DecodeSpace(b)
})

func vectorsOf(texts []string) ([][]float32, error) {
	table, err := meaning.Default()
	if err != nil {
		return nil, err
	}
	e := meaning.NewEncoder(table)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		var s meaning.Sentence
		e.Encode(text, &s)
		out[i] = slices.Clone(s.Mean[:])
	}
	return out, nil
}

// document returns a document with vectors.
func document(t *testing.T, id, text string) encoded.Document {
	t.Helper()
	s, err := space()
	if err != nil {
		t.Fatal(err)
	}
	cut := meaning.Cut(text)
	var texts []string
	for _, i := range cut.Prose() {
		texts = append(texts, cut.Spans[i].In(text))
	}
	vectors, err := vectorsOf(texts)
	if err != nil {
		t.Fatal(err)
	}
	return encoded.Document{Ref: ref(id), Hash: "hash of " + id, Text: cut.In(s, vectors)}
}

func ref(id string) concordat.Ref {
	return concordat.Ref{Site: "here", Library: "l", Document: concordat.DocumentID(id)}
}

// TestIndex: documents are found by cells near their sentences, and their directions are stored; neither survives a deletion, a different
// encoder or damage. A document deleted during a round is not put in that round.
func TestIndex(t *testing.T) {
	s, err := space()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "x")
	open := func(recipe string) *encoded.Index {
		t.Helper()
		x, err := encoded.Open(dir, encoded.Options{Site: "here", Space: s, Recipe: recipe})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = x.Close() })
		return x
	}
	x := open("one")
	texts, err := fit.Sentences()
	if err != nil {
		t.Fatal(err)
	}
	var all []encoded.Document
	for i := range 60 {
		all = append(all, document(t, fmt.Sprint(i), strings.Join(texts[10*i:10*i+10], "\n")))
	}
	if err := x.Put(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	found := func(x *encoded.Index, of encoded.Document) (first string) {
		t.Helper()
		stats, err := x.TextStats(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		q := &concordat.TextQuery{Cells: true, Limit: 3, AverageLength: 3 * float64(stats.Words) / float64(stats.Documents)}
		questions := of.Text.Questions(s.Cells())
		for i := range questions {
			q.Windows = append(q.Windows, questions[i].Cells(false))
		}
		a, err := x.SearchText(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Matches) == 0 {
			return ""
		}
		return string(a.Matches[0].Source.Document)
	}
	if got := found(x, all[7]); got != "7" {
		t.Errorf("the document nearest to 7 is %q", got)
	}
	d, err := x.Directions(t.Context(), ref("7"))
	want := all[7].Text.Directions(s.Cells())
	if err != nil || len(d) != len(want) {
		t.Fatalf("%d directions, want %d; %v", len(d), len(want), err)
	}
	for i := range d {
		if near := meaning.Dot(&d[i], &want[i]); near < 0.97 {
			t.Errorf("direction %d: cosine %v", i, near)
		}
	}

	x.Begin()
	if err := x.Delete(t.Context(), ref("7"), ref("8"), ref("absent")); err != nil {
		t.Fatal(err)
	}
	if err := x.Put(t.Context(), all[8], all[9]); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Directions(t.Context(), ref("7")); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("directions of a deleted document: %v", err)
	}
	if got := found(x, all[7]); got == "7" {
		t.Error("a deleted document is found")
	}
	if held := x.Held(); len(held) != 58 || held[ref("8")] != "" || held[ref("9")] != "hash of 9" {
		t.Errorf("%d documents are held", len(held))
	}
	x.Begin()
	if err := x.Put(t.Context(), all[8]); err != nil || x.Count() != 59 {
		t.Errorf("in the next round %d documents, want 59; %v", x.Count(), err)
	}
	if err := x.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}

	x = open("one")
	if held := x.Held(); len(held) != 59 || held[ref("9")] != "hash of 9" {
		t.Errorf("reopened, %d documents are held", len(held))
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = open("another")
	if n := x.Count(); n != 0 {
		t.Errorf("another encoder has %d documents of the first", n)
	}
}

// TestSize: a sentence takes little space.
func TestSize(t *testing.T) {
	s, err := space()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "x")
	x, err := encoded.Open(dir, encoded.Options{Site: "here", Space: s, Recipe: "one"})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := fit.Sentences()
	if err != nil {
		t.Fatal(err)
	}
	sentences := 0
	var all []encoded.Document
	for i := range len(texts) / 100 {
		all = append(all, document(t, fmt.Sprint(i), strings.Join(texts[100*i:100*i+100], "\n")))
		sentences += len(all[i].Text.Prose())
	}
	err = x.Put(t.Context(), all...)
	if err == nil {
		err = x.Purge(t.Context())
	}
	if err = errors.Join(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	err = filepath.WalkDir(filepath.Join(dir, "store"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".zap") {
			info, err := e.Info()
			if err != nil {
				return err
			}
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	each := float64(size) / float64(sentences)
	t.Logf("%d sentences in %d bytes, %.1f each", sentences, size, each)
	if size == 0 || each > 110 {
		t.Errorf("%.1f bytes a sentence", each)
	}
}
