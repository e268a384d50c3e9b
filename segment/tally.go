package segment

import "math/bits"

// tally counts, for each of 32 bits, the masks in which it is set. Bit i of plane[p] is bit p of the count of i. Adding a mask ripples
// its carries through the planes, however many bits it has.
type tally struct {
	plane [31]uint32
	used  int // number of planes that can be non-zero
}

// straight is the number of planes through which every mask passes, in registers. Most carries end there, so no branch depends on the
// mask.
const straight = 4

// stops counts the bits of Word.Stop. At most 2^31 - 1 words can be added.
func (t *tally) stops(words []Word) {
	a, b, c, d := t.plane[0], t.plane[1], t.plane[2], t.plane[3]
	for i := range words {
		m := words[i].Stop
		a, m = a^m, a&m
		b, m = b^m, b&m
		c, m = c^m, c&m
		d, m = d^m, d&m
		for p := straight; m != 0; p++ {
			t.plane[p], m = t.plane[p]^m, t.plane[p]&m
			t.used = max(t.used, p+1)
		}
	}
	t.plane[0], t.plane[1], t.plane[2], t.plane[3] = a, b, c, d
	t.used = max(t.used, straight)
}

// most returns the bit with the highest count, or the lowest of these, and the count; both are 0 if nothing was counted.
func (t *tally) most() (bit uint32, count int) {
	best := ^uint32(0)
	for p := t.used - 1; p >= 0; p-- {
		if b := best & t.plane[p]; b != 0 {
			best = b
			count |= 1 << p
		}
	}
	if count == 0 {
		return 0, 0
	}
	return 1 << bits.TrailingZeros32(best), count
}
