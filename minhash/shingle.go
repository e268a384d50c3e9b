package minhash

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

// Shingler makes sketches of the shingles of whole documents (Broder 1997): MIN_s keeps the s
// smallest values of a random permutation, MOD_m those divisible by m. It is immutable and safe for
// concurrent use. Sketches of shinglers with different keys must not be compared.
type Shingler struct{ seed uint64 }

// NewShingler returns the shingler whose permutation is drawn by key; the empty key is the public
// one.
func NewShingler(key []byte) *Shingler {
	sum := sha256.Sum256(append([]byte("concordat/shingle/1\x00"), key...))
	return &Shingler{binary.BigEndian.Uint64(sum[:])}
}

// permuted is a bijection of 64 bits: the finaliser of MurmurHash3 (Appleby 2011), keyed.
func (s *Shingler) permuted(x uint64) uint64 {
	x ^= s.seed
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// MinSketch is MIN_s of a set: the Size smallest of its permuted values, ascending, or all of a
// smaller set. It takes 8 bytes a value.
type MinSketch struct {
	Values []uint64
	Size   int // s
	Set    int // number of members of the whole set
}

// Min returns MIN_s of the distinct shingles. size must be positive. It sorts nothing of the
// caller's.
func (s *Shingler) Min(shingles []uint64, size int) MinSketch {
	all := make([]uint64, len(shingles))
	for i, x := range shingles {
		all[i] = s.permuted(x)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return MinSketch{Values: slices.Clone(all[:min(size, len(all))]), Size: size, Set: len(all)}
}

// ModSketch is MOD_m of a set: its permuted values divisible by Modulus, ascending. It grows with
// the set, and so estimates containment well however different the sizes are.
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

// Estimate is a share estimated from a sample of the set it is a share of.
type Estimate struct {
	Hits, Trials int  // Trials = 0: nothing was sampled, and nothing is known
	Exact        bool // the sample is the whole set
}

// Value returns the unbiased estimate, 0 to 1; 0 without trials.
func (e Estimate) Value() float64 {
	if e.Trials == 0 {
		return 0
	}
	return float64(e.Hits) / float64(e.Trials)
}

// Interval returns bounds that hold the true share with at least the given confidence, such as
// 0.95: exact binomial bounds (Clopper and Pearson 1934). The sample is drawn without putting
// back, so they are a little too wide.
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

// bisect returns the p up to which below holds.
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

// atMost returns the chance of at most k successes in n trials of chance p.
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
		return 1 - atMost(n-k-1, n, 1-p) // the other tail is the short one
	}
	// From the k-th term down, each from the one above: they only fall.
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

// MinEstimates returns the estimates of the resemblance of two sets, |A∩B| / |A∪B|, and of the
// containments |A∩B| / |A| and |A∩B| / |B|. The s smallest values of both sketches together are
// MIN_s of A∪B, a random sample of it: the share of it in both sketches estimates the resemblance
// without bias (Broder 1997, theorem 1), and among its members from A, a random sample of A, the
// share in B the containment. The sketches must come from one Shingler.
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

// ModEstimates is MinEstimates of MOD_m sketches, whose sample is of no fixed size (Broder 1997,
// theorem 1). The sketches must come from one Shingler and have one modulus.
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

// Unbounded returns the sketch as a MinSketch without a largest size: MinEstimates of two such are
// ModEstimates of the originals. It shares the values.
func (m ModSketch) Unbounded() MinSketch {
	return MinSketch{Values: m.Values, Size: math.MaxInt, Set: m.Set}
}

// Super returns the super-shingles of a sketch: a hash of every run of width values (Broder 1997,
// section 4). Two documents with one in common have width neighbouring members of their sketches
// in common, and nearly always resemble each other greatly; documents of resemblance r have about
// (Size-width+1)·r^width in common. A sketch of fewer values has one super-shingle, of them all;
// that of an empty set none. The result has no order that means anything.
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
