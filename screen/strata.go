package screen

import (
	"cmp"
	"math"
	"slices"

	"concordat/minhash"
)

// Label is a person's judgement of a pair of documents. Unknown is a separate judgement, as in Manku, Jain and Das Sarma 2007 (section
// 5.1); it counts neither for nor against a distance.
type Label string

// These are the labels.
const (
	LabelSame      Label = "same" // near-duplicates
	LabelDifferent Label = "different"
	LabelUnknown   Label = "unknown"
)

// StratifiedSample draws random pairs, the same number for every distance, since near pairs are few and a simple sample would contain
// hardly any. The choice depends on the seed and the pairs, but not on their order.
type StratifiedSample struct {
	each   int
	seed   uint64
	strata []sampledStratum
}

type sampledStratum struct {
	pairs int
	drawn []drawnTwin // in ascending order of lot; at most each of them
}

type drawnTwin struct {
	lot uint64
	Twin
}

// NewStratifiedSample returns a sample of each pairs (at least 1) for every distance from 0 to most.
func NewStratifiedSample(most, each int, seed uint64) *StratifiedSample {
	return &StratifiedSample{max(1, each), seed, make([]sampledStratum, most+1)}
}

// Add offers a pair to the sample. It ignores pairs with a distance above most.
func (s *StratifiedSample) Add(t Twin) {
	if t.Distance >= len(s.strata) {
		return
	}
	d := drawnTwin{mixed(mixed(s.seed^t.A) ^ t.B), t}
	of := &s.strata[t.Distance]
	of.pairs++
	at, _ := slices.BinarySearchFunc(of.drawn, d, func(x, y drawnTwin) int {
		return cmp.Or(cmp.Compare(x.lot, y.lot), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	if at < s.each {
		of.drawn = slices.Insert(of.drawn, at, d)
		of.drawn = of.drawn[:min(len(of.drawn), s.each)]
	}
}

// Drawn returns the drawn pairs of all distances in order of their lots, so that the person labelling them cannot predict the next
// distance. It also returns the number of pairs at each distance.
func (s *StratifiedSample) Drawn() (drawn []Twin, pairs []int) {
	var all []drawnTwin
	for i, of := range s.strata {
		pairs = append(pairs, of.pairs)
		for _, d := range of.drawn {
			d.lot = mixed(d.lot ^ uint64(i)) // the lots of a large stratum are all small
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(x, y drawnTwin) int {
		return cmp.Or(cmp.Compare(x.lot, y.lot), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	for _, d := range all {
		drawn = append(drawn, d.Twin)
	}
	return drawn, pairs
}

func mixed(x uint64) uint64 {
	s := steps(x)
	return s.next()
}

// Stratum counts the labels of the pairs at exactly one distance.
type Stratum struct {
	Distance  int `json:"distance"`
	Pairs     int `json:"pairs"` // number of pairs at this distance, labelled or not
	Same      int `json:"same"`
	Different int `json:"different"`
	Unknown   int `json:"unknown"`
}

// Add counts a label.
func (s *Stratum) Add(l Label) {
	switch l {
	case LabelSame:
		s.Same++
	case LabelDifferent:
		s.Different++
	default:
		s.Unknown++
	}
}

// Precision returns the proportion of pairs labelled same among those labelled same or different; its Interval follows Clopper and
// Pearson.
func (s Stratum) Precision() minhash.Estimate {
	return minhash.Estimate{Hits: s.Same, Trials: s.Same + s.Different}
}

// StratifiedPrecision returns the precision of the criterion "at a distance of one of the strata", weighted by the number of pairs in
// each, with its interval at the given confidence, which is the stratified Wilson interval of Yan and Su 2010. It takes the variance of a
// stratum at the centre of its Wilson interval, so that it is never 0, as it would be for 20 same out of 20. ok is false if a stratum
// with pairs has no decided label.
func StratifiedPrecision(strata []Stratum, confidence float64) (precision, low, high float64, ok bool) {
	total := 0
	for _, s := range strata {
		total += s.Pairs
	}
	z := math.Sqrt2 * math.Erfinv(confidence)
	squares, roots := 0.0, 0.0
	for _, s := range strata {
		n, weight := float64(s.Same+s.Different), float64(s.Pairs)/float64(max(1, total))
		if s.Pairs == 0 {
			continue
		}
		if n == 0 {
			return 0, 0, 1, false
		}
		precision += weight * float64(s.Same) / n
		low, high := wilson(float64(s.Same), n, z)
		p := (low + high) / 2
		squares += weight * weight * p * (1 - p) / n
		roots += weight * math.Sqrt(p*(1-p)/n)
	}
	if roots == 0 {
		return 0, 0, 1, false // no pairs
	}
	// This quantile converts the strata's weighted limits to limits of the weighted sum.
	z *= math.Sqrt(squares) / roots
	for _, s := range strata {
		if s.Pairs > 0 {
			l, h := wilson(float64(s.Same), float64(s.Same+s.Different), z)
			low += l * float64(s.Pairs) / float64(total)
			high += h * float64(s.Pairs) / float64(total)
		}
	}
	return precision, low, high, true
}

// wilson returns the interval for k of n at z standard deviations (Wilson 1927).
func wilson(k, n, z float64) (low, high float64) {
	centre := (k + z*z/2) / (n + z*z)
	half := z / (n + z*z) * math.Sqrt(k*(n-k)/n+z*z/4)
	return max(0, centre-half), min(1, centre+half)
}
