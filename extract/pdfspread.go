package extract

import (
	"sort"
	"strings"
	"unicode"
)

// A line with spaced-out letters has at least this many characters, followed by a blank in four of five places.
const (
	spreadLeast = 8
	spreadShare = 0.8
	wordGap     = 1.5 // a gap between words, as a multiple of the gap between letters
)

// isSpread reports whether a line's letters are spaced out, by blanks in the file or by their distance on the page.
func isSpread(chars []pdfChar) bool {
	solid, alone := 0, 0
	for i, c := range chars {
		if c.r <= ' ' {
			continue
		}
		solid++
		if i+1 == len(chars) || chars[i+1].r <= ' ' {
			alone++
		}
	}
	return solid >= spreadLeast && float64(alone) >= spreadShare*float64(solid)
}

// spreadText writes such a line with two blanks wherever a gap is wider than a gap between letters, since wide gaps are the only trace of
// word boundaries.
func spreadText(chars []pdfChar) string {
	var gaps []float64
	var solid []pdfChar
	for _, c := range chars {
		if c.r > ' ' && c.right > c.left {
			if n := len(solid); n > 0 {
				gaps = append(gaps, c.left-solid[n-1].right)
			}
			solid = append(solid, c)
		}
	}
	if len(gaps) == 0 {
		return ""
	}
	sorted := append([]float64(nil), gaps...)
	sort.Float64s(sorted)
	usual := sorted[len(sorted)/3]
	var out strings.Builder
	for i, c := range solid {
		if i > 0 {
			out.WriteByte(' ')
			if gaps[i-1] > wordGap*usual {
				out.WriteByte(' ')
			}
		}
		// Two letters that share a glyph were typeset as one.
		for k, r := range []rune(splitLigatures(string(c.r))) {
			if k > 0 && unicode.IsLetter(r) {
				out.WriteByte(' ')
			}
			out.WriteRune(r)
		}
	}
	return out.String()
}
