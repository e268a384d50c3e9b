package extract

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

var hzEncoding encoding.Encoding = simplifiedchinese.HZGB2312

// singleBytes lists the 8-bit encodings considered by guessEncoding, likelier ones first to break ties.
var singleBytes = []struct {
	name string
	enc  *charmap.Charmap
}{
	{"windows-1252", charmap.Windows1252}, {"windows-1251", charmap.Windows1251}, {"windows-1250", charmap.Windows1250},
	{"windows-1253", charmap.Windows1253}, {"windows-1254", charmap.Windows1254}, {"windows-1255", charmap.Windows1255},
	{"windows-1256", charmap.Windows1256}, {"windows-1257", charmap.Windows1257}, {"windows-874", charmap.Windows874},
	{"iso-8859-2", charmap.ISO8859_2}, {"iso-8859-5", charmap.ISO8859_5}, {"iso-8859-6", charmap.ISO8859_6},
	{"iso-8859-7", charmap.ISO8859_7}, {"iso-8859-8", charmap.ISO8859_8}, {"iso-8859-9", charmap.ISO8859_9},
	{"iso-8859-13", charmap.ISO8859_13}, {"iso-8859-15", charmap.ISO8859_15}, {"iso-8859-16", charmap.ISO8859_16},
	{"koi8-r", charmap.KOI8R}, {"koi8-u", charmap.KOI8U}, {"ibm866", charmap.CodePage866}, {"ibm855", charmap.CodePage855},
	{"x-mac-cyrillic", charmap.MacintoshCyrillic}, {"macintosh", charmap.Macintosh}, {"ibm850", charmap.CodePage850},
	{"ibm852", charmap.CodePage852}, {"ibm437", charmap.CodePage437},
}

// guessEncoding guesses the encoding of bytes without a declaration. Multi-byte encodings are recognised by ICU's method (package
// chardet); if none fits, 8-bit encodings are compared by how well the resulting letter pairs match a language.
func guessEncoding(data []byte) (charset, error) {
	if c, ok := multiByte(data); ok {
		return c, nil
	}
	if c, ok := singleByte(data); ok {
		return c, nil
	}
	return charset{}, &Error{Code: Encoding, Detail: "the text encoding is unknown"}
}

func multiByte(data []byte) (charset, bool) {
	all, err := chardet.NewTextDetector().DetectAll(data[:min(len(data), detectWindow)])
	if err != nil {
		return charset{}, false
	}
	best := all[0].Confidence
	for _, r := range all {
		if r.Confidence < best {
			return charset{}, false
		}
		switch r.Charset {
		case "Shift_JIS", "GB-18030", "EUC-JP", "EUC-KR", "Big5", "ISO-2022-JP":
			name := strings.ToLower(strings.Replace(r.Charset, "GB-", "GB", 1))
			if c, ok := byName(name); ok && c.fits(data) {
				return c, true
			}
		}
	}
	return charset{}, false
}

// lettersFile has one line per language, with its name and then letter pairs, each followed by a letter for the pair's frequency
// (letters_gen.go).
//
//go:embed letters.txt
var lettersFile string

// language contains the frequencies of one language's letter pairs.
type language struct {
	name  string
	pairs map[[2]rune]float64 // bits of surprise
	knows map[rune]bool       // letters that occur in its pairs
}

var languages = sync.OnceValue(func() []language {
	var all []language
	for line := range strings.Lines(lettersFile) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		l := language{name, map[[2]rune]float64{}, map[rune]bool{}}
		r := []rune(rest)
		for i := 0; i+2 < len(r); i += 3 {
			l.pairs[[2]rune{spaceFor(r[i]), spaceFor(r[i+1])}] = float64(r[i+2]-'a') + 1
			l.knows[r[i]], l.knows[r[i+1]] = true, true
		}
		all = append(all, l)
	}
	return all
})

func spaceFor(r rune) rune {
	if r == '_' {
		return ' '
	}
	return r
}

// Bits of surprise for pairs unknown to the model.
const (
	unseenPair   = 13.0 // two letters never adjacent in the language's sample
	unseenLetter = 20.0 // a letter foreign to the language
	unseenSymbol = 14.0 // a sign that is rare in text
	commonSign   = 9.0  // quotation marks, dashes and the like
	wrongCase    = 6.0  // added for a capital after a lower-case letter
	unlike       = 12.0 // per pair; above this, the result is not language
	rareEncoding = 30.0 // added for the whole text if the encoding is from DOS or the old Macintosh
)

// bytePairs counts pairs of adjacent bytes in which at least one is not ASCII.
func bytePairs(data []byte) map[[2]byte]int {
	pairs := map[[2]byte]int{}
	prev := byte(' ')
	for _, c := range data[:min(len(data), detectWindow)] {
		if prev >= 0x80 || c >= 0x80 {
			pairs[[2]byte{prev, c}]++
		}
		prev = c
	}
	return pairs
}

func singleByte(data []byte) (charset, bool) {
	pairs := bytePairs(data)
	high, letters := 0, 0
	for _, c := range data[:min(len(data), detectWindow)] {
		if c >= 0x80 {
			high++
		} else if c|0x20 >= 'a' && c|0x20 <= 'z' {
			letters++
		}
	}
	latin := high*50 < letters // in text of another script, more than 2 % of the letters belong to that script
	best, at := 0.0, -1
	for i, s := range singleBytes {
		cost, ok := readingCost(pairs, s.enc)
		if strings.HasPrefix(s.name, "ibm") || strings.Contains(s.name, "mac") || latin && !unicode.Is(unicode.Latin, s.enc.DecodeByte(0xe4)) {
			cost += rareEncoding
		}
		if ok && (at < 0 || cost < best-1e-9) {
			best, at = cost, i
		}
	}
	total := 0
	for _, n := range pairs {
		total += n
	}
	// A Latin text in an unknown language has few non-ASCII bytes; if there are many and they match no language, the encoding is unknown.
	if at < 0 || best > unlike*float64(max(total, 20)) && high*4 > letters {
		return charset{}, false
	}
	return charset{name: singleBytes[at].name, enc: singleBytes[at].enc}, true
}

// readingCost returns the minimum surprise, in bits, over all languages, of the pairs decoded as c. It fails if some bytes in the pairs
// are undefined in c.
func readingCost(pairs map[[2]byte]int, c eightBit) (float64, bool) {
	type pair struct {
		key [2]rune
		n   float64
	}
	fixed := 0.0 // the part of the cost common to all languages
	var letters []pair
	undefined, total := 0, 0
	for p, n := range pairs {
		a, b := c.DecodeByte(p[0]), c.DecodeByte(p[1])
		total += n
		if a == utf8.RuneError || b == utf8.RuneError {
			undefined += n
			fixed += 3 * unseenSymbol * float64(n)
			continue
		}
		if unicode.IsLower(a) && unicode.IsUpper(b) {
			fixed += wrongCase * float64(n)
		}
		x, xCost := pairRune(a)
		y, yCost := pairRune(b)
		fixed += (xCost + yCost) * float64(n)
		if x != ' ' && x >= 0x80 || y != ' ' && y >= 0x80 {
			letters = append(letters, pair{[2]rune{x, y}, float64(n)})
		}
	}
	if undefined*100 > total {
		return 0, false
	}
	best := -1.0
	for _, l := range languages() {
		cost := fixed
		for _, p := range letters {
			cost += l.cost(p.key) * p.n
			if best >= 0 && cost > best {
				break
			}
		}
		if best < 0 || cost < best {
			best = cost
		}
	}
	return best, true
}

func (l *language) cost(pair [2]rune) float64 {
	if bits, ok := l.pairs[pair]; ok {
		return bits
	}
	if pair[0] != ' ' && !l.knows[pair[0]] || pair[1] != ' ' && !l.knows[pair[1]] {
		return unseenLetter
	}
	return unseenPair
}

// pairRune returns r in the model's form: a lower-case letter or, for every sign, a space. It also returns the cost of a sign.
func pairRune(r rune) (rune, float64) {
	switch {
	case unicode.IsLetter(r), unicode.IsMark(r):
		return unicode.ToLower(r), 0
	case r < 0x80:
		return ' ', 0
	case strings.ContainsRune("\u00a0“”„‘’‚«»‹›–—…°§©®™€£¥•·№", r):
		return ' ', commonSign
	}
	return ' ', unseenSymbol
}
