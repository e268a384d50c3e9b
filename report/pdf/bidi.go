package pdf

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// Right-to-left text is laid out by the parts of the Unicode Bidirectional Algorithm (UAX #9) that apply to a line without explicit
// controls. Explicit controls are displayed as code points and have no effect. Arabic letters are drawn with Unicode's presentation
// forms, which fonts contain as separate characters. Programs that extract the text find these forms, which are compatible with the
// letters (NFKC).

// turned reports whether r belongs to a right-to-left script that is laid out here.
func turned(r rune) bool { return unicode.In(r, unicode.Arabic, unicode.Hebrew) && !unicode.IsDigit(r) }

// forms holds the shapes of an Arabic letter: isolated, final, initial and medial. Letters that join only to the preceding one have two.
type forms [4]rune

// arabic maps letters to their shapes. The presentation forms follow the order of forms, letter by letter (The Unicode Standard, 9.2,
// tables of Arabic Presentation Forms A and B).
var arabic = sync.OnceValue(func() map[rune]forms {
	out := map[rune]forms{0x640: {0x640, 0x640, 0x640, 0x640}} // tatweel, which joins on both sides
	for _, block := range [][2]rune{{0xfe80, 0xfef4}, {0xfb50, 0xfbb1}, {0xfbd3, 0xfbe7}, {0xfbfc, 0xfbff}} {
		for r := block[0]; r <= block[1]; {
			base, _ := utf8.DecodeRuneInString(norm.NFKC.String(string(r)))
			var f forms
			n := 0
			for ; n < 4 && r <= block[1]; n++ {
				if b, _ := utf8.DecodeRuneInString(norm.NFKC.String(string(r))); b != base {
					break
				}
				f[n] = r
				r++
			}
			if _, known := out[base]; !known {
				out[base] = f
			}
		}
	}
	return out
})

// lamAlef maps each letter that forms a ligature with lam to the isolated form of the ligature; the joined form is the next code point.
var lamAlef = map[rune]rune{0x622: 0xfef5, 0x623: 0xfef7, 0x625: 0xfef9, 0x627: 0xfefb}

const lam = 0x644

// shape replaces Arabic letters with their contextual forms. A lam and a following alef become one piece.
func (d *doc) shape(ps []piece) []piece {
	if !slices.ContainsFunc(ps, func(p piece) bool { return p.turned }) {
		return ps
	}
	table := arabic()
	letter := func(i int) (rune, forms) {
		if i < 0 || i >= len(ps) || ps[i].escape || ps[i].newRow {
			return 0, forms{}
		}
		r, _ := utf8.DecodeRuneInString(ps[i].raw)
		return r, table[r]
	}
	var out []piece
	joined := false // whether the previous letter joins to this one
	for i := 0; i < len(ps); i++ {
		p := ps[i]
		r, f := letter(i)
		next, g := letter(i + 1)
		if ligature := lamAlef[next]; r == lam && ligature != 0 && ps[i+1].style == p.style && len(p.raw) == utf8.RuneLen(r) {
			if joined {
				ligature++
			}
			p.raw += ps[i+1].raw
			d.reform(&p, ligature, ps[i+1].raw[utf8.RuneLen(next):])
			out, joined = append(out, p), false
			i++
			continue
		}
		onward := f[2] != 0 && g[1] != 0
		if f[0] != 0 {
			at := 0
			if joined {
				at = 1
			}
			if onward {
				at += 2
			}
			d.reform(&p, f[at], p.raw[utf8.RuneLen(r):])
		}
		out, joined = append(out, p), onward
	}
	return out
}

// reform draws the piece as form, with its marks, if any font contains that form.
func (d *doc) reform(p *piece, form rune, marks string) {
	for _, f := range d.faces {
		if w, ok := f.width(form); ok && f == p.face {
			p.text, p.width = string(form)+marks, w*p.style.size/1000
			for _, m := range marks {
				if w, ok := f.width(m); ok {
					p.width += w * p.style.size / 1000
				}
			}
			return
		}
	}
}

// level sets the embedding levels of the pieces of a line in a paragraph with base level 0 or 1 (UAX #9, rules W4, W7, N1, N2, I1, I2 and
// L1 for a line of letters, digits and neutrals).
func level(line []piece, base int) {
	const neutral, number = -1, 2
	class := make([]int, len(line)) // 0 for left to right, 1 for right to left
	strong := base
	for i, p := range line {
		switch {
		case p.turned:
			class[i], strong = 1, 1
		case p.digit && strong == 1:
			class[i] = number
		case p.digit || p.letter:
			class[i], strong = 0, map[bool]int{true: 0, false: strong}[p.letter]
		default:
			class[i] = neutral
			if i > 0 && class[i-1] == number && i+1 < len(line) && line[i+1].digit && within(p.raw, line[i+1].raw) {
				class[i] = number
			}
		}
	}
	side := func(i int) int { // a number inside right-to-left text counts as right-to-left
		switch {
		case i < 0 || i >= len(line):
			return base
		case class[i] == number:
			return 1
		}
		return class[i]
	}
	for i := 0; i < len(line); {
		j := i
		for j < len(line) && class[j] == neutral {
			j++
		}
		if j == i {
			i++
			continue
		}
		to := base
		if a := side(i - 1); a == side(j) {
			to = a
		}
		if j == len(line) {
			to = base
		}
		for ; i < j; i++ {
			class[i] = to
		}
	}
	for i := range line {
		switch {
		case class[i] == number:
			line[i].level = 2
		case class[i] == 1:
			line[i].level = 1
		default:
			line[i].level = 2 * base
		}
	}
}

// within reports whether a mark belongs to the number that continues after it (rule W4): a separator always does, and a sign only between
// European digits.
func within(mark, digit string) bool {
	return strings.Contains(".,:/\u00a0", mark) || strings.Contains("+-", mark) && digit[0] < utf8.RuneSelf
}

// direction returns the base level of a paragraph. For quoted wording, it is the level of the first strong letter (rule P2); the report's
// own text runs from left to right.
func direction(ps []piece) int {
	if len(ps) == 0 || ps[0].style == nil || !ps[0].style.wording {
		return 0
	}
	for _, p := range ps {
		switch {
		case p.newRow:
			return 0
		case p.turned:
			return 1
		case p.letter:
			return 0
		}
	}
	return 0
}

// order returns the visual order of a line's pieces, from left to right (rule L2).
func order(line []piece) []int {
	out := make([]int, len(line))
	most := 0
	for i := range line {
		out[i] = i
		most = max(most, line[i].level)
	}
	for l := most; l > 0; l-- {
		for i := 0; i < len(out); {
			j := i
			for j < len(out) && line[out[j]].level >= l {
				j++
			}
			slices.Reverse(out[i:j])
			i = max(j, i+1)
		}
	}
	return out
}

// mirrored returns the mirror image of a bracket in right-to-left text (rule L4).
func mirrored(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if p, _ := bidi.LookupRune(r); p.IsBracket() {
		return bidi.ReverseString(s[:n]) + s[n:]
	}
	if i := strings.IndexRune("<>«»‹›", r); i >= 0 {
		return strings.NewReplacer("<", ">", ">", "<", "«", "»", "»", "«", "‹", "›", "›", "‹").Replace(s)
	}
	return s
}

// turn draws a line containing right-to-left text. Pieces are drawn in reading order, each at its visual position.
func (d *doc) turn(line []piece, x, y, h float64) {
	base := y + h*0.74
	at := make([]float64, len(line))
	for _, i := range order(line) {
		at[i] = x
		x += line[i].width
	}
	for i := 0; i < len(line); {
		p := line[i]
		if p.newRow {
			i++
			continue
		}
		j := i + 1
		for !p.escape && j < len(line) && !line[j].newRow && !line[j].escape && line[j].style == p.style && line[j].face == p.face &&
			line[j].level == p.level {
			j++
		}
		left, w, text := at[i], 0.0, ""
		for _, q := range line[i:j] {
			w += q.width
			if p.level%2 == 0 {
				text += q.text
			} else {
				text = mirrored(q.text) + text
			}
		}
		if p.level%2 == 1 {
			left = at[j-1]
		}
		d.segment(p, text, left, y, w, h, base)
		i = j
	}
}
