package extract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Codes in a Type0 font are usually glyph numbers, and only ToUnicode says what they mean. If the font itself knows its letters and
// disagrees, one of the two is wrong. The file is then read both ways, and the font's version is used if it is at least as much like a
// language.

var (
	pdfIdentity    = regexp.MustCompile(`/Encoding\s*/Identity-[HV]\b`)
	pdfDescendants = regexp.MustCompile(`/DescendantFonts\s*(?:\[\s*)?(\d+)\s+\d+\s+R`)
	pdfReference   = regexp.MustCompile(`(\d+)\s+\d+\s+R`)
	pdfDescriptor  = regexp.MustCompile(`/FontDescriptor\s+(\d+)\s+\d+\s+R`)
	pdfFontFile    = regexp.MustCompile(`/FontFile[23]\s+(\d+)\s+\d+\s+R`)
	pdfGlyphMap    = regexp.MustCompile(`/CIDToGIDMap\s+(\d+)\s+\d+\s+R`)
)

// Limits per document on the number of fonts examined, on the decompressed bytes of fonts and tables, and on the codes covered by ranges
// in tables.
const (
	maxPDFFonts      = 2000
	maxPDFFontBytes  = 128 << 20
	maxPDFTableBytes = 32 << 20
	maxPDFCodes      = 4 << 20
)

// fontRoom tracks how many fonts, bytes and codes of a document can still be read.
type fontRoom struct {
	fonts, bytes, tableBytes, codes int
}

func newFontRoom() fontRoom {
	return fontRoom{fonts: maxPDFFonts, bytes: maxPDFFontBytes, tableBytes: maxPDFTableBytes, codes: maxPDFCodes}
}

// isSpent reports whether a limit was reached, so that fonts may have been skipped.
func (r *fontRoom) isSpent() bool {
	return r.fonts < 0 || r.bytes <= 0 || r.tableBytes <= 0 || r.codes <= 0
}

// roomReader reads while the limit allows.
type roomReader struct {
	r    io.Reader
	room *int
}

func (r roomReader) Read(b []byte) (int, error) {
	if *r.room <= 0 {
		return 0, io.EOF
	}
	n, err := r.r.Read(b[:min(len(b), *r.room)])
	*r.room -= n
	return n, err
}

// meanings returns a decompressed ToUnicode table.
func (p *pdfObjects) meanings(table string) []byte {
	out, _ := io.ReadAll(io.LimitReader(roomReader{p.reader(table), &p.fonts.tableBytes}, maxPDFStream)) // use whatever precedes any damage
	p.cut = p.cut || len(out) == maxPDFStream
	return out
}

// trueTables returns the file with corrected ToUnicode tables for fonts whose own letters contradict them, or nil if there are none.
func (p *pdfObjects) trueTables() []byte {
	return p.corrected(pdfIdentity, func(said toUnicode, font []byte) bool { return said.correct(p.glyphLetters(font)) })
}

// definedTables is like trueTables for fonts with encodings defined by the PDF format, where the letter for each code is certain.
func (p *pdfObjects) definedTables() []byte {
	return p.corrected(pdfDefined, func(said toUnicode, font []byte) bool {
		shown := definedLetters(string(pdfDefined.FindSubmatch(font)[1]))
		wrong, right := said.against(shown)
		if wrong < leastFalse || wrong*20 <= right {
			return false
		}
		said.replace(shown)
		return true
	})
}

// corrected returns the file with the ToUnicode tables changed by correct, separately for each font with a matching encoding, or nil.
func (p *pdfObjects) corrected(encoding *regexp.Regexp, correct func(said toUnicode, font []byte) bool) []byte {
	objects, tables := map[int][]byte{}, map[string]string{} // new objects by number; numbers of new tables by font
	next := p.lastTrailer().size
	for _, holder := range p.fontHolders() {
		var out []byte
		object, done := p.numbered(holder), 0
		for _, m := range pdfToUnicode.FindAllSubmatchIndex(object, -1) {
			font, table := dictionaryAt(object, m[0]), string(object[m[2]:m[3]])
			if !encoding.Match(font) {
				continue
			}
			key := table + " " + string(font)
			if d := pdfDescendants.FindSubmatch(font); d != nil {
				key = table + " " + string(d[1])
			}
			number, looked := tables[key]
			if !looked {
				if p.fonts.fonts--; p.fonts.fonts < 0 || p.fonts.codes <= 0 {
					break
				}
				if said := readToUnicode(p.meanings(table), &p.fonts.codes); correct(said, font) {
					p.fonts.codes -= len(said) // correct may have assigned every code a meaning
					for next = max(next, 1); p.place(next) >= 0 || p.packed[next].body != nil; next++ {
						continue
					}
					number = strconv.Itoa(next)
					const codeBytes = 2
					objects[next] = said.stream(codeBytes)
					next++
				}
				tables[key] = number
			}
			if number != "" {
				out = append(append(out, object[done:m[2]]...), number...)
				done = m[3]
			}
		}
		if out != nil {
			objects[holder] = append(out, object[done:]...)
		}
	}
	switch {
	case len(objects) == 0:
		return nil
	case len(p.data) > maxJudgedBytes:
		p.tooLarge = true
		return nil
	}
	return p.amended(objects)
}

// fontHolders returns the numbers of the objects that name ToUnicode tables.
func (p *pdfObjects) fontHolders() []int {
	var out []int
	for at := range p.tables() {
		start := bytes.LastIndex(p.data[:at], []byte("obj")) // every table has one
		if n := objectNumber(p.data[:start]); n >= 0 && p.place(n) == start+len("obj") {
			out = append(out, n)
		}
	}
	for n, object := range p.packedObjects() {
		if bytes.Contains(object, []byte("/ToUnicode")) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// dictionaryAt returns the innermost dictionary around a position in an object or, failing that, the object.
func dictionaryAt(object []byte, at int) []byte {
	var open []int
	for i := 0; i < len(object); i++ {
		rest := object[i:]
		switch {
		case bytes.HasPrefix(rest, []byte("<<")):
			open = append(open, i)
			i++
		case bytes.HasPrefix(rest, []byte(">>")) && len(open) > 0:
			last := open[len(open)-1]
			if last < at && at < i {
				return object[last : i+2]
			}
			open = open[:len(open)-1]
			i++
		case rest[0] == '<':
			i += max(bytes.IndexByte(rest, '>'), 0)
		case rest[0] == '(':
			i += max(literalEnd(rest)-1, 0)
		case rest[0] == '%':
			i += max(bytes.IndexAny(rest, "\r\n"), 0)
		}
	}
	return object
}

// glyphLetters returns the letters for each code of a Type0 font according to the embedded font, and the number of glyphs it knows.
func (p *pdfObjects) glyphLetters(font []byte) (shown func(code int) []rune, glyphs int) {
	if m := pdfDescendants.FindSubmatch(font); m != nil {
		font = p.object(string(m[1]))
		if m := pdfReference.FindSubmatch(font); m != nil && font[0] == '[' {
			font = p.object(string(m[1]))
		}
	}
	none := func(int) []rune { return nil }
	m := pdfDescriptor.FindSubmatch(font)
	if m == nil {
		return none, 0
	}
	file := pdfFontFile.FindSubmatch(p.object(string(m[1])))
	if file == nil {
		return none, 0
	}
	letters, err := readFont(roomReader{p.reader(string(file[1])), &p.fonts.bytes})
	if err != nil || len(letters.of) == 0 {
		return none, 0
	}
	var byCID []byte
	if m := pdfGlyphMap.FindSubmatch(font); m != nil {
		byCID = p.stream(string(m[1]))
	}
	return func(code int) []rune {
		switch {
		case letters.glyph != nil:
			code = letters.glyph[code]
		case byCID != nil:
			code = u16(byCID, 2*code)
		}
		return letters.of[code]
	}, len(letters.of)
}

// leastFalse is the number of letters with a different meaning at which a table is suspect. A font with only some of the letters is also
// suspect if its table gives fewer than half of them a meaning.
const (
	leastFalse = 2
	partFont   = 256 // in glyphs
)

// correct gives codes the meaning of the letters shown if enough of these contradict the table, and reports whether it did.
func (t toUnicode) correct(shown func(code int) []rune, glyphs int) bool {
	if wrong, _ := t.against(shown); wrong < leastFalse && (glyphs > partFont || len(t)*2 >= glyphs) {
		return false
	}
	t.replace(shown)
	return true
}

// against returns how many codes of letters a table maps to another meaning, and how many it maps to the letter shown. Similar-looking
// letters and compatibility forms count as the same.
func (t toUnicode) against(shown func(code int) []rune) (wrong, right int) {
	for code, meaning := range t {
		switch letters := shown(code); {
		case len(letters) == 0 || !isLetterOrDigit(letters[0]):
		case means(meaning, letters, lookedAt):
			right++
		default:
			wrong++
		}
	}
	return wrong, right
}

// replace gives codes the meaning of the letters shown.
func (t toUnicode) replace(shown func(code int) []rune) {
	for code := range maxCodes {
		if letters := shown(code); len(letters) > 0 && !means(t[code], letters, Fold) {
			t[code] = string(letters[0])
		}
	}
}

// means reports whether a meaning contains one of the letters shown, ignoring differences removed by folding. It can contain more letters
// if the font draws them as a group.
func means(meaning string, shown []rune, fold func(string) string) bool {
	said := fold(meaning)
	for _, r := range shown {
		if strings.ContainsRune(meaning, r) {
			return true
		}
		if l := fold(string(r)); l != "" && strings.Contains(said, l) {
			return true
		}
	}
	return false
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// lookedAt folds s and replaces letters of other scripts with similar-looking Latin letters.
func lookedAt(s string) string {
	return Fold(strings.Map(func(r rune) rune {
		if l := lookAlikes[r]; l != 0 {
			return l
		}
		return r
	}, s))
}

// Flag details about fonts that were not compared with the letters they draw.
const (
	unreadDetail   = "fonts contradict the stored letters, but what they draw could not be read; the stored letters are compared"
	uncheckedFonts = "some fonts were not checked for letters other than the stored ones"
	uncheckedPages = "pages %d to %d were not checked for letters other than the stored ones"
)

// asDrawn returns the document's objects, without encryption, and the document with the words that it draws. It reports where these words
// differ from the stored ones, and what was not checked.
func (p *pdfObjects) asDrawn(tell func(Flag)) (plain *pdfObjects, document []byte) {
	say := func(detail string) { tell(Flag{Code: FlagGlyphs, Detail: detail}) }
	lied, document := false, p.data
	p, err := p.decrypted()
	if err != nil {
		say(uncheckedFonts)
		return p, document
	}
	missed := false // something was missed in a document that was then replaced
	replace := func(data []byte) {
		missed = missed || p.cut || p.fonts.isSpent()
		p, lied = newPDFObjects(data, p.opt), true
	}
	if drawn := p.falseMappings(); drawn != nil {
		replace(drawn)
	}
	if defined := p.definedTables(); defined != nil {
		replace(defined)
	}
	amended := p.trueTables()
	if p.tooLarge {
		say(unreadDetail)
	}
	if missed || p.cut || p.fonts.isSpent() {
		say(uncheckedFonts)
	}
	if amended != nil {
		isSeen, unchecked, err := p.judge(amended)
		switch {
		case err != nil:
			say(unreadDetail)
		case isSeen:
			p, lied = newPDFObjects(amended, p.opt), true
		case unchecked != nil:
			say(fmt.Sprintf(uncheckedPages, unchecked[0], unchecked[1]))
		}
	}
	if lied {
		say(saidDetail)
		document = p.data
	}
	return p, document
}

// judge reports whether the words of the amended document match the visible ones, and returns the first and last pages that could not be
// compared. It reads both documents in a separate instance, which can run out of memory.
func (p *pdfObjects) judge(amended []byte) (isSeen bool, unchecked []int, err error) {
	f, err := p.opt.PDF.open()
	if err != nil {
		return false, nil, err
	}
	defer f.close()
	said, err := f.load(p.data)
	if err != nil {
		return false, nil, err
	}
	drawn, err := f.load(amended)
	if err != nil {
		return false, nil, err
	}
	pages := f.integer("FPDF_GetPageCount", said)
	if f.integer("FPDF_GetPageCount", drawn) != pages {
		return false, nil, errors.New("the amended document has a different number of pages")
	}
	isSeen, compared := f.seenIn(drawn, said, min(pages, p.opt.MaxPages))
	if compared < pages {
		unchecked = []int{compared + 1, pages}
	}
	return isSeen, unchecked, f.err
}

// seenIn reports whether reading the document's first pages by the letters of its fonts yields words that differ from the file's text and
// are as much like a language. It also returns the number of pages after which that is certain.
func (f *pdfium) seenIn(drawn, said uint64, pages int) (isSeen bool, compared int) {
	var a, b strings.Builder // text of pages that differ
	const enough = 20_000    // in bytes
	compared = min(pages, maxJudged)
	for i := range compared {
		x, y := f.letters(drawn, i), f.letters(said, i)
		if x != y && differ(y, x) {
			a.WriteString(x)
			b.WriteString(y)
		}
		if a.Len() > enough {
			compared = pages
			break
		}
	}
	return a.Len() > 0 && believable(a.String(), b.String()), compared
}

// Limits on the pages read twice, and on the size of a document, since an instance contains two.
const (
	maxJudged      = 1000
	maxJudgedBytes = 128 << 20
)

// Text read by a font must score at least leastLike, and at least as high as the file's text, allowing for the variation of short texts.
// For 300 letters from each of the 203 udhr texts in Latin letters, likeLanguage returns 0.52 or more. With each text's letters exchanged
// at random, it returns 0.54 or less for 95 of 100, and at least 0.07 less than before for 99 of 100.
const (
	leastLike = 0.5
	likePlay  = 0.07
)

// believable reports whether the text according to a font is as much like language as the file's text. If neither can be judged, the font
// is believed.
func believable(drawn, said string) bool {
	d, dLatin := likeLanguage(drawn)
	s, sLatin := likeLanguage(said)
	switch {
	case d < 0:
		return s < 0 && 2*len(said) > len(drawn)
	case s < 0 || dLatin != sLatin:
		return d >= leastLike
	}
	return d >= max(leastLike, s-likePlay)
}

// likeLanguage returns how much folded text resembles language, from 0 to 1, or -1 if it cannot be judged. For Latin letters, it is the
// share of adjacent pairs with one vowel; for others, it is how much a language's letter pairs reduce a surprise of 20 bits.
func likeLanguage(s string) (share float64, isLatin bool) {
	pairs, latinLetters, total, turns := map[[2]rune]int{}, 0, 0, 0
	last := ' '
	for _, r := range s {
		pairs[[2]rune{last, r}]++
		total++
		if scriptOf(r) == latin {
			latinLetters++
		}
		if isVowel(r) != isVowel(last) {
			turns++
		}
		last = r
	}
	if total == 0 {
		return -1, false
	}
	if latinLetters*2 > total {
		return float64(turns) / float64(total), true
	}
	best := -1.0
	for i := range languages() {
		l, cost, known := &languages()[i], 0.0, 0
		for p, n := range pairs {
			cost += l.cost(p) * float64(n)
			if l.knows[p[0]] && l.knows[p[1]] {
				known += n
			}
		}
		if known*2 > total {
			best = max(best, 1-cost/float64(total)/unseenLetter)
		}
	}
	return best, false
}

// isVowel reports whether r is a Latin vowel; a non-ASCII letter can be a vowel with a mark.
func isVowel(r rune) bool { return r >= 0x80 || strings.ContainsRune("aeiou", r) }
