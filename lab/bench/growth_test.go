package bench

import (
	"strings"
	"testing"

	"concordat/profile"
)

// TestGrowth: random and text fingerprints are found in an index of them.
func TestGrowth(t *testing.T) {
	prints, qs := Prints(3000, 400, 1)
	r, err := Growth(t.Context(), t.TempDir(), prints, qs, 2)
	if err != nil {
		t.Fatal(err)
	}
	if r.Missed != 0 || r.Distinct != 3000 || r.Found < 0.3 {
		t.Errorf("random: %+v", r)
	}
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(1)
	prints, qs, err = TextPrints(p, strings.Join(w.document(1, 300), "\n"), 1000, 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = Growth(t.Context(), t.TempDir(), prints, qs, 2); err != nil {
		t.Fatal(err)
	}
	if r.Missed != 0 || r.Distinct < 900 {
		t.Errorf("text: %+v", r)
	}
	if _, _, err := TextPrints(p, " ", 10, 10, 1); err == nil {
		t.Error("text without words is taken")
	}
}

// TestIngest: all sentences pass through all stages.
func TestIngest(t *testing.T) {
	w := newWriter(1)
	files := []File{{Name: "a.txt", Data: []byte(strings.Join(w.document(1, 50), "\n"))},
		{Name: "b", Text: strings.Join(w.document(2, 50), "\n")}, {Name: "c.pdf", Data: []byte("%PDF-")}}
	r, err := Ingest(t.Context(), t.TempDir(), files, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Documents != 2 || r.Failed != 1 || r.Sentences < 90 || r.Extract <= 0 || r.Bands <= 0 {
		t.Errorf("%+v", r)
	}
}
