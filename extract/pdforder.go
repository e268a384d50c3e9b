package extract

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"unicode"
)

// pdfWord holds the characters of a page between two blanks, as the file draws them one after the other.
type pdfWord struct {
	from, to               int // of the page's characters
	left, right, low, high float64
	row, at                int // the row, and which of its words from the left
	column                 int // of the row's band, from 0
}

func (w *pdfWord) size() float64 { return w.high - w.low }

// pdfRow holds the words of one height, from left to right.
type pdfRow struct {
	words     []int
	low, high float64
}

// Shares of the steps from word to word, and from line to line, that a page may have against its layout before the
// layout is read: figures and tables are drawn in any order, but the lines of text that a program writes in order.
const (
	oddSteps  = 0.2
	oddLines  = 0.3
	fewSteps  = 10
	fewLines  = 6
	wordBlank = 0.12 // of the type size: the least distance that parts words
)

// pageOrder knows where the words of a page stand.
type pageOrder struct {
	chars []pdfChar
	words []pdfWord // in the order in which they are drawn
	rows  []pdfRow  // from the top
	bands []pdfBand
}

// pdfBand is a stretch of rows with the same columns.
type pdfBand struct {
	from, to int       // rows
	gutters  []float64 // the middle of each blank between two columns; none: one column
}

func newPageOrder(chars []pdfChar) *pageOrder {
	o := &pageOrder{chars: chars}
	o.findWords()
	o.findRows()
	return o
}

// findWords cuts the characters at blanks, at line ends, and where the next one does not stand behind the last.
func (o *pageOrder) findWords() {
	open := false
	for i, c := range o.chars {
		if c.r <= ' ' && !c.hyphen || c.right <= c.left {
			open = open && c.r > ' ' // a sign without a place belongs to the word that is open
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

// smallType is the share of the usual type size below which a word may be a raised or lowered sign, or stand between lines.
const smallType = 0.85

// findRows puts words that overlap in height by half into one row: those of the usual size, then smaller ones, which join
// a row where it has room for them.
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

// join puts word i into one of the rows from the given one on, or into a new one.
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

// fits reports whether a word stands at the height of a row, and, where room is asked for, beside its words.
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

// arrange returns the characters in the order in which the page is read, and whether that is another than the one in
// which they are drawn.
func (o *pageOrder) arrange() ([]pdfChar, bool) {
	if len(o.words) < fewSteps {
		return o.chars, false
	}
	o.findColumns()
	if !o.wordsAstray() && !o.linesAstray() {
		return o.chars, false
	}
	return o.asRead(), true
}

// wordsAstray reports whether the words of lines are drawn in another order than they stand in.
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

// endsLine reports whether no word of its column stands close behind w.
func (o *pageOrder) endsLine(w *pdfWord) bool {
	r := o.rows[w.row].words
	return w.at+1 == len(r) || o.words[r[w.at+1]].column != w.column || o.words[r[w.at+1]].left-w.right > 2*w.size()
}

func (o *pageOrder) beginsLine(w *pdfWord) bool {
	r := o.rows[w.row].words
	return w.at == 0 || o.words[r[w.at-1]].column != w.column || w.left-o.words[r[w.at-1]].right > 2*w.size()
}

// lineOf names a line: a row of a column.
type lineOf struct{ row, column int }

// longLine is the number of characters from which a line is one of text.
const longLine = 25

// linesAstray reports whether lines of text are drawn in another order than they stand in.
func (o *pageOrder) linesAstray() bool {
	letters := map[lineOf]int{}
	for i := range o.words {
		w := &o.words[i]
		letters[lineOf{w.row, w.column}] += w.to - w.from
	}
	next := map[lineOf]lineOf{}
	last, any := lineOf{}, false
	o.read(func(i int) {
		l := lineOf{o.words[i].row, o.words[i].column}
		if letters[l] < longLine || any && l == last {
			return
		}
		if any {
			next[last] = l
		}
		last, any = l, true
	})
	steps, odd := 0, 0
	any = false
	for i := range o.words {
		l := lineOf{o.words[i].row, o.words[i].column}
		if letters[l] < longLine || any && l == last {
			continue
		}
		if any {
			if steps++; next[last] != l {
				odd++
			}
		}
		last, any = l, true
	}
	return steps >= fewLines && float64(odd) > oddLines*float64(steps)
}

// read calls f for the words in the order in which the page is read: band by band, column by column, row by row.
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

// asRead writes the characters in the order in which the page is read, with blanks and line ends by where they stand.
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

// blankAfter reports whether the file has a blank behind a word.
func (o *pageOrder) blankAfter(w *pdfWord) bool {
	return w.to < len(o.chars) && o.chars[w.to].r == ' '
}

// Columns: blanks as wide as a letter at one place of so many rows in turn, with lines of text on both sides.
const (
	columnRows  = 5
	columnWidth = 10.0 // type sizes
	gutterWidth = 0.75 // type sizes
	fullLines   = 0.5  // share of the lines that fill their column
	runningText = 0.25 // share of the lines that go on in the next one
)

// findColumns divides the rows into bands and finds the columns of each.
func (o *pageOrder) findColumns() {
	plain := 0 // first row that is in no band yet
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

// bandFrom follows the blanks of row k downwards and returns where the last of them that part columns end, and these.
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

// blanks gives the blanks of a row, those outside its first and last word too.
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

// shared gives what two rows have in common of blanks, at least so wide.
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

// gutters gives the middles of those blanks of rows [from, to) that have running text on both sides.
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

// badColumn returns the first of the columns parted at the given places that is no column of running text, or -1.
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

// isColumn reports whether the words of rows [from, to) between two edges are a column of running text.
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

// runsOn reports whether word b may go on with the sentence of word a.
func (o *pageOrder) runsOn(a, b int) bool {
	first, last := o.chars[o.words[b].from].r, o.chars[o.words[a].to-1].r
	return (unicode.IsLower(first) || isUnspaced(first)) && !endsSentence(string(last))
}

// A page has line numbers where so many numbers in a margin count so many of its lines.
const (
	leastLineNumbers = 3
	leastNumbered    = 5
)

// dropLineNumbers takes the numbers of lines in the margins out of the page's characters, and returns how many there were.
func (o *pageOrder) dropLineNumbers() int {
	var drop []int
	for _, side := range []int{-1, 1} {
		drop = append(drop, o.lineNumbers(side)...)
	}
	for _, i := range drop {
		w := &o.words[i]
		for k := w.from; k < w.to; k++ {
			o.chars[k] = pdfChar{r: ' ', generated: true}
		}
	}
	if len(drop) > 0 {
		o.words, o.rows = nil, nil
		o.findWords()
		o.findRows()
	}
	return len(drop)
}

// lineNumbers finds the words at the left (-1) or right (1) end of rows that are numbers beside the text and count its
// lines, each or every so many.
func (o *pageOrder) lineNumbers(side int) []int {
	type number struct{ word, row, value int }
	var all []number
	for k := range o.rows {
		r := o.rows[k].words
		i := r[0]
		if side > 0 {
			i = r[len(r)-1]
		}
		if v, ok := o.number(i); ok {
			all = append(all, number{i, k, v})
		}
	}
	var out, run []int
	for i := 0; i+1 < len(all); i++ {
		a, b := all[i], all[i+1]
		step := b.value - a.value
		lines := o.textRows(a.row, b.row)
		if step > 0 && lines > 0 && abs(step-lines) <= step/4 && o.sameEdge(a.word, b.word) {
			if len(run) == 0 {
				run = append(run, a.word)
			}
			if run = append(run, b.word); i+2 < len(all) {
				continue
			}
		}
		if o.inMargin(run, side) {
			out = append(out, run...)
		}
		run = nil
	}
	return out
}

// number reads a word of digits.
func (o *pageOrder) number(i int) (int, bool) {
	w := &o.words[i]
	var digits []rune
	for _, c := range o.chars[w.from:w.to] {
		if c.r < '0' || c.r > '9' {
			return 0, false
		}
		digits = append(digits, c.r)
	}
	n, err := strconv.Atoi(string(digits))
	return n, err == nil && len(digits) <= 5
}

// textRows counts the rows after row a up to row b that hold more than a number.
func (o *pageOrder) textRows(a, b int) int {
	n := 0
	for k := a + 1; k <= b; k++ {
		for _, i := range o.rows[k].words {
			if _, ok := o.number(i); !ok {
				n++
				break
			}
		}
	}
	return n
}

// sameEdge reports whether two numbers stand below one another.
func (o *pageOrder) sameEdge(a, b int) bool {
	x, y := &o.words[a], &o.words[b]
	play := 0.5 * max(x.size(), y.size())
	return math.Abs(x.right-y.right) < play || math.Abs(x.left-y.left) < play
}

// inMargin reports whether numbers stand beside lines of running text, none of which reaches as far.
func (o *pageOrder) inMargin(numbers []int, side int) bool {
	if len(numbers) < leastLineNumbers || o.words[numbers[len(numbers)-1]].row-o.words[numbers[0]].row < leastNumbered {
		return false
	}
	goesOn, lines := 0, 0
	last := -1
	for k := o.words[numbers[0]].row; k <= o.words[numbers[len(numbers)-1]].row; k++ {
		r := o.rows[k].words
		if i := r[0]; side < 0 && slices.Contains(numbers, i) {
			r = r[1:]
		} else if i := r[len(r)-1]; side > 0 && slices.Contains(numbers, i) {
			r = r[:len(r)-1]
		}
		if len(r) == 0 {
			continue
		}
		first, end := &o.words[r[0]], &o.words[r[len(r)-1]]
		for _, i := range numbers {
			if n := &o.words[i]; side < 0 && n.right > first.left || side > 0 && n.left < end.right {
				return false
			}
		}
		lines++
		if last >= 0 && o.runsOn(last, r[0]) {
			goesOn++
		}
		last = r[len(r)-1]
	}
	return lines > 1 && float64(goesOn) >= runningText*float64(lines-1)
}

func abs(n int) int { return max(n, -n) }
