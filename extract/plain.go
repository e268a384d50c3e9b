package extract

import (
	"strings"
	"unicode"
)

// readText passes plain text through with its line structure, writing line ends as "\n".
func readText(b *builder, data []byte) error {
	s, err := b.decodeText(data)
	if err != nil {
		return err
	}
	b.raw("", strings.TrimRightFunc(strings.TrimLeft(cleanPlain(s), "\n"), unicode.IsSpace))
	return nil
}

// cleanPlain converts line ends to "\n" and drops controls that nothing downstream can display. A form feed ends a page and so a
// paragraph.
func cleanPlain(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return r < 0x20 && r != '\n' && r != '\t' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff
	}) < 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for i, r := range s {
		switch {
		case r == '\r':
			if !strings.HasPrefix(s[i+1:], "\n") {
				out.WriteByte('\n')
			}
		case r == '\f', r == 0x2029:
			out.WriteString("\n\n")
		case r == 0x85, r == 0x2028, r == '\v':
			out.WriteByte('\n')
		case r == 0xfeff && i == 0, r < 0x20 && r != '\n' && r != '\t', r == 0x7f:
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
