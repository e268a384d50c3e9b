package fit

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"concordat"
	"concordat/meaning"
)

// tableVectors returns vectors of texts by the embedded table, like a model's.
func tableVectors(t *testing.T, texts []string) [][]float32 {
	t.Helper()
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	e := meaning.NewEncoder(table)
	out := make([][]float32, len(texts))
	var s meaning.Sentence
	for i, text := range texts {
		e.Encode(text, &s)
		out[i] = slices.Clone(s.Mean[:])
	}
	return out
}

// TestSpace: a space recognises only the model from which it was learned, and its cells distinguish sentences.
func TestSpace(t *testing.T) {
	texts, err := Sentences()
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) != 2397 {
		t.Errorf("%d sentences, want 2397", len(texts))
	}
	texts = slices.Collect(func(yield func(string) bool) { // a quarter, to be quick
		for i := 0; i < len(texts) && yield(texts[i]); i += 4 {
		}
	})
	vectors := tableVectors(t, texts)
	b, err := Space(texts, vectors)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Space(texts, vectors); err != nil || !bytes.Equal(b, again) {
		t.Errorf("the same vectors give other bytes: %v", err)
	}
	space, err := meaning.DecodeSpace(b)
	if err != nil {
		t.Fatal(err)
	}
	probes := tableVectors(t, Probes(texts))
	if !space.Recognises(probes) {
		t.Error("the model of the space is not recognised")
	}
	turned := make([][]float32, len(probes))
	for i, v := range probes {
		turned[i] = append(slices.Clone(v[1:]), v[0])
	}
	if space.Recognises(turned) || space.Recognises(probes[:3]) {
		t.Error("another model is recognised")
	}
	seen := map[[concordat.Bands]uint32]int{}
	for i, v := range vectors {
		mean := space.Reduce(v)
		d := space.Cells().Direction(&mean, meaning.Wide(texts[i]), "")
		p := space.Cells().Point(&d)
		seen[space.Cells().Of(&p)]++
	}
	if len(seen) < len(texts)*9/10 {
		t.Errorf("%d sentences have %d different cells", len(texts), len(seen))
	}
}

// TestSpaceRefuses: vectors that are too short, too long or of different lengths are refused.
func TestSpaceRefuses(t *testing.T) {
	for name, v := range map[string][2][]float32{"short": {make([]float32, 127), make([]float32, 127)},
		"long": {make([]float32, 2049), make([]float32, 2049)}, "several": {make([]float32, 200), make([]float32, 201)}} {
		if _, err := Space([]string{"a", "b"}, v[:]); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: %v, want concordat.ErrInvalid", name, err)
		}
	}
	if _, err := Space(nil, nil); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("no texts: %v", err)
	}
}
