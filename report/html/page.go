package html

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"strings"
	"unicode/utf8"
)

// page writes HTML. Everything that comes from outside passes through text or attr, which escape; raw accepts only constants and numbers.
// After the first error, which it keeps, page writes nothing.
type page struct {
	w *bufio.Writer
}

func newPage(w io.Writer) *page { return &page{bufio.NewWriterSize(w, 1<<16)} }

// raw writes this package's own markup.
func (p *page) raw(parts ...string) {
	for _, s := range parts {
		p.w.WriteString(s)
	}
}

// text writes s, escaped for element content and quoted attributes.
func (p *page) text(s string) { p.w.WriteString(escape(s)) }

// attr writes an attribute, preceded by a space.
func (p *page) attr(name, value string) { p.raw(" ", name, `="`, escape(value), `"`) }

// tag writes an element around a text.
func (p *page) tag(name, text string) { p.raw("<", name, ">", escape(text), "</", name, ">") }

// escape makes s inert and visible: markup characters become references; characters that HTML forbids or that reorder the following text
// become U+FFFD.
func escape(s string) string {
	if strings.IndexFunc(s, unsafe) >= 0 {
		s = strings.Map(func(r rune) rune {
			if unsafe(r) {
				return utf8.RuneError
			}
			return r
		}, s)
	}
	return html.EscapeString(s)
}

// unsafe reports whether r is a control character, an unbounded bidirectional control (each text is isolated in its own element instead),
// or a noncharacter.
func unsafe(r rune) bool {
	switch {
	case r == '\t', r == '\n':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
}

// digest returns s's SHA-256 as a Content-Security-Policy source.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
