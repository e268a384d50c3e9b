package segment

import "math/bits"

// tally counts, for each of 32 bits, the masks that have it: bit i of plane[p] is bit p of the count of i.
// Adding a mask ripples its carries through the planes, however many bits it has.
type tally struct {
	plane [31]uint32
	used  int // planes that may not be zero, but for the lowest ones
}

// straight is how many planes every mask goes through: most carries end there, and no branch depends on the mask.
const straight = 4

// add counts the bits of m. At most 2^31 - 1 masks can be added.
func (t *tally) add(m uint32) {
	for p := range straight {
		t.plane[p], m = t.plane[p]^m, t.plane[p]&m
	}
	if m == 0 {
		return
	}
	for p := straight; m != 0; p++ {
		t.plane[p], m = t.plane[p]^m, t.plane[p]&m
		t.used = max(t.used, p+1)
	}
}

// most returns the bit that is counted most, the lowest of several, and its count; 0 and 0 if none is.
func (t *tally) most() (bit uint32, count int) {
	best := ^uint32(0)
	for p := max(t.used, straight) - 1; p >= 0; p-- {
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
