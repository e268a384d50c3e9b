package extract

import (
	"math"
	"slices"
	"strconv"
)

// A page has line numbers if at least this many numbers in a margin count at least this many of its lines.
const (
	leastLineNumbers = 3
	leastNumbered    = 5
	copiedNumber     = 0.7 // fraction of the widest number's width that shorter ones leave free before the words
)

// dropLineNumbers removes line numbers in the margins from the page's characters. It returns the number of line numbers removed and their
// number of digits.
func (o *pageOrder) dropLineNumbers() (numbers, digits int) {
	var drop []int
	for _, side := range []int{-1, 1} {
		drop = append(drop, o.lineNumbers(side)...)
	}
	for _, i := range drop {
		w := &o.words[i]
		for k := w.from; k < w.to; k++ {
			o.chars[k] = pdfChar{r: ' ', generated: true}
			digits++
		}
	}
	if len(drop) > 0 {
		o.words, o.rows = nil, nil
		o.findWords()
		o.findRows()
	}
	return len(drop), digits
}

// lineNumbers finds words at the left (-1) or right (1) end of rows that are numbers beside the text and count its lines, either all or
// every nth.
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

// number parses a word of digits.
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

// textRows counts the rows after row a, up to row b, that contain more than a number.
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

// sameEdge reports whether one of two numbers is below the other.
func (o *pageOrder) sameEdge(a, b int) bool {
	x, y := &o.words[a], &o.words[b]
	play := 0.5 * max(x.size(), y.size())
	return math.Abs(x.right-y.right) < play || math.Abs(x.left-y.left) < play
}

// inMargin reports whether numbers are beside lines of running text that do not extend to them.
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
			n := &o.words[i] // copied numbers occupy the place where the words began, and have shifted the words
			if play := copiedNumber * (n.right - n.left); side < 0 && n.right-play > first.left || side > 0 && n.left+play < end.right {
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
