package extract

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// pseudo is a pseudo-element that a style sheet inserts text into (CSS Generated Content Module Level 3, section 1).
type pseudo int8

const (
	noPseudo pseudo = iota
	pseudoBefore
	pseudoAfter
)

// cutPseudo removes the pseudo-element from the end of a selector.
func cutPseudo(selector string) (string, pseudo) {
	for _, p := range []struct {
		suffix string
		of     pseudo
	}{{"::before", pseudoBefore}, {":before", pseudoBefore}, {"::after", pseudoAfter}, {":after", pseudoAfter}} {
		if n := len(selector) - len(p.suffix); n >= 0 && strings.EqualFold(selector[n:], p.suffix) {
			if selector = selector[:n]; strings.TrimSpace(selector) == "" || strings.HasSuffix(selector, " ") {
				selector += "*"
			}
			return selector, p.of
		}
	}
	return selector, noPseudo
}

// generated returns the words that the sheet inserts before or after the content of the innermost open element. Signs or numbers alone
// are not words.
func (s *styleSheet) generated(open []*html.Node, at pseudo) string {
	if s == nil || !s.writes {
		return ""
	}
	value := ""
	for _, important := range []bool{false, true} {
		for _, d := range s.settingsOf(open, at) {
			if d.name == "content" && d.important == important {
				value = d.value
			}
		}
	}
	if value == "" {
		return ""
	}
	text := contentText(value, open[len(open)-1])
	if strings.IndexFunc(text, unicode.IsLetter) < 0 {
		return ""
	}
	return text
}

// contentText returns the text displayed for a value of the content property: its strings, and the attributes it names.
func contentText(value string, n *html.Node) string {
	var b strings.Builder
	lexer := css.NewLexer(parse.NewInputString(value))
	for inAttr := false; ; {
		kind, data := lexer.Next()
		switch kind {
		case css.ErrorToken:
			return b.String()
		case css.StringToken:
			b.WriteString(cssString(string(data)))
		case css.FunctionToken:
			inAttr = strings.EqualFold(string(data), "attr(")
		case css.RightParenthesisToken:
			inAttr = false
		case css.IdentToken:
			if !inAttr {
				continue
			}
			for _, a := range n.Attr {
				if strings.EqualFold(a.Key, string(data)) {
					b.WriteString(a.Val)
				}
			}
			inAttr = false
		}
	}
}

// cssString returns the text of a quoted string (CSS Syntax Module Level 3, section 4.3.5).
func cssString(s string) string {
	if len(s) < 2 {
		return ""
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		n := 0
		for n < 6 && i+1+n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i+1+n]) >= 0 {
			n++
		}
		if n == 0 {
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		}
		code, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
		if err == nil && code > 0 {
			b.WriteRune(rune(code))
		}
		if i += n; i+1 < len(s) && s[i+1] == ' ' {
			i++
		}
	}
	return b.String()
}
