package extract

import (
	"bytes"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
)

// A PDF can draw one thing and claim to mean another: by ActualText, which replaces what a stretch draws when it is copied, and by a
// font's ToUnicode, which defines the meaning of its codes. Both have legitimate uses, for ligatures and fonts without names. If they
// turn drawn letters into others, this package reads what is drawn.

// saidDetail is the detail of the flag.
const saidDetail = "the stored letters differ from those drawn; the drawn letters are compared"

// otherWords is the maximum share of a page's three-letter groups that can differ between its stated text and the drawn text.
const otherWords = 0.05

// leastOther is the minimum number of letter groups from which to draw conclusions.
const leastOther = 20

// undoActualText removes the ActualText of a page's objects and reports whether there was any.
func (f *pdfium) undoActualText(page uint64) bool {
	const name = "ActualText"
	key := f.malloc(len(name) + 1)
	f.write(key, append([]byte(name), 0))
	defer f.call("free", uint64(key))
	found := false
	n := min(f.integer("FPDFPage_CountObjects", page), maxObjects)
	for i := range max(n, 0) {
		o := f.call("FPDFPage_GetObject", page, uint64(i))
		if f.integer("FPDFPageObj_GetType", o) != pdfObjectText {
			continue
		}
		for k := range max(f.integer("FPDFPageObj_CountMarks", o), 0) {
			mark := f.call("FPDFPageObj_GetMark", o, uint64(k))
			if mark != 0 && f.integer("FPDFPageObjMark_GetParamValueType", mark, uint64(key)) != 0 {
				found = f.integer("FPDFPageObjMark_RemoveParam", o, mark, uint64(key)) != 0 || found
			}
		}
	}
	return found
}

// drawnWords rereads the page without ActualText if that differs from what is drawn; otherwise, it returns nil.
func (f *pdfium) drawnWords(page uint64, said []pdfChar, g geometry, ground *pdfGround) []pdfChar {
	if !f.undoActualText(page) {
		return nil
	}
	text := f.call("FPDFText_LoadPage", page)
	if text == 0 {
		return nil
	}
	defer f.call("FPDFText_ClosePage", text)
	drawn := f.pageChars(text, g, ground)
	for _, c := range drawn {
		if c.bad || unicode.Is(unicode.Co, c.r) {
			return nil // the codes have no other meaning
		}
	}
	if !differ(folded(said), folded(drawn)) {
		return nil
	}
	return drawn
}

// differ reports whether two folded readings of a page differ in their words.
func differ(a, b string) bool {
	left, all := map[string]int{}, 0
	for _, t := range threes(a) {
		left[t]++
		all++
	}
	other, allB := 0, 0
	for _, t := range threes(b) {
		allB++
		if left[t] > 0 {
			left[t]--
		} else {
			other++
		}
	}
	return other >= leastOther && float64(other) > otherWords*float64(max(all, allB))
}

// threes returns the groups of three letters on a page.
func threes(folded string) []string {
	letters := []rune(folded)
	var out []string
	for i := 0; i+3 <= len(letters); i++ {
		out = append(out, string(letters[i:i+3]))
	}
	return out
}

// folded returns the letters of a page as folded by Fold.
func folded(chars []pdfChar) string {
	var out strings.Builder
	for _, c := range chars {
		if c.r > 0 {
			foldRune(&out, c.r)
		}
	}
	return out.String()
}

// Fonts with an encoding defined by the format need no ToUnicode; a table that gives their letters other meanings is false.
var (
	pdfToUnicode   = regexp.MustCompile(`/ToUnicode\s+(\d+)\s+\d+\s+R`)
	pdfEncoding    = regexp.MustCompile(`/(WinAnsi|MacRoman|Standard)Encoding\b`)
	pdfEncodingRef = regexp.MustCompile(`/Encoding\s+(\d+)\s+\d+\s+R`)
	pdfStandard    = regexp.MustCompile(`/BaseFont\s*/(Helvetica|Times|Courier)[A-Za-z,-]*[\s/>]`)
	pdfDifferences = regexp.MustCompile(`/Differences\s*\[([^\]]*)\]`)
	pdfDifference  = regexp.MustCompile(`\d+|/[^\s/\]]+`)
	cmapPair       = regexp.MustCompile(`<([0-9A-Fa-f]{2})>\s*<([0-9A-Fa-f]{4})>`)
	cmapRange      = regexp.MustCompile(`<([0-9A-Fa-f]{2})>\s*<([0-9A-Fa-f]{2})>\s*<([0-9A-Fa-f]{4})>`)
)

// falseMappings returns the file without the ToUnicode tables that map letters of a defined encoding to other letters, or nil if there
// are none.
func (p *pdfObjects) falseMappings() []byte {
	var out []byte
	change := func() []byte {
		if out == nil {
			out = bytes.Clone(p.data)
		}
		return out
	}
	for at, font := range p.tables() {
		if _, lies := p.liesAbout(font); lies {
			copy(change()[at:], "/ToUnicodX")
		}
	}
	for _, object := range p.packedObjects() {
		if bytes.Contains(object, []byte("/ToUnicode")) {
			if table, lies := p.liesAbout(object); lies { // its font cannot be changed in place
				if from, to := p.payload(table); from < to {
					copy(change()[from:to], bytes.Repeat([]byte(" "), to-from))
				}
			}
		}
	}
	return out
}

// tables returns the objects outside streams that name a ToUnicode table, with the positions of those names.
func (p *pdfObjects) tables() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for from := 0; ; {
			at := bytes.Index(p.data[from:], []byte("/ToUnicode"))
			if at < 0 {
				return
			}
			at += from
			from = at + len("/ToUnicode")
			start, end := bytes.LastIndex(p.data[:at], []byte(" obj")), bytes.Index(p.data[at:], []byte("endobj"))
			if start < 0 || end < 0 || at-start > maxPDFObject || end > maxPDFObject {
				p.cut = true
				continue
			}
			if !yield(at, p.data[start:at+end]) {
				return
			}
		}
	}
}

// liesAbout reports whether a font's ToUnicode table contradicts the letters of its encoding, and where the table is.
func (p *pdfObjects) liesAbout(font []byte) (table string, lies bool) {
	m := pdfToUnicode.FindSubmatch(font)
	if m == nil || !bytes.Contains(font, []byte("/Font")) || bytes.Contains(font, []byte("/Type0")) || bytes.Contains(font, []byte("/Type3")) {
		return "", false // their codes have no fixed meaning
	}
	encoding := font
	if r := pdfEncodingRef.FindSubmatch(font); r != nil {
		encoding = p.object(string(r[1]))
	}
	letters := map[byte]rune{}
	if e := pdfEncoding.FindSubmatch(encoding); e != nil || pdfStandard.Match(font) {
		page := charmap.Windows1252
		if e != nil && string(e[1]) == "MacRoman" {
			page = charmap.Macintosh
		}
		for c := range 256 {
			letters[byte(c)] = page.DecodeByte(byte(c))
		}
	}
	if d := pdfDifferences.FindSubmatch(encoding); d != nil {
		code := 0
		for _, item := range pdfDifference.FindAllString(string(d[1]), -1) {
			if item[0] != '/' {
				code, _ = strconv.Atoi(item) // digits
				continue
			}
			delete(letters, byte(code)) // a name that does not identify its letter
			if name := item[1:]; len(name) == 1 && unicode.IsLetter(rune(name[0])) {
				letters[byte(code)] = rune(name[0])
			}
			code++
		}
	}
	if len(letters) == 0 {
		return "", false
	}
	table = string(m[1])
	return table, contradicts(p.meanings(table), letters)
}

// contradicts reports whether a ToUnicode table gives the codes of letters the meaning of other letters.
func contradicts(table []byte, letters map[byte]rune) bool {
	wrong, right := 0, 0
	check := func(code byte, meaning rune) {
		letter := letters[code]
		switch {
		case !unicode.IsLetter(letter) || !unicode.IsLetter(meaning):
		case strings.EqualFold(Fold(string(letter)), Fold(string(meaning))):
			right++
		default:
			wrong++
		}
	}
	for _, m := range cmapRange.FindAllSubmatch(table, -1) {
		a, b, to := hexNumber(m[1]), hexNumber(m[2]), hexNumber(m[3])
		for c := a; c <= b; c++ {
			check(byte(c), rune(to+c-a))
		}
	}
	for _, m := range cmapPair.FindAllSubmatch(cmapRange.ReplaceAll(table, nil), -1) {
		check(byte(hexNumber(m[1])), rune(hexNumber(m[2])))
	}
	return wrong >= leastFalse && wrong*20 > right
}

// hexNumber parses up to four digits, which must be valid.
func hexNumber(digits []byte) int {
	n, _ := strconv.ParseInt(string(digits), 16, 32)
	return int(n)
}
