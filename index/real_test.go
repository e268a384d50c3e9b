//go:build cgo

package index

import (
	"slices"
	"testing"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
	"concordat/internal/corpora"
	"concordat/internal/suite"
	"concordat/profile"
)

// TestSegmentReal is TestSegment on real text, English and Chinese, with its skewed distribution.
func TestSegmentReal(t *testing.T) {
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	size := suite.Rounds(150, 400)
	if testing.Short() {
		size = 100
	}
	c := new(sharedCounters)
	var halves [2][]bleve.Document
	terms := 0
	for n, d := range slices.Concat(corpora.Reviews(t, size), corpora.Histories(t, size/10)) {
		x, err := p.ForIndex(concordat.Document{Library: "l", ID: concordat.DocumentID(d.Name), Text: d.Text})
		if err != nil {
			t.Fatal(err)
		}
		var a arena
		a.add(uint32(n), x, c)
		for _, e := range a.entries[:a.used] {
			halves[n%2] = append(halves[n%2], e)
			terms += len(e.terms)/termBytes + len(e.words)
		}
	}
	t.Logf("%d entries, %d terms", len(halves[0])+len(halves[1]), terms)
	compareSegments(t, halves[0], halves[1])
}
