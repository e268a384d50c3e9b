package extract

import (
	"encoding/binary"
	"math"
	"sort"
)

// PDFium's loose box for a character has the height that the font states; if the font states no height, for example because procedures
// draw its glyphs, the loose box is the glyph's box. In such a font, boxes on one line differ in height.
const (
	tightSpread = 1.3 // ratio of the ninth to the first decile of character heights on a line
	tightLeast  = 10  // minimum number of characters on a line for it to be judged
)

// tightBoxes reports whether most lines have characters of many heights.
func tightBoxes(chars []pdfChar) bool {
	lines, tight := 0, 0
	var heights []float64
	judge := func() {
		if n := len(heights); n >= tightLeast {
			sort.Float64s(heights)
			if lines++; heights[n*9/10] > tightSpread*heights[n/10] {
				tight++
			}
		}
		heights = heights[:0]
	}
	for _, c := range chars {
		switch {
		case c.r == '\r' || c.r == '\n' || c.hyphen:
			judge()
		case c.r > ' ' && c.right > c.left:
			heights = append(heights, c.high-c.low)
		}
	}
	judge()
	return tight*2 > lines
}

// loosen gives all characters of one type size the height that covers nearly all of them, above and below the baseline.
func (f *pdfium) loosen(text uint64, g geometry, chars []pdfChar) {
	type size struct {
		above, below []float64
		up, down     float64
	}
	sizes := map[int]*size{}
	base := make([]float64, len(chars))
	kind := make([]int, len(chars))
	s := uint64(f.scratch)
	for i, c := range chars {
		if c.r <= ' ' || c.right <= c.left {
			continue
		}
		if f.integer("FPDFText_GetCharOrigin", text, uint64(c.index), s, s+8) == 0 {
			return
		}
		m := f.read(f.scratch, 16)
		if m == nil {
			return
		}
		x, y := math.Float64frombits(binary.LittleEndian.Uint64(m)), math.Float64frombits(binary.LittleEndian.Uint64(m[8:]))
		_, _, base[i], _ = g.shown(x, x, y, y)
		kind[i] = int(100 * math.Float64frombits(f.call("FPDFText_GetFontSize", text, uint64(c.index))))
		k := sizes[kind[i]]
		if k == nil {
			k = &size{}
			sizes[kind[i]] = k
		}
		k.above, k.below = append(k.above, c.high-base[i]), append(k.below, base[i]-c.low)
	}
	for _, k := range sizes {
		sort.Float64s(k.above)
		sort.Float64s(k.below)
		k.up, k.down = k.above[len(k.above)*9/10], k.below[len(k.below)*9/10]
	}
	for i := range chars {
		if k := sizes[kind[i]]; k != nil && chars[i].r > ' ' && chars[i].right > chars[i].left {
			chars[i].low, chars[i].high = base[i]-k.down, base[i]+k.up
		}
	}
}
