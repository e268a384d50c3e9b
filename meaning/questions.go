package meaning

import (
	"cmp"
	"math"
	"slices"

	"concordat"
)

// Cells returns the cells of a text, distinct and ascending, not nil: those of each sentence of prose, and of each two that follow one
// another.
func (e *Encoder) Cells(text string, c *Cells) []concordat.Cell {
	spans := Sentences(text)
	out := make([]concordat.Cell, 0, 2*concordat.Bands*len(spans))
	var before Vector
	follows := false
	for _, s := range spans[:min(len(spans), MaxSentences)] {
		in := s.In(text)
		if !prose(in) {
			follows = false
			continue
		}
		mean := e.mean(in)
		chinese := Wide(in)
		v := c.Direction(&mean, chinese)
		out = c.appendCells(out, &v, chinese)
		if follows {
			w := together(&before, &v)
			out = c.appendCells(out, &w, chinese)
		}
		before, follows = v, true
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c *Cells) appendCells(dst []concordat.Cell, v *Vector, chinese bool) []concordat.Cell {
	p := c.Point(v)
	for band, cell := range c.Of(&p) {
		dst = append(dst, concordat.CellOf(chinese, band, cell))
	}
	return dst
}

// together returns the direction of two sentences.
func together(a, b *Vector) Vector {
	var sum Vector
	for i := range sum {
		sum[i] = a[i] + b[i]
	}
	return Centred(&sum, &Vector{})
}

// Stretch is a run of sentences of a text, with the cells near to them.
type Stretch struct {
	First, End int // of Text.Spans
	cells      []nearCell
}

// nearCell is a cell near to sentences, with what meeting a document there counts.
type nearCell struct {
	band   int
	cell   uint32
	weight float64
}

// Cells returns what to ask an index for to find documents in one of the writings, ascending: each term is the number of a cell.
func (s *Stretch) Cells(chinese bool) []concordat.WeightedTerm {
	out := make([]concordat.WeightedTerm, len(s.cells))
	for i, x := range s.cells {
		out[i] = concordat.WeightedTerm{Term: concordat.Term(concordat.CellOf(chinese, x.band, x.cell)), Weight: x.weight}
	}
	return out
}

// cellProbes is the number of cells of a band that a sentence asks about: with twice as many, no more documents were found
// (doc/evaluation/meaning.md).
const cellProbes = 40

// appendNear appends the cells nearest to a point, those of each band by falling weight.
func (c *Cells) appendNear(dst []nearCell, p *Point) []nearCell {
	var cells []uint32
	for band := range concordat.Bands {
		cells = c.Near(cells[:0], p, band, cellProbes)
		for k, cell := range cells {
			dst = append(dst, nearCell{band, cell, 1 / math.Sqrt(float64(1+k))})
		}
	}
	return dst
}

// Stretches returns the stretches of a text that have sentences of prose, in order: of each sentence and each two that follow one
// another the nearest cells, the nearer weighing more.
func (t *Text) Stretches(c *Cells) []Stretch {
	near := make([][]nearCell, len(t.Spans))
	var before Vector
	add := func(i int, v *Vector) {
		p := c.Point(v)
		near[i] = c.appendNear(near[i], &p)
	}
	for i := range t.Spans {
		if !t.prose[i] {
			continue
		}
		v := c.Direction(&t.sentences[i].Mean, t.chinese[i])
		add(i, &v)
		if i > 0 && t.prose[i-1] {
			w := together(&before, &v)
			add(i, &w)
		}
		before = v
	}
	var out []Stretch
	for from := 0; from == 0 || from+stretchStep < len(t.Spans); from += stretchStep {
		s := Stretch{First: from, End: min(from+stretch, len(t.Spans))}
		if s.cells = merged(near[s.First:s.End]); len(s.cells) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// merged returns the cells of all by number, the weights of equal ones added.
func merged(all [][]nearCell) []nearCell {
	out := slices.Concat(all...)
	slices.SortFunc(out, func(a, b nearCell) int { return cmp.Or(cmp.Compare(a.band, b.band), cmp.Compare(a.cell, b.cell)) })
	n := 0
	for _, x := range out {
		if n > 0 && out[n-1].band == x.band && out[n-1].cell == x.cell {
			out[n-1].weight += x.weight
			continue
		}
		out[n] = x
		n++
	}
	return out[:n]
}
