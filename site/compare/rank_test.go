package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/meaning"
	"concordat/profile"
)

// heldTexts is an index that can only return documents.
type heldTexts struct {
	concordat.Index
	texts map[concordat.DocumentID]string
}

func (h heldTexts) Document(_ context.Context, r concordat.Ref) (*concordat.Document, error) {
	text, ok := h.texts[r.Document]
	if !ok {
		return nil, concordat.ErrNotFound
	}
	return &concordat.Document{Library: r.Library, ID: r.Document, Text: text}, nil
}

// TestByVectors: cells rank the source last, as they do with a translation, and vectors rank it first. A deleted document does no harm,
// and the best document by cells does not stay in front.
func TestByVectors(t *testing.T) {
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	cells, err := meaning.DefaultCells()
	if err != nil {
		t.Fatal(err)
	}
	held := heldTexts{texts: map[concordat.DocumentID]string{
		"source": "In 1767 the British legislature made tea dearer by a levy, which the colonies would not pay. " +
			"Since they had no seat in it, the merchants of Boston threw the cargo of three ships into the harbour."}}
	var matches []concordat.TextMatch
	for i, s := range meaning.Samples() {
		if s.Language != "en" || i >= 120 {
			continue
		}
		id := concordat.DocumentID(fmt.Sprintf("other %d", i))
		held.texts[id] = s.Text
		matches = append(matches, concordat.TextMatch{Source: concordat.Ref{Document: id}, Score: float64(200 - i)})
	}
	matches = append(matches, concordat.TextMatch{Source: concordat.Ref{Document: "gone"}, Score: 2},
		concordat.TextMatch{Source: concordat.Ref{Document: "source"}, Score: 1})
	text := meaning.NewEncoder(table).Read("Parliament in London raised the taxes on tea in 1767, and the American colonists refused to pay them. "+
		"Having no vote there, traders in Boston emptied the load of three vessels into the port.", "en")
	for _, most := range []Nominated{{1, 9}, {3, 9}, {9, 2}} {
		r := newRanking(text, cells)
		for sentence := range text.Spans {
			r.add(sentence, matches)
		}
		m := &Comparer{Index: held, Workers: 2}
		in, err := m.tableIndex(cells)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.byVectors(t.Context(), r, Nomination{Find: Nominated{100, 100}, Keep: most}, in)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != min(most.Stretch, most.All) || got[0].Ref.Document != "source" {
			t.Errorf("%+v: %d documents, the first is %q", most, len(got), got[0].Ref.Document)
		}
	}
}

// TestForemostOf: the document nearest to one stretch is included next to the many documents near another stretch.
func TestForemostOf(t *testing.T) {
	stretches := [][]scored{{{0, 9, 0}, {1, 8, 0}, {2, 7, 0}}, nil, {{3, 3, 0}, {0, 2, 0}, {4, 1, 0}}}
	for most, want := range map[int][]int{9: {0, 3, 1, 2, 4}, 3: {0, 3, 1}, 2: {0, 3}, 0: nil} {
		if got := foremostOf(stretches, most); !slices.Equal(got, want) {
			t.Errorf("%d documents: %v, want %v", most, got, want)
		}
	}
}

// TestUsual: a sentence's usual nearness is computed from the documents ranked after the nearest ones.
func TestUsual(t *testing.T) {
	var many []float64
	for i := range 30 {
		many = append(many, float64(30-i))
	}
	for _, c := range []struct {
		of   []float64
		want float64
	}{{many, 15.5}, {many[:12], 21.5}, {[]float64{4, 2}, 2}, {[]float64{3}, 3}, {nil, 0}} {
		if got := usualOf(c.of); got != c.want {
			t.Errorf("of %v: %v, want %v", c.of, got, c.want)
		}
	}
}

// TestAskedInParts: if a text has more sentences than one question can contain, the source of its last sentences is found.
func TestAskedInParts(t *testing.T) {
	p, err := profile.New(profile.Options{Recipe: profile.Natural, Meaning: true})
	if err != nil {
		t.Fatal(err)
	}
	in := &countingSearch{}
	var text strings.Builder
	for i := range askedTogether + 1 {
		fmt.Fprintf(&text, "Sentence number %d tells of the harbour, the railway and the price of bread in that year. ", i)
	}
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	m := &Comparer{Index: in, Profiler: p, Workers: 1}
	found, err := m.nominateMeaning(t.Context(), meaning.NewEncoder(table).Read(text.String(), "en"), text.String(),
		&concordat.Query{Libraries: []concordat.LibraryID{"l"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.near) != 1 || found.near[0].Ref.Document != "last" || found.missing != 3 || found.vectors {
		t.Errorf("%+v", found)
	}
	if want := []int{askedTogether, 1, askedTogether, 1}; !slices.Equal(in.windows, want) {
		t.Errorf("asked %v at a time, want %v", in.windows, want)
	}
}

// countingSearch has one document near the last sentence.
type countingSearch struct {
	concordat.Index
	windows []int
}

func (c *countingSearch) TextStats(context.Context, []concordat.Term) (*concordat.TextStats, error) {
	return &concordat.TextStats{Documents: 5, Meant: 2, Words: 500}, nil
}

func (c *countingSearch) SearchText(_ context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	c.windows = append(c.windows, len(q.Windows))
	a := &concordat.TextAnswer{}
	if len(q.Windows) == 1 && len(c.windows) == 2 {
		a.Matches = []concordat.TextMatch{{Source: concordat.Ref{Library: "l", Document: "last"}, Score: 1}}
	}
	return a, nil
}
