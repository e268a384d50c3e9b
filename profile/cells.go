package profile

import (
	"concordat"
	"concordat/meaning"
)

// Meaning reports whether ForIndex adds meaning cells.
func (p *Profiler) Meaning() bool { return p.cells.Load() != nil }

// SetMeaning sets whether subsequent calls of ForIndex add meaning cells.
func (p *Profiler) SetMeaning(on bool) error {
	if on == p.Meaning() {
		return nil
	}
	var c *cells
	if on {
		var err error
		if c, err = newCells(); err != nil {
			return err
		}
	}
	p.cells.Store(c)
	return nil
}

// CellsDigest returns the digest of the cells that the profiler computes, which covers everything that defines them, or "" if it
// computes none.
func (p *Profiler) CellsDigest() string {
	c := p.cells.Load()
	if c == nil {
		return ""
	}
	return c.table.Digest()
}

// cells computes the meaning cells of texts.
type cells struct {
	words *meaning.Table
	table *meaning.Cells
}

func newCells() (*cells, error) {
	words, err := meaning.Default()
	if err != nil {
		return nil, err
	}
	table, err := meaning.DefaultCells()
	if err != nil {
		return nil, err
	}
	return &cells{words, table}, nil
}

// of returns the cells of a text.
func (c *cells) of(text string) []concordat.Cell {
	return c.words.Cells(text, LanguageOf(text), c.table)
}
