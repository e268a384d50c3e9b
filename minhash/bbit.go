package minhash

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"concordat"
)

// Document makes b-bit minwise sketches of whole documents. A sketch has any number of hashes and keeps b bits of each (Li and König
// 2010). At equal size, they estimate resemblance with less variance than MIN_s of 64-bit values, but cannot estimate containment. It is
// immutable and safe for concurrent use.
type Document struct {
	b, bins int
	seeds   []uint64
	last    uint64
}

// maxBins is the maximum number of hashes in a document sketch.
const maxBins = 1 << 16

// NewDocument returns a Document that makes sketches with the given number of hashes, 1 to 65,536, and b bits per hash, 1, 2, 4 or 8. The
// key determines the hash functions; the empty key selects the public ones.
func NewDocument(b, hashes int, key []byte) (*Document, error) {
	if b != 1 && b != 2 && b != 4 && b != 8 || hashes < 1 || hashes > maxBins {
		return nil, fmt.Errorf("invalid document sketch: %d hashes of %d bits; want 1 to %d hashes of 1, 2, 4 or 8 bits", hashes, b, maxBins)
	}
	d := &Document{b: b, bins: hashes, seeds: make([]uint64, 2*hashes)}
	label := binary.BigEndian.AppendUint32([]byte("document\x00"), uint32(hashes))
	for i := range d.seeds {
		d.seeds[i] = seed(append(label, key...), uint32(i))
	}
	d.last = seed(append(label, key...), math.MaxUint32)
	return d, nil
}

// Bytes returns the size of a sketch in bytes.
func (d *Document) Bytes() int { return (d.b*d.bins + 63) / 64 * 8 }

// Sketch returns the sketch of the set of features, or nil for the empty set; repeats count once. It is the algorithm of Sketcher.Sketch
// (Dahlgaard, Knudsen and Thorup 2017, figure 1) with any number of bins.
func (d *Document) Sketch(features []uint64) []uint64 {
	if len(features) == 0 {
		return nil
	}
	// A feature's first throws fill most bins; its last throws go to the few bins still open after several rounds.
	winner, round := make([]uint64, d.bins), make([]int32, d.bins) // round of each winner, from 1
	open, n := d.bins, uint64(d.bins)
	for r := 0; open > 0 && r < 2*d.bins; r++ {
		s := d.seeds[r]
		if r >= d.bins {
			if bin := r - d.bins; round[bin] == 0 {
				best := uint64(math.MaxUint64)
				for _, f := range features {
					best = min(best, bits.RotateLeft64(mix(f^s), 32))
				}
				winner[bin], round[bin] = best, int32(r+1)
				open--
			}
			continue
		}
		for _, f := range features {
			h := mix(f ^ s)
			bin, _ := bits.Mul64(h, n)
			v := bits.RotateLeft64(h, 32)
			switch {
			case round[bin] == 0:
				winner[bin], round[bin] = v, int32(r+1)
				open--
			case round[bin] == int32(r+1) && v < winner[bin]:
				winner[bin] = v
			}
		}
	}
	out := make([]uint64, d.Bytes()/8)
	for i, w := range winner {
		v := mix(w^d.last) >> (64 - d.b)
		out[i*d.b/64] |= v << (i * d.b % 64)
	}
	return out
}

// equal returns the number of hashes in which all given sketches agree.
func (d *Document) equal(first []uint64, others ...[]uint64) int {
	n := 0
	low := ^uint64(0) / (1<<d.b - 1) // lowest bit of each hash in a word; b divides 64
	for i := range first {
		var differ uint64
		for _, o := range others {
			differ |= first[i] ^ o[i]
		}
		for s := 1; s < d.b; s *= 2 {
			differ |= differ >> s // bits of the same hash, and of the next higher one, which the mask removes
		}
		n += bits.OnesCount64(^differ & low)
	}
	return n - (len(first)*64/d.b - d.bins) // the bits after the last hash are zero in every sketch
}

func (d *Document) check(sketches ...[]uint64) error {
	for _, s := range sketches {
		if len(s) != d.Bytes()/8 {
			return fmt.Errorf("document sketch has %d bytes, want %d", 8*len(s), d.Bytes())
		}
	}
	return nil
}

// ThreeWay describes the overlap of a text and two sources, estimated from sketches.
type ThreeWay struct {
	AB, AC, BC float64 // resemblance of each pair
	All        float64 // |A∩B∩C| / |A∪B∪C|
	Deviation  float64 // standard error of All
}

// ThreeWay estimates the resemblance of three sets, for example a text and two sources, and thus how much of the text shared with one
// source is also shared with the other (Li, König and Gui 2010). b must be at least 2, because with one bit, the agreement of all three
// follows from the agreement of the pairs and adds no information.
func (d *Document) ThreeWay(a, b, c []uint64) (ThreeWay, error) {
	if err := d.check(a, b, c); err != nil {
		return ThreeWay{}, err
	}
	return threeWay(d.b, d.bins, d.equal(a, b), d.equal(a, c), d.equal(b, c), d.equal(a, b, c))
}

// ThreeWay does the same as Document.ThreeWay for sentence fingerprints. With 25 hashes, its standard error is up to 0.1.
func (s *Sketcher) ThreeWay(f, g, h concordat.Fingerprint) (ThreeWay, error) {
	return threeWay(s.b, s.bins, s.equal(f, g), s.equal(f, h), s.equal(g, h), s.equal(f, g, h))
}

// equal returns the number of hashes in which all given fingerprints agree.
func (s *Sketcher) equal(first concordat.Fingerprint, others ...concordat.Fingerprint) int {
	n := 0
	for i := range s.bins {
		at := i * s.b
		same := 1
		for _, o := range others {
			if (first[at/60]^o[at/60])>>(at%60)&(1<<s.b-1) != 0 {
				same = 0
			}
		}
		n += same
	}
	return n
}

// threeWay solves for the resemblances. Let the three least hashes be equal with probability R, exactly two of them equal with
// probabilities R12-R, R13-R and R23-R, and all different otherwise. Two different hashes agree in b bits with probability q = 2^-b, and
// three with q² (Li, König and Gui 2010, theorem 1, in the limit of sparse data). Therefore the proportion of hashes in which all agree
// is
//
//	P = R + q·(S - 3R) + q²·(1 - S + 2R),  S = R12 + R13 + R23,
//
// and R = (P - q·S - q²·(1-S)) / (1 - 3q + 2q²).
func threeWay(b, bins, ab, ac, bc, all int) (ThreeWay, error) {
	if b < 2 {
		return ThreeWay{}, fmt.Errorf("three-way resemblance requires hashes of at least 2 bits, got %d", b)
	}
	n, q := float64(bins), math.Ldexp(1, -b)
	pair := func(equal int) float64 { return (float64(equal)/n - q) / (1 - q) }
	t := ThreeWay{AB: pair(ab), AC: pair(ac), BC: pair(bc)}
	s := t.AB + t.AC + t.BC
	bottom := 1 - 3*q + 2*q*q
	t.All = (float64(all)/n - q*s - q*q*(1-s)) / bottom
	// The estimate is the mean over the hashes of v = (e - q(1-q)·Σ(eᵢⱼ-q)/(1-q) - q²) / bottom, where e and eᵢⱼ are 1 for agreement. v
	// is v1 if all three agree, v2 if exactly two do, and v3 if none do. The variance of the estimate follows from these values.
	value := func(e, pairs float64) float64 { return (e - q*(pairs-3*q) - q*q) / bottom }
	two := float64(ab+ac+bc-3*all) / n
	three := float64(all) / n
	mean, square := 0.0, 0.0
	for _, c := range [][2]float64{{three, value(1, 3)}, {two, value(0, 1)}, {1 - two - three, value(0, 0)}} {
		mean += c[0] * c[1]
		square += c[0] * c[1] * c[1]
	}
	t.Deviation = math.Sqrt(max(0, square-mean*mean) / n)
	return t, nil
}

// Resemblance returns the unbiased estimate of the Jaccard resemblance of two sketches' sets, and its standard error, from the variance
// of Li and König 2010 (section 3.2) at the estimate. For very different sets, the estimate can be slightly below zero. Empty sets have
// no estimate.
func (d *Document) Resemblance(x, y []uint64) (r, deviation float64, err error) {
	if err := d.check(x, y); err != nil {
		return 0, 0, err
	}
	chance := math.Ldexp(1, -d.b)
	e := float64(d.equal(x, y)) / float64(d.bins)
	at := max(e, chance) // fewer agree only by chance
	return (e - chance) / (1 - chance), math.Sqrt(at*(1-at)/float64(d.bins)) / (1 - chance), nil
}
