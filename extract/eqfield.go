package extract

import (
	"strings"
	"unicode"
)

// The code of an EQ field contains the text it displays (Word's field codes, "EQ"): readings above Chinese and Japanese words, circled
// letters, fractions.

// eqPiece is text displayed by an EQ field, with the reading above it.
type eqPiece struct{ text, reading string }

// maxEQ is the maximum length of an EQ field's code in bytes, and maxEQDepth is the maximum nesting of its groups.
const (
	maxEQ      = 4 << 10
	maxEQDepth = 16
)

// fieldCode collects the code of a field.
type fieldCode struct{ code []byte }

func (f *fieldCode) add(s string) {
	if len(f.code)+len(s) <= maxEQ {
		f.code = append(f.code, s...)
	}
}

// writeEQ writes what the field displays if it is an EQ field, passing paragraph text to write.
func (f *fieldCode) writeEQ(b *builder, write func(string)) {
	for _, p := range eqPieces(string(f.code)) {
		write(p.text)
		if p.reading != "" {
			b.reading(p.text, p.reading)
		}
	}
}

// eqPieces returns what the code of an EQ field displays, or nil if it is not one.
func eqPieces(code string) []eqPiece {
	code = strings.TrimSpace(code)
	if len(code) < 3 || !strings.EqualFold(code[:2], "EQ") || code[2] != ' ' && code[2] != '\\' {
		return nil
	}
	p := &eqParser{s: code[2:]}
	return p.list(0)
}

type eqParser struct {
	s string
	i int
}

// list parses text and elements up to the end, a separator or the closing bracket of the outer element.
func (p *eqParser) list(depth int) []eqPiece {
	var out []eqPiece
	text := func(s string) {
		if n := len(out); n > 0 && out[n-1].reading == "" {
			out[n-1].text += s
		} else if strings.TrimSpace(s) != "" || n > 0 {
			out = append(out, eqPiece{text: s})
		}
	}
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == '\\' && p.i+1 < len(p.s) && p.s[p.i+1] == '*':
			p.format()
		case c == '\\' && p.i+1 < len(p.s) && isTeXLetter(p.s[p.i+1]) && depth < maxEQDepth:
			for _, e := range p.element(depth) {
				if e.reading == "" {
					text(e.text)
				} else {
					out = append(out, e)
				}
			}
		case c == '\\':
			p.i++
			if p.i < len(p.s) {
				text(p.s[p.i : p.i+1])
				p.i++
			}
		case depth > 0 && (c == ')' || c == ',' || c == ';'):
			return out
		default:
			text(p.s[p.i : p.i+1])
			p.i++
		}
	}
	return out
}

// format skips a formatting switch and its word.
func (p *eqParser) format() {
	p.i += 2
	for p.i < len(p.s) && p.s[p.i] == ' ' {
		p.i++
	}
	for quoted := false; p.i < len(p.s) && (quoted || p.s[p.i] != ' ' && p.s[p.i] != '\\'); p.i++ {
		if p.s[p.i] == '"' {
			quoted = !quoted
		}
	}
	for p.i < len(p.s) && p.s[p.i] == ' ' {
		p.i++
	}
}

// element parses switches with their numbers, and bracketed arguments. If letters are stacked, the raised ones are the reading; signs
// that enclose a letter are left out.
func (p *eqParser) element(depth int) []eqPiece {
	from := p.i
	for p.i < len(p.s) && p.s[p.i] != '(' {
		p.i++
	}
	switches := strings.ToLower(p.s[from:p.i])
	raised := strings.Contains(switches, `\s`) && strings.Contains(switches, `\up`)
	if p.i == len(p.s) {
		return nil
	}
	var args [][]eqPiece
	for {
		p.i++ // skips the bracket or a separator
		args = append(args, p.list(depth+1))
		if p.i >= len(p.s) || p.s[p.i] == ')' {
			p.i++
			break
		}
	}
	p.i = min(p.i, len(p.s))
	if raised && depth > 0 {
		return []eqPiece{{reading: joinEQ(args, "")}}
	}
	if !strings.HasPrefix(switches, `\o`) {
		return []eqPiece{{text: joinEQ(args, " ")}}
	}
	one := eqPiece{}
	for _, a := range args {
		for _, x := range a {
			one.reading += x.reading
		}
	}
	var base [][]eqPiece
	for _, a := range args {
		if s := joinEQ([][]eqPiece{a}, ""); strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSymbol(r) && r != '〇' }) >= 0 {
			base = append(base, a)
		}
	}
	one.text = joinEQ(base, "")
	return []eqPiece{one}
}

// joinEQ joins the text of arguments, leaving out an argument that is only a reading.
func joinEQ(args [][]eqPiece, sep string) string {
	var out []string
	for _, a := range args {
		s := ""
		for _, x := range a {
			s += x.text
		}
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, sep)
}
