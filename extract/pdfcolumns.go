package extract

import (
	"math"
	"slices"
	"unicode"
)

// Columns are separated by blanks that are at least as wide as a letter, in the same place on this many consecutive rows, with lines of
// text on both sides.
const (
	columnRows  = 5
	columnWidth = 10.0 // in type sizes
	gutterWidth = 0.75 // in type sizes
	fullLines   = 0.5  // minimum share of lines that fill their column
	runningText = 0.25 // minimum share of lines that continue on the next one
)

// findColumns divides the rows into bands and finds the columns in each.
func (o *pageOrder) findColumns() {
	plain := 0 // first row not in a band yet
	for k := 0; k < len(o.rows); {
		to, gutters := o.bandFrom(k)
		if len(gutters) == 0 {
			k++
			continue
		}
		if plain < k {
			o.bands = append(o.bands, pdfBand{from: plain, to: k})
		}
		o.bands = append(o.bands, pdfBand{k, to, gutters})
		k, plain = to, to
	}
	if plain < len(o.rows) {
		o.bands = append(o.bands, pdfBand{from: plain, to: len(o.rows)})
	}
	for _, b := range o.bands {
		for k := b.from; k < b.to; k++ {
			for _, i := range o.rows[k].words {
				w := &o.words[i]
				for _, g := range b.gutters {
					if (w.left+w.right)/2 > g {
						w.column++
					}
				}
			}
		}
	}
}

// blank is a stretch of a row without words.
type blank struct{ left, right float64 }

// bandFrom follows the blanks on row k downwards. It returns the row where the last blank that separates columns ends, and the blanks
// that separate them.
func (o *pageOrder) bandFrom(k int) (to int, gutters []float64) {
	blanks := o.blanks(k)
	var best []float64
	to = k
	for j := k + 1; j <= len(o.rows); j++ {
		if j-k >= columnRows {
			if g := o.gutters(k, j, blanks); len(g) >= max(1, len(best)) {
				best, to = g, j
			} else if len(best) > 0 {
				break
			}
		}
		if j == len(o.rows) {
			break
		}
		if blanks = shared(blanks, o.blanks(j), gutterWidth*(o.rows[j].high-o.rows[j].low)); len(blanks) == 0 {
			break
		}
	}
	return to, best
}

// blanks returns the blanks on a row, including those before its first and after its last word.
func (o *pageOrder) blanks(k int) []blank {
	r := &o.rows[k]
	size := r.high - r.low
	out := []blank{}
	left := math.Inf(-1)
	for _, i := range r.words {
		w := &o.words[i]
		if w.left-left > gutterWidth*size {
			out = append(out, blank{left, w.left})
		}
		left = max(left, w.right)
	}
	return append(out, blank{left, math.Inf(1)})
}

// shared returns the overlaps between blanks on two rows that have at least the given width.
func shared(a, b []blank, least float64) []blank {
	var out []blank
	for _, x := range a {
		for _, y := range b {
			if z := (blank{max(x.left, y.left), min(x.right, y.right)}); z.right-z.left > least {
				out = append(out, z)
			}
		}
	}
	return out
}

// gutters returns the middles of the blanks on rows [from, to) that have running text on both sides.
func (o *pageOrder) gutters(from, to int, blanks []blank) []float64 {
	var at []float64
	for _, b := range blanks {
		if !math.IsInf(b.left, 0) && !math.IsInf(b.right, 0) {
			at = append(at, (b.left+b.right)/2)
		}
	}
	for len(at) > 0 {
		bad := o.badColumn(from, to, at)
		if bad < 0 {
			return at
		}
		i := min(bad, len(at)-1)
		at = slices.Delete(at, i, i+1)
	}
	return nil
}

// badColumn returns the first column, as divided at the given positions, that is not running text, or -1.
func (o *pageOrder) badColumn(from, to int, at []float64) int {
	for c := 0; c <= len(at); c++ {
		left, right := math.Inf(-1), math.Inf(1)
		if c > 0 {
			left = at[c-1]
		}
		if c < len(at) {
			right = at[c]
		}
		if !o.isColumn(from, to, left, right) {
			return c
		}
	}
	return -1
}

// isColumn reports whether the words on rows [from, to) between two edges are a column of running text.
func (o *pageOrder) isColumn(from, to int, left, right float64) bool {
	var lines [][2]int // first and last word
	start, end, size := math.Inf(1), math.Inf(-1), 0.0
	for k := from; k < to; k++ {
		first, last := -1, -1
		for _, i := range o.rows[k].words {
			if w := &o.words[i]; w.left >= left && w.right <= right {
				if first < 0 {
					first = i
				}
				last = i
			}
		}
		if first < 0 {
			continue
		}
		lines = append(lines, [2]int{first, last})
		start, end = min(start, o.words[first].left), max(end, o.words[last].right)
		size = max(size, o.words[first].size())
	}
	if len(lines) < columnRows || end-start < columnWidth*size {
		return false
	}
	full, goesOn := 0, 0
	for i, l := range lines {
		if o.words[l[1]].right-o.words[l[0]].left > 0.7*(end-start) {
			full++
		}
		if i+1 < len(lines) && o.runsOn(l[1], lines[i+1][0]) {
			goesOn++
		}
	}
	return float64(full) >= fullLines*float64(len(lines)) && float64(goesOn) >= runningText*float64(len(lines)-1)
}

// runsOn reports whether word b can continue the sentence of word a.
func (o *pageOrder) runsOn(a, b int) bool {
	first, last := o.chars[o.words[b].from].r, o.chars[o.words[a].to-1].r
	return (unicode.IsLower(first) || isUnspaced(first)) && !endsSentence(string(last))
}
