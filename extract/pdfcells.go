package extract

import (
	"sort"
	"unicode"
)

// The minimum distance, in type sizes, between two characters on a line that can belong to different table cells. The gap separates cells
// if it is a multiple of the line's other blanks, since justified lines have wide ones, or if an adjacent line has gaps in the same
// places.
const (
	cellGap    = 2.0
	cellBlanks = 3.0
)

// wideGap is a gap on a line, before chars[at] and after chars[from].
type wideGap struct {
	at, from    int
	left, right float64
	sure        bool
}

// wideGaps finds the gaps on a line that can separate cells.
func wideGaps(chars []pdfChar) []wideGap {
	if isSpread(chars) {
		return nil
	}
	var gaps []wideGap
	var blanks []float64
	var sizes []float64
	last := -1
	for i, c := range chars {
		if c.r <= ' ' || c.right <= c.left {
			continue
		}
		if last >= 0 {
			p := chars[last]
			if size := max(c.high-c.low, p.high-p.low); size > 0 {
				left, right := p.right, c.left
				if c.right < p.left { // the text runs from right to left
					left, right = c.right, p.left
				}
				gap := (right - left) / size
				if gap > cellGap {
					gaps, sizes = append(gaps, wideGap{i, last, left, right, false}), append(sizes, gap)
				}
				if gap > blankShare {
					blanks = append(blanks, gap)
				}
			}
		}
		last = i
	}
	if len(blanks) > len(gaps) {
		sort.Float64s(blanks)
		for i := range gaps {
			gaps[i].sure = sizes[i] > cellBlanks*blanks[len(blanks)/4]
		}
	}
	return gaps
}

// meet reports whether every gap is in the same place as one of others. The others must be certain, unless there are equally many.
func meet(gaps, others []wideGap) bool {
	for _, g := range gaps {
		found := false
		for _, o := range others {
			found = found || (o.sure || len(gaps) == len(others)) &&
				min(g.right, o.right)-max(g.left, o.left) > 0.5*min(g.right-g.left, o.right-o.left)
		}
		if !found {
			return false
		}
	}
	return true
}

// cutCells cuts a line at its gaps, considering the gaps of adjacent lines, but not after an item's number.
func cutCells(chars []pdfChar, gaps, before, after []wideGap) [][]pdfChar {
	if len(gaps) == 0 {
		return [][]pdfChar{chars}
	}
	rows := meet(gaps, before) || meet(gaps, after)
	var out [][]pdfChar
	start := 0
	for _, g := range gaps {
		if (g.sure || rows) && !isLabel(chars[start:g.from+1]) {
			out, start = append(out, chars[start:g.at]), g.at
		}
	}
	return append(out, chars[start:])
}

// isLabel reports whether characters are an item's number or bullet.
func isLabel(chars []pdfChar) bool {
	if len(chars) > 8 {
		return false
	}
	switch last := chars[len(chars)-1].r; {
	case last == '.', last == ')', last == ']', last == ':':
		return true
	default:
		return len(chars) == 1 && !unicode.IsLetter(last) && !unicode.IsDigit(last)
	}
}
