package meaning

import (
	"cmp"
	"math"
	"slices"

	"concordat"
)

// Cells is [Encoder.Cells] with an encoder of t. It is safe for concurrent use.
func (t *Table) Cells(text, language string, c *Cells) []concordat.Cell {
	e := t.encoder()
	defer t.encoders.Put(e)
	return e.Cells(text, language, c)
}

// Cells returns the cells of each prose sentence of a text and of each pair of consecutive ones, distinct and ascending, never nil.
// language is the text's language code, or empty if unknown.
func (e *Encoder) Cells(text, language string, c *Cells) []concordat.Cell {
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
		v := c.Direction(&mean, chinese, language)
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

// together returns the joint direction of two sentences.
func together(a, b *Vector) Vector {
	var sum Vector
	for i := range sum {
		sum[i] = a[i] + b[i]
	}
	return Centred(&sum, &Vector{})
}

// Question asks an index for documents with cells near sentences of a text.
type Question struct {
	Sentence int // index into Text.Spans
	cells    []nearCell
}

// nearCell is a cell near sentences and the weight of a document found in it.
type nearCell struct {
	band   int
	cell   uint32
	weight float64
}

// Cells returns the terms for searching an index for documents in one of the scripts, ascending; each term is the number of a cell.
func (q *Question) Cells(chinese bool) []concordat.WeightedTerm {
	out := make([]concordat.WeightedTerm, len(q.cells))
	for i, x := range q.cells {
		out[i] = concordat.WeightedTerm{Term: concordat.Term(concordat.CellOf(chinese, x.band, x.cell)), Weight: x.weight}
	}
	return out
}

// Number of cells per band to ask about (doc/evaluation/meaning-index.md): for 15 of 21 translations the source has a sentence in the 40
// nearest cells, and for 19 in the 160 nearest.
const (
	cellProbes  = 160 // for a sentence of this site's text
	pointProbes = 40  // for a point estimated from a partner's cells
)

// appendNear appends the n cells of each band nearest to a point, in descending order of weight.
func (c *Cells) appendNear(dst []nearCell, p *Point, n int) []nearCell {
	var cells []uint32
	for band := range concordat.Bands {
		cells = c.Near(cells[:0], p, band, n)
		for k, cell := range cells {
			dst = append(dst, nearCell{band, cell, 1 / math.Sqrt(float64(1+k))})
		}
	}
	return dst
}

// Questions returns one question per prose sentence, in order. A question contains the cells nearest to the sentence, and those nearest
// to the sentence joined with the previous one; nearer cells have more weight.
func (t *Text) Questions(c *Cells) []Question {
	var out []Question
	var before Vector
	for i := range t.Spans {
		if !t.prose[i] {
			continue
		}
		v := c.Direction(&t.sentences[i].Mean, t.chinese[i], t.Language)
		p := c.Point(&v)
		near := c.appendNear(nil, &p, cellProbes)
		if i > 0 && t.prose[i-1] {
			w := together(&before, &v)
			p = c.Point(&w)
			near = c.appendNear(near, &p, cellProbes)
		}
		out = append(out, Question{i, merged(near)})
		before = v
	}
	return out
}

// merged sorts the cells by number and adds the weights of equal ones.
func merged(out []nearCell) []nearCell {
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

// Stretches calls do with each stretch of a text for which documents are searched: Spans[first:end]. Consecutive stretches overlap.
func (t *Text) Stretches(do func(first, end int)) {
	for from := 0; from == 0 || from+stretchStep < len(t.Spans); from += stretchStep {
		do(from, min(from+stretch, len(t.Spans)))
	}
}

// Directions are the directions of a text's prose sentences.
type Directions []Vector

// Directions returns the directions of the prose among the first MaxSentences sentences of a text in a language.
func (e *Encoder) Directions(text, language string, c *Cells) Directions {
	spans := Sentences(text)
	out := make(Directions, 0, len(spans))
	for _, s := range spans[:min(len(spans), MaxSentences)] {
		if in := s.In(text); prose(in) {
			mean := e.mean(in)
			out = append(out, c.Direction(&mean, Wide(in), language))
		}
	}
	return out
}

// Nearest returns the greatest cosine between a sentence of the text and one of the directions, and the index of that direction, or -1
// and -1 if there is none.
func (d Directions) Nearest(c *Cells, t *Text, sentence int) (most float32, at int) {
	if len(d) == 0 || !t.prose[sentence] {
		return -1, -1
	}
	v := c.Direction(&t.sentences[sentence].Mean, t.chinese[sentence], t.Language)
	const rows = 64
	var near [rows]float32
	most, at = -2, -1
	take := func(i int, x float32) {
		if x > most {
			most, at = x, i
		}
	}
	from := 0
	for len(d)-from >= 4 {
		n := min(len(d)-from, rows) &^ 3
		dotRows(&near[0], &v[0], &d[from][0], Dimensions, n)
		for i, x := range near[:n] {
			take(from+i, x)
		}
		from += n
	}
	for i := from; i < len(d); i++ {
		take(i, Dot(&v, &d[i]))
	}
	return most, at
}
