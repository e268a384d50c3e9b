package minhash

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

// Shingler makes sketches of whole documents' shingles (Broder 1997). MIN_s consists of the s smallest values of a random permutation,
// and MOD_m consists of the values divisible by m. It is immutable and safe for concurrent use. Do not compare sketches from shinglers
// with different keys.
type Shingler struct{ seed uint64 }

// NewShingler returns a shingler; the key determines its permutation, and the empty key selects the public one.
func NewShingler(key []byte) *Shingler {
	sum := sha256.Sum256(append([]byte("concordat/shingle/1\x00"), key...))
	return &Shingler{binary.BigEndian.Uint64(sum[:])}
}

// permuted applies a keyed bijection of 64 bits, the finaliser of MurmurHash3 (Appleby 2011).
func (s *Shingler) permuted(x uint64) uint64 {
	x ^= s.seed
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// MinSketch is MIN_s of a set. It consists of the Size smallest permuted values, ascending, or all of them if the set is smaller. It
// takes 8 bytes per value.
type MinSketch struct {
	Values []uint64
	Size   int // s
	Set    int // number of members of the whole set
}

// Min returns MIN_s of the distinct shingles. size must be positive. It does not reorder the caller's slice.
func (s *Shingler) Min(shingles []uint64, size int) MinSketch {
	all := make([]uint64, len(shingles))
	for i, x := range shingles {
		all[i] = s.permuted(x)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return MinSketch{Values: slices.Clone(all[:min(size, len(all))]), Size: size, Set: len(all)}
}

// ModSketch is MOD_m of a set. It consists of the permuted values divisible by Modulus, ascending. It grows with the set, so it estimates
// containment well regardless of the sizes.
type ModSketch struct {
	Values  []uint64
	Modulus uint64
	Set     int
}

// Mod returns MOD_m of the distinct shingles. m must be positive.
func (s *Shingler) Mod(shingles []uint64, m uint64) ModSketch {
	all := make([]uint64, len(shingles))
	for i, x := range shingles {
		all[i] = s.permuted(x)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	out := ModSketch{Modulus: m, Set: len(all)}
	for _, x := range all {
		if x%m == 0 {
			out.Values = append(out.Values, x)
		}
	}
	return out
}

// Estimate is a proportion of a set, estimated from a sample.
type Estimate struct {
	Hits, Trials int  // Trials is 0 if nothing was sampled
	Exact        bool // whether the sample is the whole set
}

// Value returns the unbiased estimate, 0 to 1, or 0 without trials.
func (e Estimate) Value() float64 {
	if e.Trials == 0 {
		return 0
	}
	return float64(e.Hits) / float64(e.Trials)
}

// Interval returns exact binomial bounds (Clopper and Pearson 1934) that include the true proportion with at least the given confidence,
// for example 0.95. They are slightly too wide, since the sample is drawn without replacement.
func (e Estimate) Interval(confidence float64) (low, high float64) {
	if e.Exact {
		return e.Value(), e.Value()
	}
	tail := (1 - confidence) / 2
	low, high = 0, 1
	if e.Hits > 0 {
		low = bisect(func(p float64) bool { return 1-atMost(e.Hits-1, e.Trials, p) < tail })
	}
	if e.Hits < e.Trials {
		high = bisect(func(p float64) bool { return atMost(e.Hits, e.Trials, p) > tail })
	}
	return low, high
}

// bisect returns the largest p for which below holds.
func bisect(below func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 40 {
		if m := (low + high) / 2; below(m) {
			low = m
		} else {
			high = m
		}
	}
	return low
}

// atMost returns the probability of at most k successes in n trials with probability p.
func atMost(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case p <= 0 || k >= n:
		return 1
	case p >= 1:
		return 0
	}
	if float64(k) >= float64(n)*p {
		return 1 - atMost(n-k-1, n, 1-p) // the other tail is shorter
	}
	// Add the terms from the k-th down, computing each from the previous one; they only decrease.
	ln, _ := math.Lgamma(float64(n + 1))
	a, _ := math.Lgamma(float64(k + 1))
	b, _ := math.Lgamma(float64(n - k + 1))
	term := math.Exp(ln - a - b + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	sum := 0.0
	for i := k; i >= 0 && term > 0; i-- {
		sum += term
		term *= float64(i) * (1 - p) / (float64(n-i+1) * p)
		if term < 1e-17*sum {
			break
		}
	}
	return min(1, sum)
}

// MinEstimates returns the estimates of the resemblance of two sets, |A∩B| / |A∪B|, and of the containments |A∩B| / |A| and |A∩B| / |B|.
// The s smallest values of both sketches together are MIN_s of A∪B, a random sample of it. The proportion of this sample that is in both
// sketches is an unbiased estimate of the resemblance (Broder 1997, theorem 1). Its members from A are a random sample of A, and the
// proportion of those in B estimates the containment. The sketches must come from the same Shingler.
func MinEstimates(a, b MinSketch) (resemblance, inA, inB Estimate) {
	size := min(a.Size, b.Size)
	i, j := 0, 0
	for resemblance.Trials < size && (i < len(a.Values) || j < len(b.Values)) {
		resemblance.Trials++
		switch {
		case j == len(b.Values) || i < len(a.Values) && a.Values[i] < b.Values[j]:
			i++
			inA.Trials++
		case i == len(a.Values) || a.Values[i] > b.Values[j]:
			j++
			inB.Trials++
		default:
			i++
			j++
			inA.Trials++
			inB.Trials++
			resemblance.Hits++
		}
	}
	inA.Hits, inB.Hits = resemblance.Hits, resemblance.Hits
	inA.Exact, inB.Exact = inA.Trials == a.Set, inB.Trials == b.Set
	resemblance.Exact = inA.Exact && inB.Exact
	return resemblance, inA, inB
}

// ModEstimates does the same as MinEstimates for MOD_m sketches, whose samples have no fixed size (Broder 1997, theorem 1). The sketches
// must come from the same Shingler and have the same modulus.
func ModEstimates(a, b ModSketch) (resemblance, inA, inB Estimate) {
	common := 0
	for i, j := 0, 0; i < len(a.Values) && j < len(b.Values); {
		switch {
		case a.Values[i] < b.Values[j]:
			i++
		case a.Values[i] > b.Values[j]:
			j++
		default:
			common++
			i++
			j++
		}
	}
	exact := a.Modulus == 1
	inA = Estimate{common, len(a.Values), exact}
	inB = Estimate{common, len(b.Values), exact}
	return Estimate{common, len(a.Values) + len(b.Values) - common, exact}, inA, inB
}

// Unbounded returns the sketch as a MinSketch without a maximum size. MinEstimates of two such sketches equal the ModEstimates of the
// originals. It shares the values.
func (m ModSketch) Unbounded() MinSketch {
	return MinSketch{Values: m.Values, Size: math.MaxInt, Set: m.Set}
}

// Super returns the super-shingles of a sketch, which are hashes of all runs of width values (Broder 1997, section 4). Two documents that
// share one have width neighbouring members of their sketches in common and are nearly always very similar; documents of resemblance r
// share about (Size-width+1)·r^width. A sketch with fewer than width values has one super-shingle of all of them; the sketch of an empty
// set has none. The order of the result has no meaning.
func (m MinSketch) Super(width int) []uint64 {
	if len(m.Values) == 0 || width < 1 {
		return nil
	}
	width = min(width, len(m.Values))
	out := make([]uint64, 0, len(m.Values)-width+1)
	for i := 0; i+width <= len(m.Values); i++ {
		h := uint64(width)
		for _, x := range m.Values[i : i+width] {
			h = (h ^ x) * 0x9e3779b97f4a7c15
			h ^= h >> 32
		}
		out = append(out, h)
	}
	return out
}
