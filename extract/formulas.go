package extract

import (
	"bytes"
	"slices"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/unicode/norm"
)

// A page displays a formula once but contains it two or three times: as MathML, drawn letter by letter with aria-hidden (KaTeX, MathJax),
// as a picture with its TeX source (MediaWiki), and again as TeX in an annotation, which no browser displays.

// formulas tracks the last formula of a paragraph, as text or as a drawing.
type formulas struct {
	from, to int  // bytes in the paragraph
	math     bool // MathML rather than a drawing
	letters  []rune
}

// isAnnotation reports whether an element contains the source of a formula.
func isAnnotation(name string) bool { return name == "annotation" || name == "annotation-xml" }

// isFormula reports whether an element can contain one of several forms of a formula.
func isFormula(t html.Token) bool {
	if t.DataAtom == atom.Math {
		return true
	}
	for _, a := range t.Attr {
		if a.Key == "aria-hidden" && a.Val == "true" {
			return isInline(t.DataAtom)
		}
	}
	return false
}

// ended removes a formula that starts at byte from of the paragraph, if another form of it precedes it.
func (t *formulas) ended(b *builder, from int, math bool) {
	if from >= len(b.para) {
		return
	}
	letters := formulaLetters(string(b.para[from:]))
	if t.before(b, from) && t.math != math && slices.Equal(letters, t.letters) {
		b.cut(from)
		b.spans.show(t.from)
		return
	}
	*t = formulas{from, len(b.para), math, letters}
}

// pictured reports whether the alternative text of a picture repeats the formula before it.
func (t *formulas) pictured(b *builder, alt string) bool {
	if !t.before(b, len(b.para)) || !slices.Equal(formulaLetters(alt), t.letters) {
		return false
	}
	b.spans.show(t.from)
	return true
}

// before reports whether only blanks separate the formula from byte from of the paragraph.
func (t *formulas) before(b *builder, from int) bool {
	return len(t.letters) > 0 && t.to <= from && len(bytes.TrimSpace(b.para[t.to:from])) == 0
}

// formulaLetters returns a formula's letters and digits sorted by code, since its forms write them in different orders. It leaves out TeX
// commands.
func formulaLetters(s string) []rune {
	var out []rune
	command := false
	for _, r := range norm.NFKC.String(s) {
		switch {
		case r == '\\':
			command = true
			continue
		case command && r < 0x80 && unicode.IsLetter(r):
			continue
		case unicode.IsLetter(r), unicode.IsDigit(r):
			out = append(out, r)
		}
		command = false
	}
	slices.Sort(out)
	return out
}
