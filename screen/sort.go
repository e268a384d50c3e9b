package screen

import "unsafe"

// radix sorts the keys, eight bits per pass from the lowest, and moves values along with them unless values is nil. It skips bytes that
// are equal in all keys, is stable, and needs scratch slices of the same length; the result is in keys and values.
func radix[K uint32 | uint64](keys, keyScratch []K, values, valueScratch []uint32) {
	var counts [8][256]int
	bytes := int(unsafe.Sizeof(K(0)))
	for _, k := range keys {
		for b := range bytes {
			counts[b][byte(k>>(8*b))]++
		}
	}
	from, to, fromV, toV := keys, keyScratch, values, valueScratch
	for b := range bytes {
		c := &counts[b]
		if len(keys) == 0 || c[byte(keys[0]>>(8*b))] == len(keys) {
			continue
		}
		sum := 0
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		for i, k := range from {
			d := byte(k >> (8 * b))
			to[c[d]] = k
			if values != nil {
				toV[c[d]] = fromV[i]
			}
			c[d]++
		}
		from, to, fromV, toV = to, from, toV, fromV
	}
	if len(keys) > 0 && &from[0] != &keys[0] {
		copy(keys, from)
		copy(values, fromV)
	}
}

// lowerBound returns the number of elements below x in the ascending slice a by interpolation search (Manku, Jain and Das Sarma 2007,
// section 3.1), which takes a few steps if the keys are uniform. It brackets the guess by twice the square root of the range, four
// standard deviations of the position for uniform keys, so that both ends close in. If the keys are far from uniform, a binary search
// finishes the work.
func lowerBound(a []uint64, x uint64) int {
	lo, hi := 0, len(a) // a[:lo] < x ≤ a[hi:]
	for tries := 0; hi-lo > 24 && tries < 4; tries++ {
		first, last := a[lo], a[hi-1]
		if x <= first {
			return lo
		}
		if x > last {
			return hi
		}
		// x is in (first, last], so the divisor is positive and the quotient fits.
		guess := lo + int(float64(hi-1-lo)*(float64(x-first)/float64(last-first)))
		reach := 2*sqrt(hi-lo) + 1
		if i := guess - reach; i > lo {
			if a[i] < x {
				lo = i + 1
			} else {
				hi = i
				continue
			}
		}
		if i := guess + reach; i < hi {
			if a[i] >= x {
				hi = i
			} else {
				lo = i + 1
			}
		}
	}
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if a[m] < x {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}
