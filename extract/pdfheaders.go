package extract

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// edgeShare is the fraction of the page height, at top and bottom, that can contain running headers.
const edgeShare = 0.12

// edgePlay is how far, in points, a running header can deviate from its usual height, since first pages differ.
const edgePlay = 24

// edgeLine is a line in a margin.
type edgeLine struct{ page, line int }

// dropHeaders marks lines in the same margin of many pages, at about the same height, with the same words apart from digits: running
// headers, footers, page numbers. Each page contributes at most edgeLines lines per margin, so a repetitive body is not lost.
func (d *pdfDoc) dropHeaders() {
	const edgeLines = 3
	same := map[string][]edgeLine{}
	for i := range d.pages {
		p := &d.pages[i]
		top, bottom := p.edgeLines(edgeLines)
		for _, j := range top {
			k := "top " + headerKey(p.lines[j].text)
			same[k] = append(same[k], edgeLine{i, j})
		}
		for _, j := range bottom {
			k := "bottom " + headerKey(p.lines[j].text)
			same[k] = append(same[k], edgeLine{i, j})
		}
	}
	// Left and right pages of a book differ, and titles change with chapters, so a quarter of the pages suffices. At least three pages
	// are required, so that short documents lose nothing.
	least := max(3, (len(d.pages)+3)/4)
	dropped := 0
	for _, lines := range same {
		var heights []float64
		for _, e := range lines {
			heights = append(heights, d.pages[e.page].lines[e.line].low)
		}
		usual := median(heights)
		lines = slices.DeleteFunc(lines, func(e edgeLine) bool {
			return math.Abs(d.pages[e.page].lines[e.line].low-usual) > edgePlay
		})
		if pagesOf(lines) < least {
			continue
		}
		for _, e := range lines {
			l := &d.pages[e.page].lines[e.line]
			l.drop = true
			d.b.leave(FlagHeaders, l.text)
			dropped++
		}
	}
	if len(d.pages) == 2 {
		dropped += d.dropPair(edgeLines)
	}
	dropped += d.dropStamps()
	if dropped > 0 {
		d.b.flag(Flag{Code: FlagHeaders, Detail: fmt.Sprintf("repeated page headers, footers and page numbers left out (%d lines)", dropped),
			Count: dropped})
	}
}

// Two pages prove less than three, so their running headers must be in the same place, set apart from the text, and above different text.
const (
	pairPlay = 2    // maximum distance in points between the places of a header on two pages
	pairGap  = 1.25 // minimum distance between a header and the text, in distances between lines
)

// dropPair marks and counts the running headers and footers of a document of two pages.
func (d *pdfDoc) dropPair(n int) int {
	a, b := &d.pages[0], &d.pages[1]
	if math.Abs(a.height-b.height) > pairPlay {
		return 0
	}
	usual, apart := usualLines(a, b)
	topA, bottomA := a.edgeLines(n)
	topB, bottomB := b.edgeLines(n)
	dropped := 0
	for _, edge := range [][2][]int{{topA, topB}, {bottomA, bottomB}} {
		k := 0
		for k < min(len(edge[0]), len(edge[1])) && samePlace(&a.lines[edge[0][k]], &b.lines[edge[1][k]]) {
			k++
		}
		underA, underB := a.setApart(edge[0][:k], usual, apart), b.setApart(edge[1][:k], usual, apart)
		if underA == nil || underB == nil || samePlace(underA, underB) {
			continue
		}
		for i, p := range []*pdfPage{a, b} {
			for _, j := range edge[i][:k] {
				p.lines[j].drop = true
				d.b.leave(FlagHeaders, p.lines[j].text)
				dropped++
			}
		}
	}
	return dropped
}

// samePlace reports whether lines of two pages are in the same place with the same words apart from digits. Two numbers must be
// consecutive, as page numbers are.
func samePlace(x, y *pdfLine) bool {
	k := headerKey(x.text)
	if k != headerKey(y.text) || math.Abs(x.low-y.low) > pairPlay || math.Abs(x.high-y.high) > pairPlay {
		return false
	}
	if strings.ContainsFunc(strings.ReplaceAll(k, "#", ""), unicode.IsLetter) {
		return true
	}
	number := func(s string) int {
		n, err := strconv.Atoi(strings.TrimFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }))
		if err != nil {
			return math.MinInt
		}
		return n
	}
	return number(x.text) != math.MinInt && number(y.text) == number(x.text)+1
}

// usualLines returns the usual type size of pages and the usual distance between their lines outside the margins, or the size if no line
// follows another.
func usualLines(pages ...*pdfPage) (size, apart float64) {
	var sizes, steps []float64
	for _, p := range pages {
		var lows []float64
		for j := range p.lines {
			if l := &p.lines[j]; l.solid > 0 {
				for range 1 + l.solid/lineUnit {
					sizes = append(sizes, l.size())
				}
				if y := (l.low + l.high) / 2; y <= p.height*(1-edgeShare) && y >= p.height*edgeShare {
					lows = append(lows, l.low)
				}
			}
		}
		slices.Sort(lows)
		for i := 1; i < len(lows); i++ {
			if step := lows[i] - lows[i-1]; step > pairPlay {
				steps = append(steps, step)
			}
		}
	}
	if size = median(sizes); len(steps) == 0 {
		return size, size
	}
	return size, median(steps)
}

// setApart returns the line nearest to lines at an edge of the page if they are more than a line's distance from it, or all in smaller
// type; otherwise nil.
func (p *pdfPage) setApart(edge []int, usual, apart float64) *pdfLine {
	if len(edge) == 0 {
		return nil
	}
	small := true
	low, high := math.Inf(1), math.Inf(-1)
	for _, j := range edge {
		l := &p.lines[j]
		small = small && l.size() < (1-sameSize)*usual
		low, high = min(low, l.low), max(high, l.low)
	}
	var under *pdfLine
	nearest := math.Inf(1)
	for j := range p.lines {
		l := &p.lines[j]
		if d := max(low-l.low, l.low-high); l.solid > 0 && !slices.Contains(edge, j) && d < nearest {
			under, nearest = l, d
		}
	}
	if nearest <= pairPlay || nearest <= pairGap*apart && !small {
		return nil
	}
	return under
}

// A stamp is a line in smaller type than the page's text that occurs at least this often, with the same words, among the lines of the
// page. It records who downloaded the file and when.
const (
	leastStamps  = 3
	stampLetters = 16
)

// lineUnit is the number of letters for which a line counts once when determining a page's usual type size.
const lineUnit = 8

// dropStamps marks and counts stamps, page by page.
func (d *pdfDoc) dropStamps() int {
	dropped := 0
	for i := range d.pages {
		lines := d.pages[i].lines
		var sizes []float64
		same := map[string][]int{}
		for j := range lines {
			if l := &lines[j]; l.solid > 0 {
				for range 1 + l.solid/lineUnit {
					sizes = append(sizes, l.size())
				}
				if l.solid >= stampLetters {
					same[l.text] = append(same[l.text], j)
				}
			}
		}
		usual := median(sizes)
		for _, at := range same {
			if len(at) < leastStamps || lines[at[0]].size() > (1-sameSize)*usual {
				continue
			}
			between := 0
			for _, j := range at {
				if j > 0 && j+1 < len(lines) && lines[j-1].size() > (1-sameSize)*usual && lines[j+1].size() > (1-sameSize)*usual {
					between++
				}
			}
			if between*3 < len(at)*2 {
				continue
			}
			for _, j := range at {
				lines[j].drop = true
				d.b.leave(FlagHeaders, lines[j].text)
			}
			dropped += len(at)
		}
	}
	return dropped
}

// pagesOf counts the distinct pages of lines, which must be in page order.
func pagesOf(lines []edgeLine) int {
	n, last := 0, -1
	for _, e := range lines {
		if e.page != last {
			n++
		}
		last = e.page
	}
	return n
}

// edgeLines returns up to n lines each in the top and bottom margins, outermost first.
func (p *pdfPage) edgeLines(n int) (top, bottom []int) {
	for j := range p.lines {
		l := &p.lines[j]
		switch y := (l.low + l.high) / 2; {
		case l.solid == 0:
		case y > p.height*(1-edgeShare):
			top = insertBy(top, j, n, func(a, b int) bool { return p.lines[a].low > p.lines[b].low })
		case y < p.height*edgeShare:
			bottom = insertBy(bottom, j, n, func(a, b int) bool { return p.lines[a].low < p.lines[b].low })
		}
	}
	return top, bottom
}

// insertBy inserts a line into list, which remains ordered and at most n lines long.
func insertBy(list []int, v, n int, less func(a, b int) bool) []int {
	at := len(list)
	for at > 0 && less(v, list[at-1]) {
		at--
	}
	list = append(list, 0)
	copy(list[at+1:], list[at:])
	list[at] = v
	return list[:min(len(list), n)]
}

// headerKey returns a key that is equal for lines that differ only in numbers and blanks.
func headerKey(text string) string {
	var s strings.Builder
	digit := false
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.IsDigit(r):
			if !digit {
				s.WriteByte('#')
			}
			digit = true
			continue
		case unicode.IsSpace(r):
			continue
		}
		digit = false
		s.WriteRune(r)
	}
	if t := s.String(); isRoman(t) {
		return "#"
	}
	return s.String()
}

// isRoman reports whether s is a lower-case Roman numeral, as on the first pages of a book.
func isRoman(s string) bool {
	return s != "" && len(s) <= 6 && strings.Trim(s, "ivxlc") == ""
}
