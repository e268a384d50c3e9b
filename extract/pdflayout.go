package extract

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat/segment/spaced"
)

// pdfLine is a printed line.
type pdfLine struct {
	text                   string
	left, right, low, high float64
	white                  bool         // most of its letters are white
	invisible              bool         // most of its letters are drawn invisibly
	covered                bool         // most of its letters are covered by a box or picture, or clipped
	squeezed               bool         // most of its letters are too narrow to read
	off                    bool         // outside the visible page
	hyphen                 bool         // ends in a hyphen that PDFium attributes to a divided word
	full                   bool         // it reaches the right edge of a column of running text
	indented               bool         // it starts to the right of its column's left edge
	drop                   bool         // a running header, footer or page number
	solid                  int          // characters other than spaces
	spread                 bool         // its letters are spaced apart
	parts                  []unseenPart // invisible stretches of a visible line
}

// unseenPart is an invisible stretch in a line's text.
type unseenPart struct {
	from, to int // bytes of text
	code     string
}

// unseen returns the flag required for a character, or "".
func (c *pdfChar) unseen() string {
	switch {
	case c.covered, c.invisible:
		return FlagHidden
	case c.white:
		return FlagWhite
	case c.squeezed:
		return FlagTiny
	}
	return ""
}

func (l *pdfLine) size() float64 { return l.high - l.low }

// splitLines cuts the characters of a page at the line ends found by PDFium. If PDFium attributes a hyphen to a divided word, it returns
// U+0002 in place of the hyphen and line end.
func splitLines(chars []pdfChar) []pdfLine {
	type printed struct {
		chars  []pdfChar
		gaps   []wideGap
		hyphen bool
	}
	var all []printed
	start := 0
	for i := 0; i <= len(chars); i++ {
		if i < len(chars) && chars[i].r != '\r' && chars[i].r != '\n' && !chars[i].hyphen {
			continue
		}
		if i > start {
			c := rightToLeft(chars[start:i])
			all = append(all, printed{c, wideGaps(c), i < len(chars) && chars[i].hyphen})
		}
		start = i + 1
	}
	var lines []pdfLine
	for i, p := range all {
		var before, after []wideGap
		if i > 0 {
			before = all[i-1].gaps
		}
		if i+1 < len(all) {
			after = all[i+1].gaps
		}
		n := len(lines)
		for _, part := range cutCells(p.chars, p.gaps, before, after) {
			l, ok := makeLine(part)
			if !ok {
				continue
			}
			if k := len(lines); k > 0 && lines[k-1].beside(&l) {
				lines[k-1].extend(&l)
			} else {
				lines = append(lines, l)
			}
		}
		if k := len(lines); p.hyphen && k > 0 && (k > n || i > 0) {
			lines[k-1].hyphen = true
		}
	}
	return lines
}

// beside reports whether m is on the same line as l, to its right. Raised signs and marks above letters make PDFium end a line where a
// reader sees none.
func (l *pdfLine) beside(m *pdfLine) bool {
	if l.solid == 0 || m.solid == 0 || l.hyphen || l.size() <= 0 || m.size() <= 0 {
		return false
	}
	overlap := min(l.high, m.high) - max(l.low, m.low)
	gap := m.left - l.right
	em := max(l.size(), m.size()) * 0.8
	return overlap > 0.5*min(l.size(), m.size()) && gap > -0.6*em && gap < 0.6*em && l.left < m.left
}

// extend appends m, which must be next to l.
func (l *pdfLine) extend(m *pdfLine) {
	r, _ := utf8.DecodeRuneInString(m.text)
	if m.left-l.right > 0.2*l.size() && !unicode.Is(unicode.Mn, r) {
		l.text += " "
	}
	for _, w := range m.parts {
		l.parts = append(l.parts, unseenPart{w.from + len(l.text), w.to + len(l.text), w.code})
	}
	l.text += m.text
	if m.solid > l.solid {
		l.low, l.high = m.low, m.high
	}
	l.right, l.solid, l.hyphen = max(l.right, m.right), l.solid+m.solid, m.hyphen
}

func makeLine(chars []pdfChar) (pdfLine, bool) {
	l := pdfLine{left: math.Inf(1), right: math.Inf(-1)}
	var text []byte
	var lows, highs []float64
	white, invisible, covered, squeezed := 0, 0, 0, 0
	for _, c := range chars {
		if c.r == 0 || c.r == 0xfeff || c.r <= ' ' && len(text) == 0 {
			continue
		}
		from := len(text)
		text = append(text, splitLigatures(string(c.r))...)
		if c.r <= ' ' || c.right <= c.left {
			continue
		}
		l.solid++
		if c.white {
			white++
		}
		if c.invisible {
			invisible++
		}
		if c.covered {
			covered++
		}
		if c.squeezed {
			squeezed++
		}
		if code := c.unseen(); code != "" {
			l.addUnseen(from, len(text), code)
		}
		l.left, l.right = min(l.left, c.left), max(l.right, c.right)
		lows, highs = append(lows, c.low), append(highs, c.high)
	}
	l.text = strings.TrimRight(string(text), " \t")
	if isSpread(chars) && !mostlyRightToLeft(chars) {
		l.text, l.spread, l.parts = spreadText(chars), true, nil
	}
	if l.solid == 0 {
		l.left, l.right = 0, 0
		return l, strings.TrimSpace(l.text) != ""
	}
	l.low, l.high = median(lows), median(highs)
	most := l.solid / 2
	l.white, l.invisible, l.covered, l.squeezed = white > most, invisible > most, covered > most, squeezed > most
	if l.white || l.invisible || l.covered || l.squeezed {
		l.parts = nil
	}
	return l, true
}

// addUnseen records an invisible letter.
func (l *pdfLine) addUnseen(from, to int, code string) {
	if n := len(l.parts); n > 0 && l.parts[n-1].to == from && l.parts[n-1].code == code {
		l.parts[n-1].to = to
		return
	}
	l.parts = append(l.parts, unseenPart{from, to, code})
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sort.Float64s(v)
	return v[len(v)/2]
}

var ligatures = strings.NewReplacer("\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st",
	"\ufb06", "st")

func splitLigatures(s string) string {
	if !strings.Contains(s, "\xef\xac") {
		return s
	}
	return ligatures.Replace(s)
}

// manyShapes is the number of drawn shapes at which a page without a text layer is assumed to display text.
const manyShapes = 100

// write converts the pages to paragraphs.
func (d *pdfDoc) write() {
	d.dropHeaders()
	words := d.vocabulary()
	var noText, failed, drawn, mute []int
	garbled, seen, numbers, digits, pictures := 0, 0, 0, 0, 0
	var pictured []int
	var astray []int
	var prev *pdfLine
	for i := range d.pages {
		p := &d.pages[i]
		numbers, digits = numbers+p.numbers, digits+p.numberDigits
		if p.pictures > 0 && p.chars > 0 && !p.scan {
			pictures += p.pictures
			pictured = append(pictured, p.number)
		}
		if p.astray {
			astray = append(astray, p.number)
		}
		switch {
		case p.failed:
			failed = append(failed, p.number)
		case p.chars == 0 && p.pictures > 0, p.scan && p.chars < 8:
			noText = append(noText, p.number)
		case p.chars == 0 && p.shapes >= manyShapes:
			drawn = append(drawn, p.number)
		case p.chars == 0 && p.texts > 0:
			mute = append(mute, p.number)
		}
		garbled, seen = garbled+p.bad, seen+p.chars
		prev = d.writePage(p, prev, words)
	}
	d.b.end()
	for _, n := range slices.Concat(noText, drawn, mute) {
		d.renderScan(n - 1)
	}
	if len(noText) > 0 {
		d.b.missing(Flag{Code: NoTextLayer, Count: len(noText),
			Detail: fmt.Sprintf("no text layer on page %s of %d, only pictures", pageList(noText), len(d.pages))})
	}
	if len(drawn) > 0 {
		d.b.missing(Flag{Code: NoTextLayer, Count: len(drawn),
			Detail: fmt.Sprintf("no text layer on page %s of %d, only drawn shapes", pageList(drawn), len(d.pages))})
	}
	if len(mute) > 0 {
		d.b.missing(Flag{Code: NoTextLayer, Count: len(mute),
			Detail: fmt.Sprintf("no text layer on page %s of %d, only letters whose meaning is unknown", pageList(mute), len(d.pages))})
	}
	if len(failed) > 0 {
		d.b.missing(Flag{Code: Damaged, Count: len(failed),
			Detail: fmt.Sprintf("page %s of %d could not be read", pageList(failed), len(d.pages))})
	}
	if numbers > 0 {
		d.b.flag(Flag{Code: FlagHeaders, Detail: "line numbers in the margin left out", Count: numbers, Letters: digits})
	}
	if pictures > 0 {
		d.b.flag(Flag{Code: FlagPictures, Count: pictures, Missing: true,
			Detail: fmt.Sprintf("pictures on page %s of %d are not read; text in them is not checked", pageList(pictured), len(d.pages))})
	}
	if len(astray) > 0 {
		d.b.flag(Flag{Code: FlagOrder, Detail: fmt.Sprintf("words are not drawn in reading order on page %s of %d",
			pageList(astray), len(d.pages)), Count: len(astray)})
	}
	if d.b.garbled = garbled*20 > seen && seen > 0; d.b.garbled {
		d.b.flag(Flag{Code: FlagGlyphs, Detail: "characters that the file does not map to text", Count: garbled})
	}
}

// writePage writes one page. prev is the last line of the previous page, whose paragraph can continue on this one.
func (d *pdfDoc) writePage(p *pdfPage, prev *pdfLine, words *vocabulary) *pdfLine {
	b := d.b
	p.lines = slices.DeleteFunc(p.lines, func(l pdfLine) bool { return l.drop })
	layout := newLayout(p.lines)
	label := fmt.Sprintf("page %d", p.number)
	first := true
	for i := range p.lines {
		l := &p.lines[i]
		joined := false
		if prev != nil {
			if first {
				joined = continuesAcross(prev, l)
			} else {
				joined = layout.continues(i)
			}
		}
		if !joined {
			b.end()
		}
		if first {
			// A paragraph that continues from the previous page belongs to that page; the place is then where the new page's words begin.
			d.placePage(label, prev, joined)
			first = false
		}
		d.writeLine(p, prev, l, joined, words)
		prev = l
	}
	for _, n := range p.notes {
		b.end()
		if first {
			b.label, first = label, false
		}
		b.plainParagraphs(n)
		prev = nil
	}
	return prev
}

// placePage records where a page begins, either inside a continued paragraph or before a new one.
func (d *pdfDoc) placePage(label string, prev *pdfLine, joined bool) {
	if !joined {
		d.b.label = label
		return
	}
	d.b.places = append(d.b.places, paraPlace{len(d.b.para), label})
}

// writeLine appends a line to the paragraph, either after a space or directly, or rejoining a divided word.
func (d *pdfDoc) writeLine(p *pdfPage, prev, l *pdfLine, joined bool, words *vocabulary) {
	b := d.b
	if joined {
		before, _ := utf8.DecodeLastRune(b.para)
		after, _ := utf8.DecodeRuneInString(l.text)
		switch {
		case prev.hyphen || endsDivided(b.para, before, after):
			d.joinWord(l.text, words)
		case isUnspaced(before) && isUnspaced(after), isUnspaced(before) && !unicode.IsLetter(after) && !unicode.IsDigit(after):
		case prev.spread && l.spread:
			b.line() // the blank is not one between spaced letters
		default:
			b.space()
		}
	}
	from := len(b.para)
	b.text(l.text)
	for _, w := range l.parts {
		if from+w.to <= len(b.para) && !l.off && !p.scan {
			b.spans.add(w.code, pdfDetail[w.code], from+w.from, from+w.to)
		}
	}
	switch {
	case l.off:
		b.spans.add(FlagOffPage, "text outside the visible page", from, len(b.para))
	case l.invisible && !p.scan: // invisible text over the image of a page is the output of character recognition
		b.spans.add(FlagHidden, "text drawn invisibly", from, len(b.para))
	case l.covered && !p.scan:
		b.spans.add(FlagHidden, "text that is under a box or a picture, or is cut off", from, len(b.para))
	case l.white:
		b.spans.add(FlagWhite, pdfDetail[FlagWhite], from, len(b.para))
	case l.squeezed:
		b.spans.add(FlagTiny, pdfDetail[FlagTiny], from, len(b.para))
	case l.size() > 0 && l.size() <= tinyPoints:
		b.spans.add(FlagTiny, "text of 2 points or less", from, len(b.para))
	}
}

// pdfDetail explains the flags for stretches of a line.
var pdfDetail = map[string]string{
	FlagHidden: "text that is drawn invisibly, is under a box or a picture, or is cut off",
	FlagWhite:  "text in the colour of the background",
	FlagTiny:   "letters too narrow to read",
}

// endsDivided recognises a divided word with a hyphen that PDFium left unchanged.
func endsDivided(para []byte, before, after rune) bool {
	if before == 0xad {
		return true
	}
	if before != '-' && before != 0x2010 || !unicode.IsLower(after) {
		return false
	}
	_, n := utf8.DecodeLastRune(para)
	r, _ := utf8.DecodeLastRune(para[:len(para)-n])
	return unicode.IsLetter(r)
}

// joinWord decides on the hyphen at a line end: "" if the joined word occurs elsewhere in the document or in the dictionary; "-" if the
// hyphenated word does, if a part has a capital or digit, or if both parts are dictionary words; otherwise, it follows most line ends in
// the document.
func (d *pdfDoc) joinWord(next string, words *vocabulary) {
	b := d.b
	for {
		r, n := utf8.DecodeLastRune(b.para)
		if r != '-' && r != 0x2010 && r != 0xad || n == 0 {
			break
		}
		b.para = b.para[:len(b.para)-n]
	}
	head, tail := lastWord(string(b.para)), firstWord(next)
	switch {
	case head == "" || tail == "":
		b.para = append(b.para, '-')
	case words.have[strings.ToLower(head+tail)], spaced.IsWord(strings.ToLower(head + tail)):
	case words.have[strings.ToLower(head+"-"+tail)], !allLower(tail), spaced.IsWord(strings.ToLower(head)) &&
		spaced.IsWord(strings.ToLower(tail)), !words.divided:
		b.para = append(b.para, '-')
	}
}

func allLower(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) }) < 0
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func lastWord(s string) string {
	i := strings.LastIndexFunc(s, func(r rune) bool { return !isWordRune(r) })
	if i < 0 {
		return s
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return s[i+n:]
}

func firstWord(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return !isWordRune(r) })
	if i < 0 {
		return s
	}
	return s[:i]
}

// vocabulary determines the meaning of a hyphen at a line end.
type vocabulary struct {
	have    map[string]bool // words, including hyphenated ones, that occur within a line of the document
	divided bool            // the document divides words at line ends
}

// A document divides words if at least one line in dividedLines ends in a hyphen; if line ends contain only words that are always
// hyphenated, the share is one in 60 or lower.
const dividedLines = 40

func (d *pdfDoc) vocabulary() *vocabulary {
	v := &vocabulary{have: d.wholeWords()}
	lines, ends := 0, 0
	for i := range d.pages {
		for j := range d.pages[i].lines {
			l := &d.pages[i].lines[j]
			if l.solid < 20 {
				continue
			}
			lines++
			if l.hyphen || strings.HasSuffix(l.text, "-") || strings.HasSuffix(l.text, "\u00ad") || strings.HasSuffix(l.text, "\u2010") {
				ends++
			}
		}
	}
	v.divided = ends*dividedLines >= lines
	return v
}

func (d *pdfDoc) wholeWords() map[string]bool {
	words := map[string]bool{}
	for i := range d.pages {
		for j := range d.pages[i].lines {
			l := &d.pages[i].lines[j]
			f := strings.FieldsFunc(strings.ToLower(l.text), func(r rune) bool { return !isWordRune(r) && r != '-' })
			for k, w := range f {
				if k > 0 || len(f) == 1 || !l.hyphen {
					if !l.hyphen || k < len(f)-1 {
						words[strings.Trim(w, "-")] = true
					}
				}
			}
			if len(words) > 200000 {
				return words
			}
		}
	}
	return words
}
