package minhash

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"concordat"
)

// Sketcher makes fingerprints. It is immutable and safe for concurrent use.
type Sketcher struct {
	b, bins int
	seeds   []uint64 // 2·bins, one for each round
	last    uint64   // seed for the bits to keep
}

var _ concordat.Sketcher = (*Sketcher)(nil)

// New returns the sketcher with b bits per hash, 1, 2 or 4; the key determines the hash functions, and the empty key selects the public
// ones. Do not compare fingerprints with different b or key.
func New(b int, key []byte) (*Sketcher, error) {
	if b != 1 && b != 2 && b != 4 {
		return nil, fmt.Errorf("minhash: invalid b = %d; want 1, 2 or 4", b)
	}
	s := &Sketcher{b: b, bins: concordat.Bits / b}
	s.seeds = make([]uint64, 2*s.bins)
	for i := range s.seeds {
		s.seeds[i] = seed(key, uint32(i))
	}
	s.last = seed(key, math.MaxUint32)
	return s, nil
}

// seed returns the first eight bytes, big-endian, of SHA-256 over a label, the index and the key.
func seed(key []byte, i uint32) uint64 {
	b := binary.BigEndian.AppendUint32([]byte("concordat/minhash/1\x00"), i)
	sum := sha256.Sum256(append(b, key...))
	return binary.BigEndian.Uint64(sum[:])
}

// mix applies the finaliser of MurmurHash3 (Appleby 2011), a bijection of 64 bits.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Sketch returns the fingerprint of the set of features; repeats count once, and their order does not matter. Without features, it is
// zero.
//
// Dahlgaard, Knudsen and Thorup 2017, figure 1: in round i < t, every feature goes to a random bin with the value (i, hash), and in round
// t+j, it goes to bin j. Each bin keeps its least value. A bin filled in an earlier round keeps its winner, so a round considers only
// open bins, and the rounds end when no bin is open.
func (s *Sketcher) Sketch(features []uint64) concordat.Fingerprint {
	if len(features) == 0 {
		return concordat.Fingerprint{}
	}
	var winner [concordat.Bits]uint64 // for each bin, the least value of the round that filled it
	bins := uint64(s.bins)
	least := winner[:bins]
	for i := range least {
		least[i] = math.MaxUint64
	}
	// Bins filled in earlier rounds. No branch below depends on the features, because a value for a closed bin becomes the largest
	// possible one.
	var closed [2]uint64
	all := [2]uint64{1<<min(bins, 64) - 1, 1<<(max(bins, 64)-64) - 1}
	round := 0
	for ; closed != all && round < s.bins; round++ {
		seed := s.seeds[round]
		if bins <= 64 {
			filled := uint64(0)
			for _, f := range features {
				h := mix(f ^ seed)
				bin, _ := bits.Mul64(h, bins)
				// The high half of h selects the bin; its low half orders values within the bin.
				v := bits.RotateLeft64(h, 32) | -(closed[0] >> (bin & 63) & 1)
				least[bin] = min(least[bin], v)
				filled |= 1 << (bin & 63)
			}
			closed[0] |= filled
			continue
		}
		filled := closed
		for _, f := range features {
			h := mix(f ^ seed)
			bin, _ := bits.Mul64(h, bins)
			v := bits.RotateLeft64(h, 32) | -(closed[bin>>6&1] >> (bin & 63) & 1)
			least[bin] = min(least[bin], v)
			filled[bin>>6&1] |= 1 << (bin & 63)
		}
		closed = filled
	}
	for bin := range least {
		if closed[bin>>6]>>(bin&63)&1 != 0 {
			continue
		}
		for _, f := range features {
			least[bin] = min(least[bin], bits.RotateLeft64(mix(f^s.seeds[s.bins+bin]), 32))
		}
	}
	return s.pack(least)
}

// pack returns b bits of each winner. Bit b·i of the fingerprint starts hash i. The winner is mixed again first, since the selection of
// the least value has biased its bits.
func (s *Sketcher) pack(winner []uint64) concordat.Fingerprint {
	var f concordat.Fingerprint
	const word = 60 // in bits; b divides it
	for w := range f {
		at := 0
		for ; at < word && len(winner) > 0; at += s.b {
			f[w] |= mix(winner[0]^s.last) >> (64 - s.b&63) << (at & 63)
			winner = winner[1:]
		}
	}
	return f
}

// Resemblance returns the unbiased estimate, clamped to the range 0 to 1, of the Jaccard resemblance of two feature sets from the
// distance of their fingerprints in bits. For every b, one differing hash changes b/2 of its bits on average, so the expected distance is
// 50·(1−R) (from Li and König 2010, theorem 1, in the limit of sparse data).
func Resemblance(distance int) float64 {
	return max(0, 1-float64(distance)/(concordat.Bits/2))
}
