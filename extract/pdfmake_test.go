package extract_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"concordat/extract"
)

// typeset makes a simple PDF from paragraphs for tests: in Courier, whose letters are all six tenths of their size wide, in justified
// columns, with words divided at line ends, a running header, and page numbers.
type typeset struct {
	columns int
	size    float64
	header  string
	indent  bool // whether first lines are indented; otherwise there is a gap between paragraphs
}

const (
	pageWidth, pageHeight = 612.0, 792.0
	marginSide, marginTop = 54.0, 80.0
	gutter                = 24.0
)

// printed is one line, with its words and whether it is stretched to the column's width.
type printed struct {
	text    string
	stretch bool
	indent  float64
	gap     float64 // space above the line
}

// lines breaks paragraphs into lines of width characters, and divides long words.
func (ty typeset) lines(paragraphs []string, width int) []printed {
	var out []printed
	for _, p := range paragraphs {
		words := strings.Fields(p)
		var line []string
		n := 0
		first := true
		put := func(stretch bool) {
			l := printed{text: strings.Join(line, " "), stretch: stretch}
			if first && ty.indent {
				l.indent = 2 * 0.6 * ty.size
			}
			if first && !ty.indent {
				l.gap = ty.size * 0.8
			}
			out, line, n, first = append(out, l), nil, 0, false
		}
		for i := 0; i < len(words); i++ {
			room := width - n
			if first && ty.indent {
				room -= 2
			}
			w := words[i]
			switch {
			case len(w) <= room:
				line, n = append(line, w), n+len(w)+1
			case room >= 5 && divisible(w, room-1):
				line = append(line, w[:room-1]+"-")
				words[i] = w[room-1:]
				put(true)
				i--
			case len(line) == 0: // the word is longer than a line
				line = append(line, w[:width-3])
				words[i] = w[width-3:]
				put(false)
				i--
			default:
				put(true)
				i--
			}
		}
		if len(line) > 0 {
			put(false)
		}
	}
	return out
}

// divisible allows a division that leaves at least three lower-case letters on each side.
func divisible(w string, at int) bool {
	if at < 3 || len(w)-at < 3 {
		return false
	}
	for _, r := range w {
		if !unicode.IsLower(r) {
			return false
		}
	}
	return true
}

// pdf returns the PDF file.
func (ty typeset) pdf(paragraphs []string) []byte {
	columnWidth := (pageWidth - 2*marginSide - gutter*float64(ty.columns-1)) / float64(ty.columns)
	lines := ty.lines(paragraphs, int(columnWidth/(0.6*ty.size)))
	var pages []string
	for len(lines) > 0 {
		var s strings.Builder
		number := len(pages) + 1
		fmt.Fprintf(&s, "BT /F1 8 Tf 1 0 0 1 %.1f %.1f Tm (%s) Tj ET\n", marginSide, pageHeight-40, ty.header)
		fmt.Fprintf(&s, "BT /F1 8 Tf 1 0 0 1 %.1f 36 Tm (Page %d) Tj ET\n", pageWidth/2-20, number)
		for c := range ty.columns {
			x, y := marginSide+float64(c)*(columnWidth+gutter), pageHeight-marginTop
			for len(lines) > 0 && y > 70 {
				l := lines[0]
				lines = lines[1:]
				if y < pageHeight-marginTop {
					y -= l.gap
				}
				spacing := 0.0
				if k := strings.Count(l.text, " "); l.stretch && k > 0 {
					spacing = (columnWidth - l.indent - float64(len(l.text))*0.6*ty.size) / float64(k)
				}
				fmt.Fprintf(&s, "BT /F1 %.1f Tf %.3f Tw 1 0 0 1 %.2f %.2f Tm (%s) Tj ET\n", ty.size, spacing, x+l.indent, y, escapePDF(l.text))
				y -= ty.size * 1.2
			}
		}
		pages = append(pages, s.String())
	}
	return pdfFile(pages)
}

func escapePDF(s string) string {
	return strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(s)
}

// pdfFile returns a file with the given page contents, which use the font F1.
func pdfFile(pages []string) []byte {
	var buf bytes.Buffer
	var offsets []int
	object := func(body string) {
		offsets = append(offsets, buf.Len())
		fmt.Fprintf(&buf, "%d 0 obj\n%s\nendobj\n", len(offsets), body)
	}
	buf.WriteString("%PDF-1.4\n")
	object("<</Type/Catalog/Pages 2 0 R>>")
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object(fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids, len(pages)))
	object("<</Type/Font/Subtype/Type1/BaseFont/Courier>>")
	for i, p := range pages {
		object(fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 %.0f %.0f]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", pageWidth,
			pageHeight, 5+2*i))
		object(fmt.Sprintf("<</Length %d>>stream\n%sendstream", len(p), p))
	}
	xref := buf.Len()
	fmt.Fprintf(&buf, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&buf, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&buf, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, xref)
	return buf.Bytes()
}

// enginePDF is one PDFium shared by all tests, because compiling it takes several seconds.
var enginePDF *extract.PDF

func engine(t testing.TB) *extract.PDF {
	t.Helper()
	if enginePDF == nil {
		p, err := extract.NewPDF(extract.PDFOptions{})
		if err != nil {
			t.Fatal(err)
		}
		enginePDF = p
	}
	return enginePDF
}
