package extract

import (
	"math"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// layout determines which lines of a page belong to one paragraph.
type layout struct {
	lines []pdfLine
	edge  []float64       // right edge of each line's column
	start []float64       // left edge of each line's column
	pitch map[int]float64 // usual distance between lines of a paragraph, in line heights, by type size class
}

func newLayout(lines []pdfLine) *layout {
	y := &layout{lines: lines, edge: make([]float64, len(lines)), start: make([]float64, len(lines)), pitch: map[int]float64{}}
	pitches := map[int][]float64{}
	for i := range lines {
		y.edge[i], y.start[i] = y.column(i)
		if i > 0 && lines[i].size() > 0 {
			if d := (lines[i-1].low - lines[i].low) / lines[i].size(); d > 0.5 && d < 3 && y.sameColumn(i-1, i) {
				for k := sizeClass(lines[i].size()) - 1; k <= sizeClass(lines[i].size())+1; k++ {
					pitches[k] = append(pitches[k], d)
				}
			}
		}
	}
	for k, all := range pitches {
		y.pitch[k] = usualPitch(all)
	}
	for i := range lines {
		l := &lines[i]
		em := l.size() * 0.8
		l.full = l.solid > 0 && l.right > y.edge[i]-em && y.edge[i]-y.start[i] > 15*em
		l.indented = l.left > y.start[i]+0.7*em
	}
	return y
}

// sizeClass is the same, or differs by one, for type sizes that differ by 6 % or less.
func sizeClass(size float64) int { return int(math.Round(math.Log(size) / math.Log(1.06))) }

// usualPitch is the smallest common distance between lines of one size. The median would be the distance between paragraphs if most
// paragraphs have one line.
func usualPitch(pitches []float64) float64 {
	sort.Float64s(pitches)
	least := max(2, len(pitches)/10)
	for i, from := 0, 0; i < len(pitches); i++ {
		for pitches[i] > pitches[from]*1.06 {
			from++
		}
		if i-from+1 >= least {
			return pitches[i]
		}
	}
	return pitches[0] // the page has at least one such distance
}

// near is the number of lines before and after that are examined to find a column's edges.
const near = 60

// column returns the right and left edges of the column of line i, from the lines around it that overlap it and begin at about the same
// position.
func (y *layout) column(i int) (right, left float64) {
	l := &y.lines[i]
	right, left = l.right, l.left
	for _, step := range []int{-1, 1} {
		for j := i + step; j >= 0 && j < len(y.lines) && j-i <= near && i-j <= near; j += step {
			o := &y.lines[j]
			if o.solid == 0 || o.left > l.right || o.right < l.left {
				break
			}
			if size := max(l.size(), o.size()); math.Abs(l.left-o.left) <= 3*size {
				right, left = max(right, o.right), min(left, o.left)
			}
		}
	}
	return right, left
}

// sameSize is the maximum relative difference in type size between lines of a paragraph.
const sameSize = 0.12

func (y *layout) sameColumn(i, j int) bool {
	a, b := &y.lines[i], &y.lines[j]
	return a.left < b.right && b.left < a.right
}

// continues reports whether line i continues the previous line's paragraph.
func (y *layout) continues(i int) bool {
	j := i - 1
	if j < 0 {
		return true
	}
	a, b := &y.lines[j], &y.lines[i]
	if a.solid == 0 || b.solid == 0 || a.white != b.white {
		return false
	}
	size := max(a.size(), b.size())
	if size <= 0 {
		return goesOn(a, b)
	}
	if math.Abs(a.size()-b.size()) > sameSize*size {
		return false
	}
	em := size * 0.8
	if startsItem(b.text) && (startsItem(a.text) || !a.full || endsSentence(a.text) || endsInDigit(a.text) || math.Abs(a.left-b.left) > em/2) {
		return false // without a sentence end, it is a number in mid-sentence
	}
	drop := (a.low - b.low) / size
	switch {
	case math.Abs(drop) < 0.3 && !a.hyphen:
		return false // beside line a, as in the cells of a table
	case drop < -1 || !y.sameColumn(j, i):
		// This is the next column, or adjacent text; the paragraph continues only if the words show that it does.
		return goesOn(a, b) && a.right-a.left > 0.6*(y.edge[j]-y.start[j]) || drop < -1 && runsOn(a, b)
	}
	pitch, known := y.pitch[sizeClass(b.size())]
	if !known {
		pitch = 1.2
	}
	wide := drop > pitch*1.25+0.1
	if wide && !y.uniform(j, i, drop) {
		return false
	}
	width := y.edge[j] - y.start[j]
	full := width > 8*em && a.right+0.2*em+firstWidth(b) > y.edge[j] || a.right > y.edge[j]-em && width > 15*em
	indented := b.left > y.start[i]+0.7*em && b.left > a.left+0.7*em && b.left < y.start[i]+6*em
	outdented := a.left > b.left+0.7*em           // the first line of a paragraph, or a hanging one
	aside := a.left > b.left+0.3*(b.right-b.left) // set to the right or centred above b
	switch {
	case a.hyphen:
		return true
	case aside && a.right-a.left < 0.5*(b.right-b.left):
		return false
	case indented && (endsSentence(a.text) || !full):
		return false
	case wide:
		return full && !endsSentence(a.text)
	case full:
		return true
	case endsSentence(a.text):
		return false
	case outdented, a.right-a.left > 0.75*width:
		return goesOn(a, b) || !startsUpper(b.text)
	}
	last, _ := utf8.DecodeLastRuneInString(a.text)
	return goesOn(a, b) && !isUnspaced(last) && a.right-a.left > 0.5*width
}

// uniform reports whether the lines before a or after b are as far apart as a and b. If so, this is the distance between lines of their
// paragraph, which is wider than elsewhere on the page.
func (y *layout) uniform(a, b int, drop float64) bool {
	same := func(i, j int) bool {
		if i < 0 || j >= len(y.lines) || y.lines[i].solid == 0 || y.lines[j].size() <= 0 || !y.sameColumn(i, j) {
			return false
		}
		d := (y.lines[i].low - y.lines[j].low) / y.lines[j].size()
		return math.Abs(d-drop) < 0.04*drop
	}
	return drop < 2.5 && (same(a-1, a) || same(b, b+1))
}

// firstWidth returns the approximate width of the first word of l; if it had fitted on the previous line, it would be there. Scripts
// without spaces break anywhere except before closing marks.
func firstWidth(l *pdfLine) float64 {
	all := utf8.RuneCountInString(l.text)
	word := strings.TrimLeft(l.text, " ")
	if i := strings.IndexByte(word, ' '); i >= 0 {
		word = word[:i]
	}
	n := utf8.RuneCountInString(word)
	if r, _ := utf8.DecodeRuneInString(word); isUnspaced(r) {
		n = min(n, 2)
	}
	return (l.right - l.left) * float64(n) / float64(max(all, 1))
}

// goesOn reports whether the words alone show that b continues a: either a does not end a sentence and b begins in lower case, or both
// are in a script without case and spaces.
func goesOn(a, b *pdfLine) bool {
	if a.hyphen {
		return true
	}
	if endsSentence(a.text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(b.text)
	last, _ := utf8.DecodeLastRuneInString(a.text)
	return unicode.IsLower(r) || isUnspaced(r) && isUnspaced(last) || strings.ContainsRune(",;", last)
}

// continuesAcross reports whether the first line of a page continues the last line of the previous one.
func continuesAcross(a, b *pdfLine) bool {
	if a.solid == 0 || b.solid == 0 || startsItem(b.text) {
		return false
	}
	size := max(a.size(), b.size())
	if size > 0 && math.Abs(a.size()-b.size()) > sameSize*size {
		return false
	}
	return goesOn(a, b) || runsOn(a, b)
}

// runsOn reports whether the shape alone shows that a's paragraph continues with b, in the next column or on the next page: a fills its
// line, and b is not indented and about as wide.
func runsOn(a, b *pdfLine) bool {
	return a.full && !b.indented && !startsItem(b.text) && b.right-b.left > 0.6*(a.right-a.left)
}

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.IsDigit(r)
}

// endsSentence reports whether s ends the way a sentence does, apart from closing quotes and brackets.
func endsSentence(s string) bool {
	s = strings.TrimRightFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"')]}»”’」』）】》", r)
	})
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?:。！？：…؟۔։।", r)
}

func endsInDigit(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsDigit(r)
}

// startsItem reports whether s begins the way a list item does.
func startsItem(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("•◦▪‣●○■□–—∙·\uf0b7", r) {
		return strings.HasPrefix(s[n:], " ")
	}
	mark, _, ok := strings.Cut(s, " ")
	if !ok || len(mark) > 5 || len(mark) < 2 {
		return false
	}
	body := strings.Trim(mark, "()[]")
	if end := mark[len(mark)-1]; end != '.' && end != ')' && end != ']' {
		return false
	}
	body = strings.TrimSuffix(body, ".")
	if strings.IndexFunc(body, func(r rune) bool { return r < '0' || r > '9' }) < 0 && len(body) <= 3 && body != "" {
		return true
	}
	return len(body) == 1 && body[0] >= 'a' && body[0] <= 'z' && mark[len(mark)-1] == ')'
}
