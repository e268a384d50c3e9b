package profile

import (
	"cmp"
	"slices"
	"sync"

	"concordat"
	"concordat/meaning"
)

// Meaning reports whether ForIndex adds cells of meaning.
func (p *Profiler) Meaning() bool { return p.cells != nil }

// cells makes the terms of cells of meaning.
type cells struct {
	of       *meaning.Cells
	encoders sync.Pool // of *meaning.Encoder
}

func newCells() (*cells, error) {
	table, err := meaning.Default()
	if err != nil {
		return nil, err
	}
	of, err := meaning.DefaultCells()
	if err != nil {
		return nil, err
	}
	return &cells{of: of, encoders: sync.Pool{New: func() any { return meaning.NewEncoder(table) }}}, nil
}

// add returns terms with those of the cells of a text, each of which occurs once. A nil c adds none.
func (c *cells) add(terms []concordat.TermCount, text string) []concordat.TermCount {
	if c == nil {
		return terms
	}
	e := c.encoders.Get().(*meaning.Encoder)
	defer c.encoders.Put(e)
	words := len(terms)
	for _, t := range e.Terms(text, c.of) {
		terms = append(terms, concordat.TermCount{Term: t, Count: 1})
	}
	if words > 0 && words < len(terms) && terms[words-1].Term < terms[words].Term {
		return terms
	}
	slices.SortStableFunc(terms, func(a, b concordat.TermCount) int { return cmp.Compare(a.Term, b.Term) })
	return slices.CompactFunc(terms, func(a, b concordat.TermCount) bool { return a.Term == b.Term })
}
