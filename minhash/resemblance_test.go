package minhash

import (
	"math"

	"concordat"
)

// ResemblanceOf returns the estimate from the number of equal hashes, which has slightly less spread than the one from bits if b > 1. For
// a proportion e of equal hashes, R = (e − 2^−b) / (1 − 2^−b), clamped to the range 0 to 1 (Li and König 2010, section 3).
func (s *Sketcher) ResemblanceOf(f, g concordat.Fingerprint) float64 {
	equal := 0
	for i := range s.bins {
		at := i * s.b
		if (f[at/60]^g[at/60])>>(at%60)&(1<<s.b-1) == 0 {
			equal++
		}
	}
	chance := math.Ldexp(1, -s.b)
	return min(1, max(0, (float64(equal)/float64(s.bins)-chance)/(1-chance)))
}
