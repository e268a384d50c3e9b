package extract

import (
	"regexp"
	"strings"
	"unicode"
)

// Codes of a Type0 font are mostly numbers of glyphs, and only ToUnicode says what they mean. If the font itself knows its letters
// and disagrees, one of them lies. The file is then read both ways: what the font says counts if it is as much of a language.

var (
	pdfIdentity    = regexp.MustCompile(`/Encoding\s*/Identity-[HV]\b`)
	pdfDescendants = regexp.MustCompile(`/DescendantFonts\s*(?:\[\s*)?(\d+)\s+\d+\s+R`)
	pdfReference   = regexp.MustCompile(`(\d+)\s+\d+\s+R`)
	pdfDescriptor  = regexp.MustCompile(`/FontDescriptor\s+(\d+)\s+\d+\s+R`)
	pdfFontFile    = regexp.MustCompile(`/FontFile[23]\s+(\d+)\s+\d+\s+R`)
	pdfGlyphMap    = regexp.MustCompile(`/CIDToGIDMap\s+(\d+)\s+\d+\s+R`)
)

// maxPDFFonts bounds the fonts that are looked at.
const maxPDFFonts = 2000

// trueTables returns the file with those ToUnicode tables replaced that contradict the letters of their fonts, or nil.
func (p *pdfObjects) trueTables() []byte {
	tables, looked := map[string][]byte{}, map[string]bool{}
	look := func(font []byte) {
		m := pdfToUnicode.FindSubmatch(font)
		if m == nil || !pdfIdentity.Match(font) || looked[string(m[1])] || len(looked) >= maxPDFFonts {
			return
		}
		number := string(m[1])
		looked[number] = true
		if said := readToUnicode(p.stream(number)); said.correct(p.glyphLetters(font)) {
			const codeBytes = 2
			tables[number] = said.write(codeBytes)
		}
	}
	for _, font := range p.tables() {
		look(font)
	}
	for _, font := range p.packedObjects() {
		look(font)
	}
	if len(tables) == 0 {
		return nil
	}
	return p.amended(tables)
}

// glyphLetters gives the letters of each code of a Type0 font, as the font in the file has them, and how many glyphs it knows.
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
	letters, err := readFont(p.reader(string(file[1])))
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

// leastFalse is the number of letters that a table must give another meaning to be suspected. A font of a part of the letters, of
// which it gives fewer than half a meaning, is suspected too.
const (
	leastFalse = 2
	partFont   = 256 // glyphs
)

// correct gives codes the meaning of what is shown, if enough letters contradict what the table says, and reports whether it did.
func (t toUnicode) correct(shown func(code int) []rune, glyphs int) bool {
	wrong := 0 // letters that look alike are one, and so are compatibility forms
	for code, meaning := range t {
		if letters := shown(code); len(letters) > 0 && isLetterOrDigit(letters[0]) && !means(meaning, letters, lookedAt) {
			wrong++
		}
	}
	if wrong < leastFalse && (glyphs > partFont || len(t)*2 >= glyphs) {
		return false
	}
	for code := range maxCodes {
		if letters := shown(code); len(letters) > 0 && !means(t[code], letters, Fold) {
			t[code] = string(letters[0])
		}
	}
	return true
}

// means reports whether a meaning holds one of the letters shown, without the differences that fold takes away. It may hold more
// letters, if their font draws them as a group.
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

// lookedAt folds s and turns letters of other scripts into the Latin ones that look alike.
func lookedAt(s string) string {
	return Fold(strings.Map(func(r rune) rune {
		if l := lookAlikes[r]; l != 0 {
			return l
		}
		return r
	}, s))
}

// loadSeen opens the document with the words that it draws; lied: it says others.
func (f *pdfium) loadSeen(p *pdfObjects) (doc uint64, lied bool, err error) {
	if drawn := p.falseMappings(); drawn != nil {
		p, lied = newPDFObjects(drawn, p.opt), true
	}
	if doc, err = f.load(p.data); err != nil {
		return 0, lied, err
	}
	amended := p.trueTables()
	if amended == nil {
		return doc, lied, nil
	}
	other, err := f.load(amended)
	if err != nil {
		f.err = nil // there is no room for both, or the update does not fit
		return doc, lied, nil
	}
	if !f.seenIn(other, doc) {
		f.call("FPDF_CloseDocument", other)
		return doc, lied, nil
	}
	f.call("FPDF_CloseDocument", doc)
	return other, true, nil
}

// seenIn reports whether a reading of the document by the letters of its fonts has other words than what the file says, and is
// as much of a language.
func (f *pdfium) seenIn(drawn, said uint64) bool {
	var a, b strings.Builder // of pages that differ
	const enough = 20_000    // bytes
	for i := range min(f.integer("FPDF_GetPageCount", said), maxJudged) {
		x, y := f.letters(drawn, i), f.letters(said, i)
		if x != y && differ(y, x) {
			a.WriteString(x)
			b.WriteString(y)
		}
		if a.Len() > enough {
			break
		}
	}
	return a.Len() > 0 && believable(a.String(), b.String())
}

// maxJudged bounds the pages that are read twice.
const maxJudged = 1000

// Of what a font shows, at least leastLike must be like language, and as much as of what the file says, less the play of short texts.
// In 203 texts of udhr in Latin letters, 300 letters of each, likeLanguage gives 0.52 or more; with the letters of each exchanged at
// random, 0.54 or less in 95 of 100, and at least 0.07 less than before in 99 of 100.
const (
	leastLike = 0.5
	likePlay  = 0.07
)

// believable reports whether what a font shows is language as much as what the file says. Where neither can be judged, the font is
// believed.
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

// likeLanguage tells how much folded text is like language, from 0 to 1; -1: it cannot be judged. In Latin letters, it is the share
// of neighbours of which one is a vowel; in others, what the letter pairs of a language leave of a surprise of 20 bits.
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

// isVowel reports whether r is a vowel of the Latin alphabet; a letter outside ASCII may be one with a mark.
func isVowel(r rune) bool { return r >= 0x80 || strings.ContainsRune("aeiou", r) }
