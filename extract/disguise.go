package extract

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A mark belongs to no language if it appears on at least leastBases different consonants without forming a letter of any language, and
// on at least one in oddShare of the text's letters. Tone and stress marks appear on vowels, and on consonants sung like vowels;
// transcriptions of speech use many marks, but each one rarely.
const (
	leastBases = 5
	oddShare   = 40
	maxStacked = 2 // marks on one letter besides those that compose with it
)

// A text in small capitals contains three letters unused in transcriptions of speech.
const leastCapitals = 3

// undisguised returns edits for words of s whose letters or blanks resemble others: small capitals, letters in circles and boxes, letters
// with marks that belong to no language, and thin blanks inside words. Each is replaced with what it resembles.
func undisguised(s string) []edit {
	d := disguises{s: s, pairs: map[[2]rune]rune{}}
	if !d.survey() {
		return nil
	}
	var edits []edit
	for at := 0; at < len(s); {
		from, to := d.wordAt(at)
		if from < 0 {
			break
		}
		if e, ok := d.word(from, to); ok {
			edits = append(edits, e)
		}
		at = to
	}
	return edits
}

// disguises tracks what the text as a whole reveals about its words.
type disguises struct {
	s     string
	thin  bool // thin blanks occur inside words
	small bool // words in small capitals occur
	odd   map[rune]bool
	pairs map[[2]rune]rune // compositions of letters and marks
}

// survey examines the whole text and reports whether any word might be disguised.
func (d *disguises) survey() bool {
	letters, blanks, thin, capitals, found := 0, 0, 0, 0, false
	bases := map[rune]map[rune]bool{} // for each mark, the consonants with which it does not compose
	count := map[rune]int{}
	var last rune // together with the marks that compose with the letter
	for i, r := range d.s {
		if r < 0x80 {
			if r == ' ' {
				blanks++
			}
			last = r
			if scriptOf(r) != 0 {
				letters++
			}
			continue
		}
		switch {
		case thinBlank(r):
			if d.inWord(last, i+utf8.RuneLen(r)) {
				thin++
			}
		case inheritedMark(r):
			if c := d.composed(last, r); c != 0 {
				last = c
				continue
			}
			if !unicode.IsLetter(last) && !unicode.IsDigit(last) {
				continue
			}
			found = true
			if bases[r] == nil {
				bases[r] = map[rune]bool{}
			}
			if l := unicode.ToLower(last); !strings.ContainsRune(sung, l) {
				bases[r][l] = true
			}
			count[r]++
			continue // further marks on the same letter
		case smallCapital(r) != 0:
			if found = true; !phoneticCapital(r) {
				capitals++
			}
		case enclosed(r) != 0:
			found = true
		}
		last = r
		if unicode.IsLetter(r) {
			letters++
		}
	}
	// If the text uses thin blanks as its normal blanks, the stretches between ordinary blanks are as long as
	// lines.
	const longestWord, leastThin = 15, 5
	d.thin = thin >= leastThin && letters < longestWord*(blanks+1)
	d.small = capitals >= leastCapitals
	d.odd = map[rune]bool{}
	for m, b := range bases {
		d.odd[m] = len(b) >= leastBases && count[m]*oddShare >= letters
	}
	return found || d.thin
}

// wordAt returns the first word at or after byte at with a non-ASCII letter, including thin blanks inside it; from is -1 if there is
// none.
func (d *disguises) wordAt(at int) (from, to int) {
	from = -1
	plain, last := true, ' '
	for i, r := range d.s[at:] {
		i += at
		inside := isWordRune(r) || enclosed(r) != 0 || invisible(r) ||
			d.thin && from >= 0 && thinBlank(r) && d.inWord(last, i+utf8.RuneLen(r))
		last = r
		switch {
		case inside && from < 0:
			from, plain = i, r < 0x80
		case inside:
			plain = plain && r < 0x80
		case from >= 0 && !plain:
			return from, i
		default:
			from = -1
		}
	}
	if from >= 0 && plain {
		return -1, len(d.s)
	}
	return from, len(d.s)
}

// inWord reports whether a blank between last and byte i is inside a word. Mongolian separates suffixes with such blanks.
func (d *disguises) inWord(last rune, i int) bool {
	next, _ := utf8.DecodeRuneInString(d.s[i:])
	return (unicode.IsLetter(last) || unicode.IsMark(last)) && (unicode.IsLetter(next) || unicode.IsMark(next)) &&
		!unicode.Is(unicode.Mongolian, next)
}

// word returns the edit for a word if the word is disguised.
func (d *disguises) word(from, to int) (edit, bool) {
	w := d.s[from:to]
	e := edit{from: from, to: to, text: w}
	if d.thin && strings.ContainsFunc(w, thinBlank) && !lettersApart(w) {
		e.text = strings.Map(func(r rune) rune {
			if thinBlank(r) {
				return -1
			}
			return r
		}, w)
		e.code, e.detail = FlagSpaced, fmt.Sprintf("thin spaces inside a word; compared as “%s”", shortened(e.text))
	}
	if t, n := d.unmarked(e.text); n > 0 {
		e.text = t
		// A vector or a negation in a formula is one or two letters.
		if r, _ := utf8.DecodeRuneInString(t); n > 1 || !marked(r) || utf8.RuneCountInString(t) > 2 {
			e.code, e.detail = FlagMarks, fmt.Sprintf("marks over or through letters; compared as “%s”", shortened(t))
		}
	}
	if t, ok := d.capitals(e.text); ok {
		e.text = t
		e.code, e.detail = FlagLookAlike, fmt.Sprintf("letters that look like others; compared as “%s”", shortened(t))
	}
	return e, e.code != "" || e.text != w
}

// lettersApart reports whether every letter of w is followed by a blank; such words are matched unchanged (package segment/spaced).
func lettersApart(w string) bool {
	letters := 0
	for _, r := range w {
		if letters++; thinBlank(r) {
			letters = 0
		}
		if letters > 1 {
			return false
		}
	}
	return true
}

// unmarked removes marks that belong to no language from the letters of a word, and counts them.
func (d *disguises) unmarked(w string) (string, int) {
	if !strings.ContainsFunc(w, inheritedMark) {
		return w, 0
	}
	var plain []rune
	removed, stacked := 0, 0
	decomposed := norm.NFD.String(w)
	odd := d.oddMarks(decomposed)
	var last rune
	for _, r := range decomposed {
		if !inheritedMark(r) {
			last, stacked = r, 0
			plain = append(plain, r)
			continue
		}
		c := d.composed(last, r)
		if c != 0 && stacked == 0 && !odd[r] {
			last = c
			plain = append(plain, r)
			continue
		}
		if stacked++; odd[r] || overlay(r) || !marked(last) || stacked > maxStacked {
			removed++
			continue
		}
		plain = append(plain, r)
	}
	if removed == 0 {
		return w, 0
	}
	return norm.NFC.String(string(plain)), removed
}

// oddMarks returns the marks in the word that belong to no language and appear on a letter with which they do not compose, or on every
// letter.
func (d *disguises) oddMarks(w string) map[rune]bool {
	odd, count := map[rune]bool{}, map[rune]int{}
	letters := 0
	var last rune
	for _, r := range w {
		if !inheritedMark(r) {
			letters++
			last = r
			continue
		}
		count[r]++
		if c := d.composed(last, r); c != 0 {
			last = c
		} else if d.odd[r] {
			odd[r] = true
		}
	}
	for r, n := range count {
		if d.odd[r] && n == letters {
			odd[r] = true
		}
	}
	return odd
}

// capitals converts a word in small capitals or enclosed letters to ordinary letters.
func (d *disguises) capitals(w string) (plain string, ok bool) {
	small, boxed, other := 0, 0, false
	for _, r := range w {
		switch {
		case smallCapital(r) != 0:
			small++
		case enclosed(r) != 0:
			boxed++
		default:
			other = other || r >= 0x80 && !invisible(r)
		}
	}
	if other || (small < 2 || !d.small) && boxed < 3 {
		return w, false
	}
	return strings.Map(func(r rune) rune {
		if c := smallCapital(r); c != 0 && d.small {
			return c
		}
		if c := enclosed(r); c > 0 && boxed >= 3 {
			return c
		}
		return r
	}, w), true
}

// composed returns the letter that a letter and a mark form, or 0.
func (d *disguises) composed(base, mark rune) rune {
	if base < 'A' {
		return 0
	}
	c, known := d.pairs[[2]rune{base, mark}]
	if !known {
		s := norm.NFC.String(string(base) + string(mark))
		if r, n := utf8.DecodeRuneInString(s); n == len(s) {
			c = r
		}
		if len(d.pairs) < maxPairs {
			d.pairs[[2]rune{base, mark}] = c
		}
	}
	return c
}

// sung lists the letters that can carry tone and stress.
const sung = "aeiouyæøœəɛɔɪʊɨɯʌɑɒmnŋrlаеёиоуыэюяіїєαεηιουω"

// maxPairs is the maximum number of pairs of letter and mark that are remembered.
const maxPairs = 10000

// inheritedMark reports whether r is a combining mark from a block that belongs to no script (Unicode 15, section 7.9).
func inheritedMark(r rune) bool {
	return r >= 0x300 && r <= 0x36f && r != 0x34f || r >= 0x1ab0 && r <= 0x1aff || r >= 0x1dc0 && r <= 0x1dff || r >= 0x20d0 && r <= 0x20f0 ||
		r >= 0xfe20 && r <= 0xfe2f || r == 0x488 || r == 0x489
}

// overlay reports whether a mark, for example a line or circle, is under, over or around its letter and is not part of a letter in any
// language.
func overlay(r rune) bool {
	switch r {
	case 0x305, 0x332, 0x333, 0x33f, 0x488, 0x489:
		return true
	}
	return r >= 0x334 && r <= 0x338 || r >= 0x20d0 && r <= 0x20f0
}

// marked reports whether r belongs to a script that uses combining marks on letters.
func marked(r rune) bool {
	return r < 0x80 || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Georgian, unicode.Coptic,
		unicode.Glagolitic, unicode.Gothic, unicode.Syriac, unicode.Cherokee) || !unicode.IsLetter(r)
}

// thinBlank reports whether r is a blank so thin or unusual that it separates no words in text that also has ordinary blanks.
func thinBlank(r rune) bool {
	switch r {
	case 0x2006, 0x2008, 0x2009, 0x200a, 0x202f, 0x2800, 0xfffc:
		return true
	}
	return false
}

// smallCapitals maps small capitals to their letters, except those used in phonetic transcription.
var smallCapitals = func() map[rune]rune {
	m := map[rune]rune{}
	plain := []rune("abcdefghijklmnopqrstuvwyz")
	for i, r := range []rune("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ") {
		m[r] = plain[i]
	}
	return m
}()

func smallCapital(r rune) rune {
	if r < 0x250 {
		return 0
	}
	return smallCapitals[r]
}

func phoneticCapital(r rune) bool { return r < 0x2b0 }

// enclosed returns the letter inside a circled, boxed or parenthesised letter, or 0.
func enclosed(r rune) rune {
	for _, of := range []struct{ first, letter rune }{{0x1f150, 'A'}, {0x1f170, 'A'}, {0x24b6, 'A'}, {0x24d0, 'a'}, {0x249c, 'a'},
		{0x1f110, 'A'}, {0x1f130, 'A'}} {
		if r >= of.first && r < of.first+26 {
			return of.letter + r - of.first
		}
	}
	return 0
}
