package extract

import (
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// docxFields separates a field's code from its result (ECMA-376 part 1, section 17.16): the code lies between the begin and separator
// marks and is never visible, whatever elements it consists of.
type docxFields struct {
	inCode  []bool       // for each open field
	codes   []*fieldCode // for each open field; nil if text followed its code
	code    strings.Builder
	ended   *fieldCode // text of the last field that ended, if no text followed its code
	unseen  string     // text of the last codes that ended
	choices []string   // choices of a drop-down field
	chosen  int
}

// mark processes a field mark, and returns the text of a drop-down field that ends there.
func (f *docxFields) mark(name string, a attrs) string {
	switch name {
	case "w:ddList":
		f.choices, f.chosen = nil, 0
	case "w:result":
		f.chosen, _ = strconv.Atoi(a.get("val")) // 0 if it is damaged
	case "w:listEntry":
		if len(f.choices) < 1000 {
			f.choices = append(f.choices, a.get("val"))
		}
	case "w:fldChar":
		n := len(f.inCode)
		switch a.get("fldCharType") {
		case "begin":
			f.inCode = append(f.inCode, true)
			f.codes = append(f.codes, &fieldCode{})
		case "separate":
			if n > 0 {
				f.inCode[n-1] = false
			}
		case "end":
			if n > 0 {
				f.ended = f.codes[n-1]
				f.inCode, f.codes = f.inCode[:n-1], f.codes[:n-1]
			}
			if !f.inside() {
				f.unseen = f.code.String()
				f.code.Reset()
			}
			if c := f.choices; f.chosen >= 0 && f.chosen < len(c) {
				f.choices = nil
				return c[f.chosen]
			}
		}
	}
	return ""
}

// instruction reads part of the innermost field's code.
func (f *docxFields) instruction(s string) {
	if n := len(f.codes); n > 0 && f.codes[n-1] != nil && f.inCode[n-1] {
		f.codes[n-1].add(s)
	}
}

// inside reports whether the following text is part of a code.
func (f *docxFields) inside() bool {
	for _, code := range f.inCode {
		if code {
			return true
		}
	}
	return false
}

// maxFieldCode is the maximum amount of code text kept, in bytes.
const maxFieldCode = 1 << 20

// hide reports whether s is part of a code, and therefore invisible.
func (f *docxFields) hide(s string) bool {
	if !f.inside() {
		clear(f.codes)
		return false
	}
	if f.code.Len()+len(s) <= maxFieldCode {
		f.code.WriteString(s)
	}
	return true
}

// unclosed returns the text after the start of a field without an end; this text can be the whole document.
func (f *docxFields) unclosed() string {
	if !f.inside() {
		return ""
	}
	return f.code.String()
}

// symbolGreek lists the characters of the Symbol font for codes from 0x41 (Adobe, Symbol encoding).
const symbolGreek = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_ αβχδεφγηιϕκλμνοπθρστυϖωξψζ"

// symbolRune returns the character displayed for a code of a font, or "" for a picture. Codes from U+F000 belong to the font's own table;
// in a text font, they are its 8-bit characters.
func symbolRune(font string, code rune) string {
	if code >= 0xf000 && code <= 0xf0ff {
		code -= 0xf000
	}
	name := strings.ToLower(font)
	switch {
	case strings.HasPrefix(name, "wingdings"), strings.HasPrefix(name, "webdings"), strings.Contains(name, "dingbats"), name == "marlett":
		return ""
	case strings.HasPrefix(name, "symbol"):
		if greek := []rune(symbolGreek); code >= 'A' && int(code-'A') < len(greek) {
			return string(greek[code-'A'])
		}
		if code >= 0x80 && code <= 0xff {
			return ""
		}
	}
	if code >= 0x80 && code <= 0xff {
		code = charmap.Windows1252.DecodeByte(byte(code))
	}
	return string(code)
}
