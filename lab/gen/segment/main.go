// Command segment writes the tables of package segment. Run it with go generate ./segment.
//
// It creates segment/data/runes.bin.gz, the rune table, from the Unicode data of the Go distribution and golang.org/x/text, and from
// OpenCC's table of traditional and simplified characters (TSCharacters.txt, Apache-2.0). It creates segment/data/weights.bin.gz from the
// Chinese dictionary next to it.
//
// The tables are committed, because fingerprints must not change with a toolchain. Running it again with newer Unicode data creates a new
// table version and thus new schemes.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"log"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"concordat/segment/runetab"
)

//go:embed TSCharacters.txt
var simplified string

// looks maps letters of other scripts to the Latin letters that they look like, separately for upper and lower case. Matching folds both
// sides, so real Greek or Russian text keeps its distinctions (the map is injective within a script and case), while disguised Latin is
// restored. The letters are single letters from Unicode Technical Standard 39, confusables.txt.
var looks = pairs(
	// Cyrillic; the small letters of В К М Н Т follow their capitals, so that case stays consistent.
	"АaВbСcЕeНhІiЈjКkМmОoРpЅsТtУyХxԛqԜwԁdӀlҮy"+
		"аaвbсcеeнhіiјjкkмmоoрpѕsтtуyхxԝwһhүyԚq",
	// Greek
	"ΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧx"+
		"αaιiκkνvοoρpτtυuχx",
	// Armenian, Latin extensions, Cherokee
	"ոnսuօoհhզqցgԼl"+
		"ıiɑaɡgɩiᴀaᴄcᴇeᴊjᴋkᴍmᴏoᴘpᴛtᴜuᴠvᴡwᴢz"+
		"ᎪaᏴbᏟcᎠdᎬeᎻhᎥiᎫjᏦkᏞlᎷmᏢpᎡrᏚsᎢtᏙvᎳwᏃz",
)

func pairs(lists ...string) map[rune]rune {
	m := map[rune]rune{}
	for _, list := range lists {
		rs := []rune(list)
		for i := 0; i < len(rs); i += 2 {
			m[rs[i]] = rs[i+1]
		}
	}
	return m
}

func main() {
	simple := readSimplified()
	t := runetab.New()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xD800 && r <= 0xDFFF {
			continue
		}
		setRune(t, r, simple)
	}
	addCompositions(t, simple)
	var raw bytes.Buffer
	if err := t.Encode(&raw); err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if _, err := z.Write(raw.Bytes()); err != nil {
		log.Fatal(err)
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("../segment/data/runes.bin.gz", out.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
	log.Printf("%d bytes, %d compressed", raw.Len(), out.Len())
	if err := weights("../segment/data/jieba.dict.utf8.gz", "../segment/data/weights.bin.gz"); err != nil {
		log.Fatal(err)
	}
}

func readSimplified() map[rune]rune {
	m := map[rune]rune{}
	sc := bufio.NewScanner(strings.NewReader(simplified))
	for sc.Scan() {
		from, to, ok := strings.Cut(sc.Text(), "\t")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(to, " ")
		f, t := []rune(from), []rune(first)
		if len(f) == 1 && len(t) == 1 {
			m[f[0]] = t[0]
		}
	}
	return m
}

// fold returns the normal form of one rune: compatibility composition, lower case, look-alikes
// mapped to Latin, traditional characters to simplified. A zero in the result is a separator.
func fold(r rune, simple map[rune]rune) []rune {
	var out []rune
	for _, d := range norm.NFKD.String(string(r)) {
		if l, ok := looks[d]; ok {
			d = l
		} else {
			d = lower(d)
		}
		if l, ok := looks[d]; ok {
			d = l
		}
		switch {
		case dropped(d):
		case d == 'ß':
			out = append(out, 's', 's')
		case word(d):
			out = append(out, d)
		default:
			out = append(out, 0)
		}
	}
	composed := []rune(norm.NFC.String(string(out)))
	for i, c := range composed {
		if s, ok := simple[c]; ok {
			composed[i] = s
		}
	}
	return composed
}

func lower(r rune) rune {
	switch r {
	case 'ς':
		return 'σ'
	case 'أ', 'إ', 'آ', 'ٱ':
		return 'ا'
	case 'ى':
		return 'ي'
	}
	return unicode.ToLower(r)
}

func word(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.N) }

// dropped reports whether r vanishes without separating: format characters (zero-width, bidirectional controls, soft hyphen), variation
// selectors, and the optional vowel marks and elongation of Arabic and Hebrew.
func dropped(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x17B4, r == 0x17B5, r == 0x180E:
		return true
	case r == 0x0640, r >= 0x064B && r <= 0x065F, r == 0x0670, r >= 0x06D6 && r <= 0x06DC, r >= 0x06DF && r <= 0x06E8 && r != 0x06E5 &&
		r != 0x06E6:
		return true
	case r >= 0x0591 && r <= 0x05C7 && unicode.Is(unicode.Mn, r):
		return true
	}
	return false
}

func setRune(t *runetab.Table, r rune, simple map[rune]rune) {
	class := classOf(r)
	if class != runetab.Letter && class != runetab.Mark && class != runetab.Digit {
		folded := slices.DeleteFunc(fold(r, simple), func(c rune) bool { return c == 0 })
		if len(folded) == 0 || class != runetab.Other {
			t.Set(r, runetab.Make(class, 0, runetab.ScriptNone, false))
			return
		}
		class = runetab.Letter // a symbol made of letters, for example ℡ or ㎏
	}
	folded := fold(r, simple)
	script := runetab.ScriptNone
	if len(folded) > 0 {
		script = scriptOf(folded[0])
	}
	low := unicode.IsLower(r)
	switch {
	case len(folded) == 0:
		t.Set(r, runetab.Make(runetab.Drop, 0, runetab.ScriptNone, false))
	case len(folded) == 1 && folded[0] == 0:
		t.Set(r, runetab.Make(runetab.Other, 0, runetab.ScriptNone, false))
	case len(folded) == 1:
		t.Set(r, runetab.Make(class, folded[0], script, low))
	default:
		t.Set(r, runetab.Make(runetab.Expand, t.AddExpansion(folded), script, low))
	}
}

func classOf(r rune) runetab.Class {
	switch {
	case dropped(r):
		return runetab.Drop
	case r == '\n', r == 0x0B, r == 0x0C, r == '\r', r == 0x85, r == 0x2028, r == 0x2029:
		return runetab.Newline
	case unicode.IsSpace(r):
		return runetab.Space
	case r == '.', r == '\u2024', r == '\uFE52', r == '\uFF0E':
		return runetab.Dot
	case unicode.Is(unicode.Sentence_Terminal, r):
		return runetab.Terminator
	case strings.ContainsRune(",;:，；：、،؛·—–…⋯﹐﹑﹔﹕", r):
		return runetab.Clause
	case r == '"', r == '\'', unicode.In(r, unicode.Pe, unicode.Pf):
		return runetab.Closer
	case unicode.In(r, unicode.Ps, unicode.Pi):
		return runetab.Opener
	case unicode.In(r, unicode.L):
		return runetab.Letter
	case unicode.In(r, unicode.M):
		return runetab.Mark
	case unicode.In(r, unicode.N):
		return runetab.Digit
	}
	return runetab.Other
}

func scriptOf(r rune) runetab.Script {
	switch {
	case unicode.Is(unicode.Han, r):
		return runetab.Han
	case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 0x30FC || r == 0xFF70:
		return runetab.Syllabic
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan):
		return runetab.Unspaced
	case word(r):
		return runetab.Spaced
	}
	return runetab.ScriptNone
}

// addCompositions lists the compositions of a folded letter and a following mark.
func addCompositions(t *runetab.Table, simple map[rune]rune) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		d := []rune(norm.NFD.String(string(r)))
		if len(d) < 2 || r >= 0xAC00 && r <= 0xD7A3 {
			continue
		}
		mark := d[len(d)-1]
		if !unicode.Is(unicode.M, mark) || dropped(mark) {
			continue
		}
		base := fold([]rune(norm.NFC.String(string(d[:len(d)-1])))[0], simple)
		whole := fold(r, simple)
		if len(base) == 1 && len(whole) == 1 && base[0] != 0 && whole[0] != base[0] {
			t.AddComposition(base[0], mark, whole[0])
		}
	}
}
