package extract

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanText searches the finished text for ways to deceive a comparison: look-alike letters, invisible characters, spaced-out letters,
// rare quotation marks. It changes nothing; matching normalises the text, and the flags are evidence for people.
func scanText(b *builder) {
	s := b.res.Text
	if !isASCII([]byte(s)) {
		if b.counts[FlagGuess] == 0 { // a wrongly guessed encoding would itself mix scripts
			scanWords(b, s)
		}
		scanControls(b, s)
		scanTwins(b, s)
		scanQuotes(b, s)
	}
	scanSpaced(b, s)
	scanLanguage(b, s)
}

// If a text layer's characters differ from the displayed ones, its words exist in no language. Every language in Latin letters has a
// vowel in nearly every longer word, and a third of its letters are vowels or have a mark (doc/evaluation/extract.md states the minimum
// among the 280 Latin texts of the Universal Declaration). After most permutations of the letters, the share is lower. Private characters
// have no meaning at all.
const (
	leastWords   = 200 // minimum Latin words of three letters or more for drawing conclusions
	maxVowelless = 30  // percentage of them without a vowel
	leastVowels  = 28  // percentage of their letters that are vowels
	maxPrivate   = 5   // percentage of characters that have no public meaning
)

// scanLanguage flags text that cannot be language.
func scanLanguage(b *builder, s string) {
	words, without, chars, private := 0, 0, 0, 0
	letters, vowels := 0, 0
	n, vowel, latinOnly := 0, 0, true
	endWord := func() {
		if n >= 3 && latinOnly {
			if words++; vowel == 0 {
				without++
			}
			letters, vowels = letters+n, vowels+vowel
		}
		n, vowel, latinOnly = 0, 0, true
	}
	for _, r := range s {
		if r > ' ' {
			chars++
		}
		if r >= 0xe000 && r <= 0xf8ff {
			private++
		}
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) {
			endWord()
			continue
		}
		n++
		// A letter outside ASCII may be a vowel with a mark; syllabic r, l and w occur in few words.
		if r >= 0x80 || strings.ContainsRune("aeiouyAEIOUYwW", r) {
			vowel++
		}
		latinOnly = latinOnly && scriptOf(r) == latin
	}
	endWord()
	switch {
	case private*100 > chars*maxPrivate:
		b.flag(Flag{Code: FlagGlyphs, Detail: "characters with no standard meaning", Count: private})
	case words >= leastWords && without*100 > words*maxVowelless:
		b.flag(Flag{Code: FlagGlyphs, Detail: fmt.Sprintf("%d of %d words have no vowel, so the text is not natural language", without, words)})
	case words >= leastWords && vowels*100 < letters*leastVowels:
		b.flag(Flag{Code: FlagGlyphs, Detail: fmt.Sprintf("%d of %d letters are vowels, so the text is not natural language", vowels, letters)})
	}
}

// script is one of the scripts distinguished here, or 0 for any other.
type script byte

const (
	latin script = iota + 1
	cyrillic
	greek
	armenian
	rare // alphabets rarely mixed with Latin letters: Cherokee, Lisu, Coptic
	allScripts
)

func scriptOf(r rune) script {
	switch {
	case r < 0x80:
		if r|0x20 >= 'a' && r|0x20 <= 'z' {
			return latin
		}
		return 0
	case r < 0x370:
		if r == 0xb5 || !unicode.IsLetter(r) {
			return 0
		}
		return latin
	case r < 0x400:
		if unicode.Is(unicode.Greek, r) {
			return greek
		}
	case r < 0x530:
		return cyrillic
	case r < 0x590:
		return armenian
	case r < 0x13a0:
	case r < 0x1400, r >= 0x2c80 && r < 0x2d00, r >= 0xa4d0 && r < 0xa500, r >= 0xab70 && r < 0xabc0:
		return rare
	case r >= 0x1e00 && r < 0x1f00, r >= 0xff21 && r <= 0xff5a:
		return latin
	case r >= 0x1f00 && r < 0x2000:
		return greek
	}
	return 0
}

// lookAlikes maps letters of other scripts to the Latin letters that a reader would take them for. The pairs are from Unicode Technical
// Standard 39, confusables.txt, restricted to letters that look the same in common fonts.
var lookAlikes = func() map[rune]rune {
	m := map[rune]rune{}
	for _, p := range []string{
		"аa", "еe", "оo", "рp", "сc", "уy", "хx", "іi", "јj", "ѕs", "ԁd", "һh", "ӏl", "ԍg", "ёë", "їï", "ѵv",
		"АA", "ВB", "ЕE", "КK", "МM", "НH", "ОO", "РP", "СC", "ТT", "УY", "ХX", "ІI", "ЈJ", "ЅS", "ԌG", "ӀI", "ЁË", "ЇÏ",
		"οo", "αa", "νv", "ρp", "υu", "κk", "ϲc", "ϳj",
		"ΑA", "ΒB", "ΕE", "ΖZ", "ΗH", "ΙI", "ΚK", "ΜM", "ΝN", "ΟO", "ΡP", "ΤT", "ΥY", "ΧX", "ϹC",
		"օo", "ոn", "սu", "հh", "զq", "ցg", "ՍU",
		"ᎪA", "ᏴB", "ᏟC", "ᎠD", "ᎬE", "ᏀG", "ᎻH", "ᎥI", "ᎫJ", "ᏦK", "ᏞL", "ᎷM", "ᏢP", "ᎡR", "ᏚS", "ᎢT", "ᏙV", "ᎳW", "ᏃZ",
		"ꓮA", "ꓐB", "ꓚC", "ꓓD", "ꓰE", "ꓝF", "ꓖG", "ꓧH", "ꓲI", "ꓙJ", "ꓗK", "ꓡL", "ꓟM", "ꓠN", "ꓳO", "ꓑP", "ꓣR", "ꓢS", "ꓔT", "ꓴU",
		"ꓦV", "ꓪW", "ꓫX", "ꓬY", "ꓜZ", "ⲟo", "ⲣp", "ⲥc", "ⲭx", "ⲞO", "ⲢP", "ⲤC", "ⲬX", "ⲎH", "ⲘM", "ⲚN", "ⲒI", "ⲔK",
	} {
		r := []rune(p)
		m[r[0]] = r[1]
	}
	return m
}()

// word is a maximal run of letters and marks.
type word struct {
	from, to  int
	count     [allScripts]int // letters by script
	alike     [allScripts]int // number of these that look like Latin letters
	firstRune [allScripts]rune
}

// scanWords flags words in which look-alike letters of another script are mixed with the word's own. A word that consists entirely of
// look-alikes is flagged only if the text contains no genuine word in that script, because the same letters spell ordinary Russian and
// Greek words. In some languages, people commonly replace a letter missing from their keyboard with a borrowed one; if the text never
// uses a letter's twin, that letter is such a habit rather than a disguise.
func scanWords(b *builder, s string) {
	k := &wordScan{s: s, runes: map[rune]int{}}
	for _, r := range s {
		if r >= 0x80 || scriptOf(r) != 0 {
			k.runes[r]++
			k.letters[scriptOf(r)]++
		}
	}
	eachWord(s, k.word)
	greekWords := map[string]bool{}
	for _, m := range k.mixed {
		if m.count[greek] > 0 {
			greekWords[s[m.from:m.to]] = true
		}
	}
	for _, m := range k.mixed {
		if m.count[greek] > 0 && len(greekWords) < leastGreek || k.borrowed(m) {
			continue
		}
		b.flag(Flag{Code: FlagLookAlike, Start: m.from, End: m.to,
			Detail: fmt.Sprintf("“%s” mixes letters that look alike, such as U+%04X", s[m.from:m.to], m.firstRune[foreign(m)])})
	}
	for _, w := range k.whole {
		if sc := foreign(w); !k.real[sc] && k.letters[latin] > 20*k.letters[sc] {
			b.flag(Flag{Code: FlagLookAlike, Start: w.from, End: w.to,
				Detail: fmt.Sprintf("“%s” is written in letters that look Latin, such as U+%04X", s[w.from:w.to], w.firstRune[sc])})
		}
	}
}

// leastGreek is the minimum number of different words with Greek letters in place of Latin ones, because one or two can come from
// formulas that lost their spaces.
const leastGreek = 5

// maxSuspects is the maximum number of suspect words recorded.
const maxSuspects = 10000

// wordScan collects the suspect words of a text.
type wordScan struct {
	s       string
	runes   map[rune]int
	letters [allScripts]int  // by script
	real    [allScripts]bool // scripts with words that Latin letters could not spell
	mixed   []word
	whole   []word // words entirely of look-alikes
}

func (k *wordScan) word(w word) {
	main, scripts := script(0), 0
	for sc := latin; sc < allScripts; sc++ {
		if w.count[sc] > 0 {
			scripts++
			if main == 0 || w.count[sc] > w.count[main] {
				main = sc
			}
		}
	}
	switch {
	case scripts == 1 && main != latin && w.alike[main] < w.count[main]:
		k.real[main] = k.real[main] || w.count[main] >= 2
	case scripts == 1 && main != latin && w.count[main] >= 3:
		if len(k.whole) < maxSuspects {
			k.whole = append(k.whole, w)
		}
	case scripts == 2:
		if other := rarer(w, main); mixedWord(&w, main, other, k.s[w.from:w.to]) && len(k.mixed) < maxSuspects {
			k.mixed = append(k.mixed, w)
		}
	}
}

func rarer(w word, main script) script {
	for sc := latin; sc < allScripts; sc++ {
		if sc != main && w.count[sc] > 0 {
			return sc
		}
	}
	return 0
}

// borrowed reports whether the text never uses the twins of the odd letters of w.
func (k *wordScan) borrowed(w word) bool {
	if k.letters[latin] >= k.letters[foreign(w)] {
		return false // no Latin text lacks a, e, o and c
	}
	for _, r := range k.s[w.from:w.to] {
		if scriptOf(r) != latin {
			continue
		}
		for twin, l := range lookAlikes {
			if l == r && scriptOf(twin) == foreign(w) && k.runes[twin]*20 > k.runes[r] {
				return false
			}
		}
	}
	return true
}

// foreign returns the non-Latin script in w.
func foreign(w word) script {
	for sc := cyrillic; sc < allScripts; sc++ {
		if w.count[sc] > 0 {
			return sc
		}
	}
	return 0
}

// mixedWord reports whether letters of two scripts look like a single word: it has letters of the main script, and every letter of the
// other script has a twin in it. Formulas and names like “λx” or “βcell” contain letters without a twin.
func mixedWord(w *word, main, other script, text string) bool {
	least := 3
	if w.count[cyrillic] > 0 {
		least = 2 // formulas do not use Cyrillic letters
	}
	if w.to-w.from > 200 {
		return false
	}
	if other == rare {
		return w.alike[other] == w.count[other]
	}
	if w.count[main] < least {
		return false
	}
	if main == latin {
		return w.alike[other] == w.count[other] && !mathematical(text)
	}
	if other == latin { // Latin letters in a Cyrillic or Greek word
		for _, r := range text {
			if scriptOf(r) == latin && !hasTwin(r, main) {
				return false
			}
		}
		return !mathematical(text)
	}
	return false
}

// twins contains the Latin letters that have look-alikes in each script.
var twins = func() map[script]map[rune]bool {
	m := map[script]map[rune]bool{cyrillic: {}, greek: {}, armenian: {}, rare: {}, latin: {}}
	for k, v := range lookAlikes {
		m[scriptOf(k)][v] = true
	}
	return m
}()

func hasTwin(r rune, sc script) bool { return twins[sc][r] }

// mathematical reports whether a word in two scripts is more likely a formula: it has capitals, or single letters of both scripts
// alternate. A disguised word is in lower case with at most one capital, or entirely in capitals.
func mathematical(s string) bool {
	upper, lower, changes := 0, 0, 0
	first := true
	var last script
	for _, r := range s {
		sc := scriptOf(r)
		if sc == 0 {
			continue
		}
		switch {
		case unicode.IsUpper(r) && !first:
			upper++
		case unicode.IsLower(r):
			lower++
		}
		if !first && sc != last {
			changes++
		}
		first, last = false, sc
	}
	// Letters at only one end (“xα”, “νcell”) are just as likely a variable with an index.
	return upper > 0 && lower > 0 || changes < 2 && strings.ContainsAny(s, "αβγδεζηθικλμνξπρστυφχψωΑΒΓΔΕΖΗΘΙΚΛΜΝΞΠΡΣΤΥΦΧΨΩ")
}

// eachWord yields every word of s that contains a non-ASCII letter.
func eachWord(s string, use func(word)) {
	w, open, plain := word{}, false, true
	for i, r := range s {
		sc := scriptOf(r)
		if sc == 0 && !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) {
			if open && !plain {
				w.to = i
				use(w)
			}
			open = false
			continue
		}
		if !open {
			w, open, plain = word{from: i}, true, true
		}
		plain = plain && r < 0x80
		if w.count[sc]++; w.firstRune[sc] == 0 {
			w.firstRune[sc] = r
		}
		if lookAlikes[r] != 0 {
			w.alike[sc]++
		}
	}
	if open && !plain {
		w.to = len(s)
		use(w)
	}
}

// kanaTwins maps katakana letters to similar-looking Chinese characters.
var kanaTwins = map[rune]rune{'ロ': '口', 'ニ': '二', 'カ': '力', 'エ': '工', 'ト': '卜', 'ハ': '八', 'タ': '夕', 'チ': '千', 'ヌ': '又', 'オ': '才',
	'ミ': '三', 'ヒ': '匕'}

var hanTwins = func() map[rune]bool {
	m := map[rune]bool{}
	for _, h := range kanaTwins {
		m[h] = true
	}
	return m
}()

// leastTwins is the minimum number of such letters in a text, since fewer can be mere slips.
const leastTwins = 3

// scanTwins flags katakana among the characters of a Chinese text, and Chinese characters inside words of katakana.
func scanTwins(b *builder, s string) {
	if !strings.ContainsFunc(s, func(r rune) bool { return kanaTwins[r] != 0 }) {
		return
	}
	japanese := strings.ContainsFunc(s, func(r rune) bool { return r >= 0x3041 && r <= 0x3096 })
	var at []int
	before, odd, last := ' ', -1, ' '
	for i, r := range s {
		if odd >= 0 && odd < i && amongOthers(japanese, before, r) {
			at = append(at, odd)
		}
		odd = -1
		if !japanese && kanaTwins[r] != 0 || japanese && hanTwins[r] {
			odd, before = i, last
		}
		last = r
	}
	if len(at) < leastTwins {
		return
	}
	for _, i := range at {
		r, n := utf8.DecodeRuneInString(s[i:])
		b.flag(Flag{Code: FlagLookAlike, Start: i, End: i + n, Detail: fmt.Sprintf("“%c” (U+%04X) replaces a letter that looks alike", r, r)})
	}
}

// amongOthers reports whether a letter's neighbours belong to the script that it merely appears to belong to.
func amongOthers(japanese bool, before, after rune) bool {
	if japanese {
		return isKatakana(before) && isKatakana(after)
	}
	return unicode.Is(unicode.Han, before) && unicode.Is(unicode.Han, after)
}

func isKatakana(r rune) bool { return r >= 0x30a1 && r <= 0x30fa || r == 0x30fc }
