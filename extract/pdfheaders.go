package extract

import (
	"fmt"
	"math"
	"strings"
	"unicode"
)

// edgeShare is the part of the page height, at top and bottom, in which running headers stand.
const edgeShare = 0.12

// dropHeaders marks lines that stand at the same height on many pages with the same words, digits
// aside: running headers, footers, page numbers. Each page gives at most edgeLines lines per edge,
// so a body that repeats itself is not lost.
func (d *pdfDoc) dropHeaders() {
	const edgeLines = 3
	pages := map[string]map[int][]int{} // key -> page -> lines
	for i := range d.pages {
		p := &d.pages[i]
		top, bottom := p.edgeLines(edgeLines)
		for _, j := range append(top, bottom...) {
			k := headerKey(&p.lines[j], p.height)
			if pages[k] == nil {
				pages[k] = map[int][]int{}
			}
			pages[k][i] = append(pages[k][i], j)
		}
	}
	dropped := 0
	for _, where := range pages {
		// Left and right pages of a book differ, and chapters change their titles: a quarter of the
		// pages is enough, but never fewer than three, so short documents lose nothing.
		if len(where) < max(3, (len(d.pages)+3)/4) {
			continue
		}
		for i, lines := range where {
			for _, j := range lines {
				d.pages[i].lines[j].drop = true
				dropped++
			}
		}
	}
	if dropped > 0 {
		d.b.flag(Flag{Code: FlagHeaders, Detail: fmt.Sprintf("repeated page headers, footers and page numbers left out (%d lines)", dropped), Count: dropped})
	}
}

// edgeLines gives the lines in the top and bottom margin, the outermost first, at most n each.
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

// insertBy keeps list ordered and at most n long.
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

// headerKey is equal for lines at about the same height that differ in numbers only.
func headerKey(l *pdfLine, height float64) string {
	var s strings.Builder
	digit := false
	for _, r := range strings.ToLower(l.text) {
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
		s.Reset()
		s.WriteByte('#')
	}
	return fmt.Sprintf("%d %s", int(math.Round((l.low+l.high)/2/6)), s.String())
}

// isRoman reports whether s is a small roman number, as on the first pages of a book.
func isRoman(s string) bool {
	return s != "" && len(s) <= 6 && strings.Trim(s, "ivxlc") == ""
}
