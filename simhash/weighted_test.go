package simhash

import (
	"fmt"
	"math"
	"math/bits"

	"concordat"
)

// Weighted returns the fingerprint in which features[i] has weight weights[i], for example its frequency times its inverse document
// frequency; negative weights count for the other side. It fails if the slices differ in length or a weight is not a finite number.
func (s *Sketcher) Weighted(features []uint64, weights []float64) (concordat.Fingerprint, error) {
	if len(features) != len(weights) {
		return concordat.Fingerprint{}, fmt.Errorf("simhash of %d features with %d weights", len(features), len(weights))
	}
	var sums [concordat.Bits]float64
	for i, f := range features {
		w := weights[i]
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return concordat.Fingerprint{}, fmt.Errorf("simhash: weight %d is %v", i, w)
		}
		p := s.planes(f)
		for b := range sums {
			if p[b/60]>>(b%60)&1 == 1 {
				sums[b] += w
			} else {
				sums[b] -= w
			}
		}
	}
	var out concordat.Fingerprint
	if len(features) == 0 {
		return out, nil
	}
	t := s.ties(features)
	for b, sum := range sums {
		if sum > 0 || sum == 0 && t[b/60]>>(b%60)&1 == 1 {
			out[b/60] |= 1 << (b % 60)
		}
	}
	return out, nil
}

// Distance128 returns the number of bits in which two 128-bit prints differ.
func Distance128(a, b [2]uint64) int {
	return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1])
}
