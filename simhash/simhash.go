package simhash

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"concordat"
)

// Sketcher makes fingerprints. It is immutable and safe for concurrent use.
type Sketcher struct {
	seeds [3]uint64 // for bits 0 to 59, bits 60 to 99, and ties
}

var _ concordat.Sketcher = (*Sketcher)(nil)

// New returns a sketcher; the key determines its hyperplanes, and the empty key selects the public ones.
func New(key []byte) *Sketcher {
	var s Sketcher
	for i := range s.seeds {
		b := append([]byte("concordat/simhash/1\x00"), byte(i))
		sum := sha256.Sum256(append(b, key...))
		s.seeds[i] = binary.BigEndian.Uint64(sum[:])
	}
	return &s
}

// mix applies the finaliser of MurmurHash3 (Appleby 2011), a bijection of 64 bits.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

const (
	low  = 1<<60 - 1
	high = 1<<40 - 1
)

// planes returns on which side of each of the 100 hyperplanes a feature lies.
func (s *Sketcher) planes(f uint64) concordat.Fingerprint {
	return concordat.Fingerprint{mix(f^s.seeds[0]) & low, mix(f^s.seeds[1]) & high}
}

// ties returns the bits used where both sides have equal weight. They depend on the features but not on their order, so that unrelated
// sets do not agree on them.
func (s *Sketcher) ties(features []uint64) concordat.Fingerprint {
	x := s.seeds[2]
	for _, f := range features {
		x += mix(f ^ s.seeds[2])
	}
	return s.planes(x)
}

// Sketch returns the fingerprint, weighting each feature by the number of times it is given (term frequency). The counters are
// bit-sliced. Plane j holds bit j of all 100 counts, and adding a feature ripples carries over whole words.
func (s *Sketcher) Sketch(features []uint64) concordat.Fingerprint {
	if len(features) == 0 {
		return concordat.Fingerprint{}
	}
	var counts [33]concordat.Fingerprint
	for _, f := range features {
		carry := s.planes(f)
		for j := 0; carry[0]|carry[1] != 0; j++ {
			c := counts[j]
			counts[j] = concordat.Fingerprint{c[0] ^ carry[0], c[1] ^ carry[1]}
			carry = concordat.Fingerprint{c[0] & carry[0], c[1] & carry[1]}
		}
	}
	// Compare every count with n/2, high planes first: 2·count > n sets the bit.
	n := uint64(len(features))
	above, equal := concordat.Fingerprint{}, concordat.Fingerprint{low, high}
	for j := 32; j >= -1; j-- {
		var bit concordat.Fingerprint
		if j >= 0 {
			bit = counts[j]
		}
		if n>>(j+1)&1 == 1 {
			equal = concordat.Fingerprint{equal[0] & bit[0], equal[1] & bit[1]}
			continue
		}
		above = concordat.Fingerprint{above[0] | equal[0]&bit[0], above[1] | equal[1]&bit[1]}
		equal = concordat.Fingerprint{equal[0] &^ bit[0], equal[1] &^ bit[1]}
	}
	t := s.ties(features)
	return concordat.Fingerprint{above[0] | equal[0]&t[0], above[1] | equal[1]&t[1]}
}

// Cosine returns the estimate of the cosine of two weighted feature vectors from their fingerprints' distance in bits, cos(π·d/100)
// (Charikar 2002, section 3), clamped to the range 0 to 1.
func Cosine(distance int) float64 {
	return max(0, math.Cos(math.Pi*float64(distance)/concordat.Bits))
}
