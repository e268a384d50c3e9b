package report

import (
	"bufio"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A CSVWriter writes rows in which no cell becomes a formula, whatever separator the spreadsheet program uses; a German or French
// program, for example, splits at semicolons and might break up a single field. It quotes every field and protects each with Cell. Lines
// end in CR and LF (RFC 4180). The first error is kept.
type CSVWriter struct {
	w   *bufio.Writer
	err error
}

// NewCSV returns a CSVWriter with the names of the columns as its first row.
func NewCSV(w io.Writer, columns ...string) *CSVWriter {
	c := &CSVWriter{w: bufio.NewWriter(w)}
	c.Row(columns...)
	return c
}

// fieldText escapes a cell for use between quotes.
var fieldText = strings.NewReplacer(`"`, `""`, "\n", "\r\n")

// Row writes one row.
func (c *CSVWriter) Row(cells ...string) {
	for i, s := range cells {
		if i > 0 {
			c.write(",")
		}
		c.write(`"`, fieldText.Replace(Cell(s)), `"`)
	}
	c.write("\r\n")
}

func (c *CSVWriter) write(all ...string) {
	for _, s := range all {
		if c.err == nil {
			_, c.err = c.w.WriteString(s)
		}
	}
}

// End flushes the buffer and returns the first error.
func (c *CSVWriter) End() error {
	if c.err == nil {
		c.err = c.w.Flush()
	}
	return c.err
}

const (
	// formulaStarts are the characters that begin a formula or its argument in some spreadsheet program; the full-width forms are folded
	// to the plain ones by programs configured for Japanese or Chinese.
	formulaStarts = "=+-@＝＋－＠"
	// cellEnds are characters at which a spreadsheet program might start another cell in the middle of a field. They are the separators
	// of some locales and settings, and the line break, since a program with a different separator does not see that the field is quoted.
	// Commas are excluded, because a program that splits at commas respects the quotes.
	cellEnds = ";|\t\n\u2028\u2029"
	// cellSpace is the white space that some programs strip before checking for a formula, and the quote that begins a cell.
	cellSpace = " \n\t\u00a0\u3000\ufeff\""
)

// Cell returns s in a form that every spreadsheet program treats as plain text (OWASP, CSV injection). It puts an apostrophe before a
// formula at the start of s or after a character where another cell might start. It ignores white space before a formula and removes
// control characters.
func Cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	var b strings.Builder
	if strings.HasPrefix(s, "\t") || beginsFormula(s) {
		b.WriteByte('\'')
	}
	for {
		i := strings.IndexAny(s, cellEnds)
		if i < 0 {
			break
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		b.WriteString(s[:i+n])
		if s = s[i+n:]; beginsFormula(s) {
			b.WriteByte('\'')
		}
	}
	b.WriteString(s)
	return b.String()
}

// beginsFormula reports whether a program that strips white space could take s for a formula.
func beginsFormula(s string) bool {
	return strings.IndexAny(strings.TrimLeft(s, cellSpace), formulaStarts) == 0
}
