package extract

import (
	"fmt"
	"math"
	"slices"
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
	dropped += d.dropStamps()
	if dropped > 0 {
		d.b.flag(Flag{Code: FlagHeaders, Detail: fmt.Sprintf("repeated page headers, footers and page numbers left out (%d lines)", dropped),
			Count: dropped})
	}
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
