package extract

import (
	"cmp"
	"math"
	"slices"
	"unicode"
)

// isRightToLeft reports whether r is a letter of a right-to-left script.
func isRightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff && unicode.IsLetter(r) || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc
}

// mostlyRightToLeft reports whether most letters on a line belong to such a script.
func mostlyRightToLeft(chars []pdfChar) bool {
	right, left := 0, 0
	for _, c := range chars {
		switch {
		case isRightToLeft(c.r):
			right++
		case unicode.IsLetter(c.r):
			left++
		}
	}
	return right > left
}

// rightToLeft puts the pieces of a line into reading order. PDFium returns each stretch of letters with one direction in its own order,
// but can misjudge the line's direction; a full stop at the left end then comes first.
func rightToLeft(chars []pdfChar) []pdfChar {
	if !mostlyRightToLeft(chars) {
		return chars
	}
	chars = turnLigatures(chars)
	var pieces []piece
	for i := 0; i < len(chars); {
		n := directionRun(chars[i:])
		p := newPiece(chars[i : i+n])
		if last := len(pieces) - 1; p.right == 0 && last >= 0 { // blanks inserted by PDFium have no position
			pieces[last].chars = append(slices.Clip(pieces[last].chars), p.chars...)
		} else {
			pieces = append(pieces, p)
		}
		i += n
	}
	before := func(a, b piece) int { return cmp.Compare(b.right, a.right) }
	if slices.IsSortedFunc(pieces, before) {
		return chars
	}
	slices.SortStableFunc(pieces, before)
	out := make([]pdfChar, 0, len(chars)+len(pieces))
	for i, p := range pieces {
		if i > 0 && out[len(out)-1].r > ' ' && p.chars[0].r > ' ' && pieces[i-1].left-p.right > blankShare*p.height {
			out = append(out, pdfChar{r: ' ', generated: true})
		}
		out = append(out, p.chars...)
	}
	return out
}

// turnLigatures corrects the order of letters in ligatures: PDFium reverses a stretch letter by letter, including letters that share a
// glyph.
func turnLigatures(chars []pdfChar) []pdfChar {
	out := slices.Clone(chars)
	for i := 0; i < len(out); {
		n := i + 1
		for n < len(out) && isRightToLeft(out[i].r) && isRightToLeft(out[n].r) && oneGlyph(out[n-1], out[n]) {
			n++
		}
		slices.Reverse(out[i:n])
		i = n
	}
	return out
}

// oneGlyph reports whether two adjacent letters share a glyph: both have the glyph's box, or each has part of it, with the later letter's
// part on the right.
func oneGlyph(a, b pdfChar) bool {
	const play = 0.02 // in points
	if b.right <= b.left || a.low != b.low || a.high != b.high {
		return false
	}
	return a.left == b.left && a.right == b.right ||
		math.Abs(b.left-a.right) < play && math.Abs((b.right-b.left)-(a.right-a.left)) < play
}

// blankShare is the distance between two pieces of a line that counts as a blank, as a fraction of the line's height.
const blankShare = 0.12

// piece is a stretch of a line with letters of one direction.
type piece struct {
	chars               []pdfChar
	left, right, height float64
}

func newPiece(chars []pdfChar) piece {
	p := piece{chars: chars}
	first := true
	for _, c := range chars {
		if c.r <= ' ' || c.right <= c.left {
			continue
		}
		if first {
			p.left, p.right, first = c.left, c.right, false
		}
		p.left, p.right, p.height = min(p.left, c.left), max(p.right, c.right), max(p.height, c.high-c.low)
	}
	return p
}

// directionRun returns the length of the first piece: letters of one direction with any signs between them, or signs alone.
func directionRun(chars []pdfChar) int {
	kind := directionOf(chars[0].r)
	end := 1
	for i := 1; i < len(chars); i++ {
		switch k := directionOf(chars[i].r); {
		case k == kind:
			end = i + 1
		case k != 0 || kind == 0:
			return end
		}
	}
	return end
}

// directionOf returns 1 for left-to-right letters and digits, 2 for right-to-left letters, and 0 for signs, which take the direction of
// their surroundings.
func directionOf(r rune) int {
	switch {
	case isRightToLeft(r), r >= 0x590 && r <= 0x8ff && unicode.IsMark(r):
		return 2
	case unicode.IsLetter(r), unicode.IsDigit(r):
		return 1
	}
	return 0
}

// stand rotates the characters of a page whose lines run up or down, so that lines run from the left as the layout expects; such a page
// contains rotated text, or Chinese or Japanese in columns from the right. It reports whether width and height are swapped; they are not
// if the page is upside down or mirrored.
func stand(chars []pdfChar, width, height float64) bool {
	along, back, up, down := 0, 0, 0, 0
	rise := 0 // number of lines that follow one another upwards, minus the number that do so downwards
	var last pdfChar
	for _, c := range chars {
		if c.r <= ' ' || c.right <= c.left {
			continue
		}
		if last.right > last.left {
			dx, dy := c.left+c.right-last.left-last.right, c.low+c.high-last.low-last.high
			size := max(c.high-c.low, c.right-c.left)
			switch {
			case math.Abs(dx) > math.Abs(dy):
				along++
				switch far := 4 * size; {
				case dx < 0 && -dx < far:
					back++
				case dx > far && dy > size:
					rise++
				case dx > far && dy < -size:
					rise--
				}
			case dy > 0 && dy < 4*size:
				up++
			case dy < 0 && dy > -4*size:
				down++
			}
		}
		last = c
	}
	if back >= standing && 4*back > 3*(along+up+down) { // upside down or mirrored
		for i := range chars {
			c := &chars[i]
			if c.right <= c.left {
				continue
			}
			c.left, c.right = width-c.right, width-c.left
			if rise >= 0 {
				c.low, c.high = height-c.high, height-c.low
			}
		}
		return false
	}
	if up+down < standing || 2*along > up+down || min(up, down)*4 > max(up, down) {
		return false
	}
	for i := range chars {
		c := &chars[i]
		if c.right <= c.left {
			continue
		}
		if w, h := c.right-c.left, c.high-c.low; up <= down && w > 1.5*h && isWideRune(c.r) {
			c.left = c.right - h // PDFium gives some letters in vertical fonts the box of two letters
		}
		if up > down {
			c.left, c.right, c.low, c.high = c.low, c.high, width-c.right, width-c.left
		} else {
			c.left, c.right, c.low, c.high = height-c.high, height-c.low, c.left, c.right
		}
	}
	return true
}

// standing is the number of characters at which the lines of a page are considered to run up or down.
const standing = 20
