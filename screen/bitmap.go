package screen

import "math/bits"

// bitmap has a bit for each gram of a text; grams can share a bit. A bit set for one text but not for another means that the other lacks
// at least one gram, so a few instructions exclude most candidates (the bitmap filter of Sandes, Teodoro and Melo 2020).
type bitmap [16]uint64

func (b *bitmap) add(gram uint64) { b[gram>>6&15] |= 1 << (gram & 63) }

// apart returns lower bounds on the number of grams of a that are not in b, and of b that are not in a.
func apart(a, b *bitmap) (gone, came int) {
	for i, x := range a {
		gone += bits.OnesCount64(x &^ b[i])
		came += bits.OnesCount64(b[i] &^ x)
	}
	return gone, came
}

// bitmapFits reports whether the bitmaps allow the texts to reach the threshold or to be within the allowed number of edits.
func (s *Short) bitmapFits(a, b *shortText) bool {
	if s.o.Measure == Edit {
		return true
	}
	gone, came := apart(&a.bitmap, &b.bitmap)
	common, x, y := float64(min(a.size-gone, b.size-came)), float64(a.size), float64(b.size)
	if s.o.Measure == Jaccard && common >= s.o.Threshold*(x+y-common)-1e-9 ||
		s.o.Measure == Cosine && common*common >= s.o.Threshold*s.o.Threshold*x*y-1e-9 {
		return true
	}
	if s.o.Edits == 0 {
		return false
	}
	// Comparing grams of different lengths does not bound edits.
	return (a.dense > 0) != (b.dense > 0) || gone <= touched(a, s.o.Edits) && came <= touched(b, s.o.Edits)
}
