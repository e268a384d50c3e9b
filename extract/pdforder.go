package extract

import "sort"

// pdfWord contains the characters on a page that the file draws between two blanks.
type pdfWord struct {
	from, to               int // range of the page's characters
	left, right, low, high float64
	row, at                int // number of the row, and of the word within it from the left
	column                 int // column in the row's band, from 0
}

func (w *pdfWord) size() float64 { return w.high - w.low }

// pdfRow contains the words at one height, from left to right.
type pdfRow struct {
	words     []int
	low, high float64
}

// Maximum shares of the steps from word to word, and from line to line, that contradict a page's layout before the layout determines the
// order. Programs draw figures and tables in any order, but lines of text in sequence.
const (
	oddSteps  = 0.2
	oddLines  = 0.3
	fewSteps  = 10
	fewLines  = 6
	wordBlank = 0.12 // minimum distance that separates words, as a fraction of the type size
)

// pageOrder contains the words of a page and their positions.
type pageOrder struct {
	chars []pdfChar
	words []pdfWord // in drawing order
	rows  []pdfRow  // from top to bottom
	bands []pdfBand
	// standing means that lines run up or down. PDFium then returns them from left to right, so Chinese and Japanese lines come in
	// reverse order.
	standing bool
}

// pdfBand is a stretch of rows with the same columns.
type pdfBand struct {
	from, to int       // range of rows
	gutters  []float64 // the middle of each blank between two columns; empty for a single column
}

func newPageOrder(chars []pdfChar) *pageOrder {
	o := &pageOrder{chars: chars}
	o.findWords()
	o.findRows()
	return o
}

// findWords splits the characters at blanks, at line ends, and wherever a character is not adjacent to the previous one.
func (o *pageOrder) findWords() {
	open := false
	for i, c := range o.chars {
		if c.r <= ' ' && !c.hyphen || c.right <= c.left {
			open = open && c.r > ' ' // a sign without a position belongs to the current word
			if open {
				o.words[len(o.words)-1].to = i + 1
			}
			continue
		}
		if open {
			w := &o.words[len(o.words)-1]
			size := max(w.size(), c.high-c.low)
			overlap := min(w.high, c.high) - max(w.low, c.low)
			if gap := c.left - w.right; gap > -0.6*size && gap < 0.6*size && overlap > 0.3*min(w.size(), c.high-c.low) {
				if c.high-c.low >= 0.9*w.size() {
					w.low, w.high = min(w.low, c.low), max(w.high, c.high)
				}
				w.to, w.right = i+1, max(w.right, c.right)
				w.left = min(w.left, c.left)
				continue
			}
		}
		o.words = append(o.words, pdfWord{from: i, to: i + 1, left: c.left, right: c.right, low: c.low, high: c.high})
		open = true
	}
}

// smallType is the fraction of the usual type size below which a word can be a raised or lowered sign, or a word between lines.
const smallType = 0.85

// findRows combines words that overlap by half of their height into rows, first words of the usual size, and then smaller ones, which
// join a row with enough space.
func (o *pageOrder) findRows() {
	order := make([]int, len(o.words))
	sizes := make([]float64, len(o.words))
	for i := range order {
		order[i], sizes[i] = i, o.words[i].size()
	}
	middle := func(i int) float64 { return o.words[i].low + o.words[i].high }
	sort.SliceStable(order, func(i, j int) bool { return middle(order[i]) > middle(order[j]) })
	least := smallType * median(sizes)
	var small []int
	for _, i := range order {
		if o.words[i].size() < least {
			small = append(small, i)
		} else {
			o.rows = o.join(o.rows, len(o.rows)-3, i)
		}
	}
	large, from := o.rows, 0
	var rows []pdfRow
	for _, i := range small {
		w := &o.words[i]
		for from < len(large) && large[from].low > w.high {
			from++
		}
		joined := false
		for k := from; k < min(from+3, len(large)) && !joined; k++ {
			if joined = o.fits(&large[k], w, true); joined {
				large[k].words = append(large[k].words, i)
			}
		}
		if !joined {
			rows = o.join(rows, len(rows)-3, i)
		}
	}
	o.rows = append(large, rows...)
	sort.SliceStable(o.rows, func(i, j int) bool { return o.rows[i].low+o.rows[i].high > o.rows[j].low+o.rows[j].high })
	for k := range o.rows {
		r := o.rows[k].words
		sort.SliceStable(r, func(i, j int) bool { return o.words[r[i]].left < o.words[r[j]].left })
		for at, i := range r {
			o.words[i].row, o.words[i].at = k, at
		}
	}
}

// join adds word i to one of the rows, starting with the given one, or to a new one.
func (o *pageOrder) join(rows []pdfRow, from, i int) []pdfRow {
	w := &o.words[i]
	for k := len(rows) - 1; k >= max(0, from); k-- {
		if r := &rows[k]; o.fits(r, w, false) {
			r.words = append(r.words, i)
			if w.size() > r.high-r.low {
				r.low, r.high = w.low, w.high
			}
			return rows
		}
	}
	return append(rows, pdfRow{words: []int{i}, low: w.low, high: w.high})
}

// fits reports whether a word is at the height of a row and, if room is requested, whether there is space for it beside the row's words.
func (o *pageOrder) fits(r *pdfRow, w *pdfWord, room bool) bool {
	if min(r.high, w.high)-max(r.low, w.low) <= 0.5*min(r.high-r.low, w.size()) {
		return false
	}
	for _, i := range r.words {
		x := &o.words[i]
		if room && min(x.right, w.right)-max(x.left, w.left) > 0.3*(w.right-w.left) {
			return false
		}
	}
	return true
}

// arrange returns the characters in reading order, and whether that differs from drawing order.
func (o *pageOrder) arrange() ([]pdfChar, bool) {
	if len(o.words) < fewSteps && !o.standing || !o.placed() {
		return o.chars, false
	}
	o.findColumns()
	lines, backwards := o.linesAstray()
	if !o.wordsAstray() && !lines {
		return o.chars, false
	}
	return o.asRead(), !o.standing || !backwards
}

// placed reports whether nearly all characters have a place.
func (o *pageOrder) placed() bool {
	all, inWords := 0, 0
	for _, c := range o.chars {
		if c.r > ' ' {
			all++
		}
	}
	for i := range o.words {
		inWords += o.words[i].to - o.words[i].from
	}
	return (all-inWords)*200 <= all
}

// wordsAstray reports whether the words of lines are drawn in a different order from the visible one.
func (o *pageOrder) wordsAstray() bool {
	odd := 0
	for i := 1; i < len(o.words); i++ {
		a, b := &o.words[i-1], &o.words[i]
		if a.row == b.row && a.column == b.column {
			if b.at != a.at+1 {
				odd++
			}
			continue
		}
		if !o.endsLine(a) || !o.beginsLine(b) {
			odd++
		}
	}
	return odd >= fewSteps && float64(odd) > oddSteps*float64(len(o.words)-1)
}

// endsLine reports whether no word in the column of w closely follows w.
func (o *pageOrder) endsLine(w *pdfWord) bool {
	r := o.rows[w.row].words
	return w.at+1 == len(r) || o.words[r[w.at+1]].column != w.column || o.words[r[w.at+1]].left-w.right > 2*w.size()
}

func (o *pageOrder) beginsLine(w *pdfWord) bool {
	r := o.rows[w.row].words
	return w.at == 0 || o.words[r[w.at-1]].column != w.column || w.left-o.words[r[w.at-1]].right > 2*w.size()
}

// lineOf identifies a line, which is a row within a column.
type lineOf struct{ row, column int }

// longLine is the minimum number of characters at which a line counts as text.
const longLine = 25

// linesAstray reports whether lines of text are drawn in a different order from the visible one, and whether that order is backwards.
func (o *pageOrder) linesAstray() (astray, backwards bool) {
	long, few := longLine, fewLines
	if o.standing {
		long, few = 1, 1
	}
	letters := map[lineOf]int{}
	for i := range o.words {
		w := &o.words[i]
		letters[lineOf{w.row, w.column}] += w.to - w.from
	}
	next := map[lineOf]lineOf{}
	last, any := lineOf{}, false
	o.read(func(i int) {
		l := lineOf{o.words[i].row, o.words[i].column}
		if letters[l] < long || any && l == last {
			return
		}
		if any {
			next[last] = l
		}
		last, any = l, true
	})
	steps, odd, back := 0, 0, 0
	any = false
	for i := range o.words {
		l := lineOf{o.words[i].row, o.words[i].column}
		if letters[l] < long || any && l == last {
			continue
		}
		if any {
			if steps++; next[last] != l {
				odd++
			}
			if before, ok := next[l]; ok && before == last {
				back++
			}
		}
		last, any = l, true
	}
	return steps >= few && float64(odd) > oddLines*float64(steps), 4*back >= 3*steps
}

// read calls f for the words in reading order: band by band, column by column, row by row.
func (o *pageOrder) read(f func(i int)) {
	for _, b := range o.bands {
		for c := 0; c <= len(b.gutters); c++ {
			for k := b.from; k < b.to; k++ {
				for _, i := range o.rows[k].words {
					if o.words[i].column == c {
						f(i)
					}
				}
			}
		}
	}
}

// asRead writes the characters in reading order, with blanks and line ends according to their positions.
func (o *pageOrder) asRead() []pdfChar {
	out := make([]pdfChar, 0, len(o.chars)+len(o.chars)/4)
	var last *pdfWord
	o.read(func(i int) {
		w := &o.words[i]
		if last != nil {
			switch {
			case last.row != w.row || last.column != w.column:
				if !out[len(out)-1].hyphen {
					out = append(out, pdfChar{r: '\n', generated: true})
				}
			case w.left-last.right > wordBlank*max(w.size(), last.size()) || o.blankAfter(last):
				out = append(out, pdfChar{r: ' ', generated: true})
			}
		}
		for _, c := range o.chars[w.from:w.to] {
			if c.r != '\r' && c.r != '\n' {
				out = append(out, c)
			}
		}
		last = w
	})
	return out
}

// blankAfter reports whether the file has a blank after a word.
func (o *pageOrder) blankAfter(w *pdfWord) bool {
	return w.to < len(o.chars) && o.chars[w.to].r == ' ' && !o.chars[w.to].generated
}

// order removes line numbers and, if the characters are drawn in another order, puts them into reading order.
func (p *pdfPage) order(chars []pdfChar) []pdfChar {
	if mostlyRightToLeft(chars) {
		return chars
	}
	standing := stand(chars, p.width, p.height)
	if standing {
		p.width, p.height = p.height, p.width
	}
	o := newPageOrder(chars)
	o.standing = standing
	p.numbers, p.numberDigits = o.dropLineNumbers()
	chars, p.astray = o.arrange()
	return chars
}
