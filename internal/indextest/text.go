package indextest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
)

// vocabulary is the number of terms in generated documents.
const vocabulary = 40

// term returns term i of the vocabulary, spread over all values.
func term(i int) concordat.Term { return concordat.Term(uint32(i) * 0x9e3779b1) }

// cell returns cell i. There are as many cells as terms, including some neighbours and the very last cell.
func cell(i int) concordat.Cell {
	if i%4 == 3 {
		return concordat.Cells - 1 - concordat.Cell(i/4)
	}
	return concordat.CellOf(i%8 == 1, i%concordat.Bands, uint32(i)*0x9e3779b1)
}

// length returns the number of term occurrences.
func length(doc []concordat.TermCount) (n int) {
	for _, t := range doc {
		n += t.Count
	}
	return n
}

// Terms returns the terms of a text, only a few of them frequent, or none.
func (g *Generator) Terms() []concordat.TermCount {
	var out []concordat.TermCount
	if g.words.IntN(8) == 0 {
		return nil
	}
	for i := range vocabulary {
		if g.words.IntN(2+i) > 3 {
			continue
		}
		n := 1 + g.words.IntN(3)
		if g.words.IntN(20) == 0 {
			n = 1 + g.words.IntN(5000)
		}
		out = append(out, concordat.TermCount{Term: term(i), Count: n})
	}
	slices.SortFunc(out, func(a, b concordat.TermCount) int { return cmp.Compare(a.Term, b.Term) })
	return out
}

// Cells returns the cells of a text, only a few of them frequent, or nil if unknown.
func (g *Generator) Cells() []concordat.Cell {
	if g.words.IntN(4) == 0 {
		return nil
	}
	out := []concordat.Cell{}
	for i := range vocabulary {
		if g.words.IntN(2+i) <= 3 {
			out = append(out, cell(i))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TextQuery returns a query of n windows, by cells in half of the cases.
func (g *Generator) TextQuery(n int) *concordat.TextQuery {
	q := &concordat.TextQuery{Cells: g.words.IntN(2) == 0, AverageLength: 1 + 99*g.words.Float64(), Limit: 1 + g.words.IntN(4)}
	for range n {
		var w []concordat.WeightedTerm
		for range g.words.IntN(8) {
			t := term(g.words.IntN(vocabulary + 5))
			if q.Cells {
				t = concordat.Term(cell(g.words.IntN(vocabulary + 5)))
			}
			w = append(w, concordat.WeightedTerm{Term: t, Weight: 0.1 + g.words.Float64()})
		}
		q.Windows = append(q.Windows, w)
	}
	for range g.words.IntN(3) {
		q.Libraries = append(q.Libraries, g.Library())
	}
	for range g.words.IntN(3) {
		q.Exclude = append(q.Exclude, concordat.Ref{Site: Site, Library: g.Library(), Document: g.ID()})
	}
	return q
}

// TextStats counts the documents that contain each term.
func (o *Oracle) TextStats(ctx context.Context, terms []concordat.Term) (*concordat.TextStats, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	out := &concordat.TextStats{Holding: make([]int, len(terms))}
	for _, p := range o.docs {
		if len(p.Terms) > 0 {
			out.Documents++
			if p.Cells != nil {
				out.Meant++
				out.Current++
			}
		}
		out.Words += int64(length(p.Terms))
		for _, t := range p.Terms {
			for i := range terms {
				if terms[i] == t.Term {
					out.Holding[i]++
				}
			}
		}
	}
	return out, nil
}

// SearchText computes the score of every document in every window.
func (o *Oracle) SearchText(ctx context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if q.Limit < 1 || !(q.AverageLength > 0) || math.IsInf(q.AverageLength, 1) {
		return nil, fmt.Errorf("text query: %w", concordat.ErrInvalid)
	}
	for _, w := range q.Windows {
		for _, t := range w {
			if !(t.Weight > 0) || math.IsInf(t.Weight, 1) {
				return nil, fmt.Errorf("weight: %w", concordat.ErrInvalid)
			}
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	a := &concordat.TextAnswer{Site: o.Site}
	for i, w := range q.Windows {
		var ms []concordat.TextMatch
		for r, p := range o.docs {
			if len(q.Libraries) > 0 && !slices.Contains(q.Libraries, r.Library) || slices.Contains(q.Exclude, r) {
				continue
			}
			terms := p.Terms
			if q.Cells {
				terms = nil
				for _, c := range p.Cells {
					terms = append(terms, concordat.TermCount{Term: concordat.Term(c), Count: 1})
				}
			}
			if score := score(length(p.Terms), terms, w, q.AverageLength); score > 0 {
				ms = append(ms, concordat.TextMatch{Window: i, Source: r, Title: p.Document.Title, Score: score})
			}
		}
		slices.SortFunc(ms, func(a, b concordat.TextMatch) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Source.Library, b.Source.Library),
				cmp.Compare(a.Source.Document, b.Source.Document))
		})
		a.Matches = append(a.Matches, ms[:min(len(ms), q.Limit)]...)
	}
	return a, nil
}

// score implements the formula of concordat.TextQuery.
func score(length int, doc []concordat.TermCount, window []concordat.WeightedTerm, average float64) float64 {
	const k1, b = 1.2, 0.75
	length = min(length, 1<<18-1)
	unit := 1 // place value of the last of the four kept digits
	for length/unit >= 16 {
		unit *= 2
	}
	length -= length % unit
	sum := 0.0
	for _, w := range window {
		for _, t := range doc {
			if t.Term == w.Term {
				f := float64(t.Count)
				sum += w.Weight * f * (k1 + 1) / (f + k1*(1-b+b*float64(length)/average))
			}
		}
	}
	return sum
}

// sameText fails the test if x and the oracle count or search differently. Scores may differ in their last bits, since the order of
// operations is unspecified; equal scores must remain equal.
func (s *Subject) sameText(t *testing.T, x concordat.Index, o *Oracle, q *concordat.TextQuery) {
	t.Helper()
	var terms []concordat.Term
	for i := range vocabulary + 5 {
		terms = append(terms, term(i))
	}
	wantStats, err := o.TextStats(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := x.TextStats(t.Context(), terms)
	if err != nil {
		t.Fatalf("TextStats: %v", err)
	}
	if diff := gocmp.Diff(wantStats, stats, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("text statistics (-oracle +got):\n%s", diff)
	}
	want, err := o.SearchText(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.SearchText(t.Context(), q)
	if err != nil {
		t.Fatalf("SearchText: %v", err)
	}
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Fatalf("text query %+v (-oracle +got):\n%s", q, diff)
	}
}

// texts tests ties, filters and refusals of the text channel.
func (s *Subject) texts(t *testing.T) {
	g, x := NewGenerator(20, 1), s.Open(t)
	o := &Oracle{Site: Site, Scheme: Scheme}
	s.sameText(t, x, o, g.TextQuery(3)) // a query without content
	for i := range 50 {
		p := g.Profile(concordat.LibraryID(fmt.Sprintf("lib%d", i%4)), concordat.DocumentID(fmt.Sprintf("d%02d", i)), 2)
		if i%2 == 0 { // all alike, so the order of identities decides
			p.Terms, p.Cells = []concordat.TermCount{{Term: term(0), Count: 2}}, []concordat.Cell{cell(0)}
		} else if i%3 == 0 { // without a word, and known to have no cells
			p.Terms, p.Cells = nil, []concordat.Cell{}
		}
		put(t, x, p)
		put(t, o, p)
	}
	for range 30 {
		s.sameText(t, x, o, g.TextQuery(5))
	}
	for _, q := range []concordat.TextQuery{
		{AverageLength: 1},
		{Limit: 1},
		{Limit: 1, AverageLength: math.NaN()},
		{Limit: 1, AverageLength: 1, Windows: [][]concordat.WeightedTerm{{{Term: 1}}}},
		{Limit: 1, AverageLength: 1, Windows: [][]concordat.WeightedTerm{{{Term: 1, Weight: math.Inf(1)}}}},
	} {
		if _, err := x.SearchText(t.Context(), &q); err == nil {
			t.Errorf("text query %+v was accepted, although it is not valid", q)
		}
	}
	if s.Reopen != nil {
		x = s.Reopen(t, x)
		s.sameText(t, x, o, g.TextQuery(5))
	}
	for i := range 25 {
		r := concordat.Ref{Site: Site, Library: concordat.LibraryID(fmt.Sprintf("lib%d", i%4)),
			Document: concordat.DocumentID(fmt.Sprintf("d%02d", i))}
		if err := cmp.Or(x.Delete(t.Context(), r), o.Delete(t.Context(), r)); err != nil {
			t.Fatal(err)
		}
	}
	s.sameText(t, x, o, g.TextQuery(20))
}
