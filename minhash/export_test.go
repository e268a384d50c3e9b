package minhash

import (
	"concordat"
	"math"
)

// RoundHash and KeptBits export the two hash functions for the naive definition.

func RoundHash(s *Sketcher, round int, feature uint64) uint64 { return mix(feature ^ s.seeds[round]) }

func KeptBits(s *Sketcher, winner uint64) uint64 { return mix(winner^s.last) >> (64 - s.b) }

// Recall returns the probability that two feature sets of resemblance r become candidates because they share a band exactly or, with
// one-nibble probing (b = 4), a band except for one hash. With q = (1 + (2^b − 1) r) / 2^b per hash, there are m = 20/b hashes per band.
func Recall(r float64, b int, probe concordat.Probe) float64 {
	q := (1 + (math.Ldexp(1, b)-1)*r) / math.Ldexp(1, b)
	m := float64(concordat.BandBits / b)
	band := math.Pow(q, m)
	if probe == concordat.ProbeOne && b == 4 {
		band += m * math.Pow(q, m-1) * (1 - q)
	}
	return 1 - math.Pow(1-band, concordat.Bands)
}

// BitsPerHash returns b.
func (s *Sketcher) BitsPerHash() int { return s.b }
