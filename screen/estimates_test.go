package screen_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"concordat/internal/corpora"
	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
)

// estimator records how estimates of one kind compare with the truth.
type estimator struct {
	name           string
	n, inside      int
	errors, square float64 // sum of estimate - truth
	standardised   float64 // squares of the error divided by its standard deviation
	standard       int
}

func (e *estimator) add(estimate, truth, low, high, deviation float64) {
	e.n++
	if low <= truth+1e-12 && truth <= high+1e-12 {
		e.inside++
	}
	d := estimate - truth
	e.errors += d
	e.square += d * d
	if deviation > 0 {
		e.standard++
		e.standardised += d * d / (deviation * deviation)
	}
}

// TestEstimatesOfRealPairs compares the estimated resemblance and containment of 10,000 pairs of funding calls with the exact values.
// There is no bias beyond chance, no more spread than the binomial, and the truth is within the 95 % interval at least as often as
// claimed. Every pair has its own permutation, so that the errors are independent.
func TestEstimatesOfRealPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: compares 10,000 pairs")
	}
	var sets [][]uint64
	corpora.Lines(t, "grants/nih-calls.tsv.gz", func(line string) bool {
		f := strings.SplitN(line, "\t", 3)
		cut, err := segment.Split(f[2])
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, screen.Shingling{Width: 5}.Append(cut, nil))
		return true
	})
	var pairs []screen.Shared
	sizes, err := screen.ExactPairs(sets, func(s screen.Shared) bool { pairs = append(pairs, s); return true })
	if err != nil {
		t.Fatal(err)
	}
	jaccard := func(p screen.Shared) float64 { return float64(p.Common) / float64(sizes[p.A]+sizes[p.B]-p.Common) }
	// Take the 5,000 most similar pairs, and 5,000 of the others at random.
	slices.SortFunc(pairs, func(a, b screen.Shared) int {
		if d := jaccard(b) - jaccard(a); d != 0 {
			return int(math.Copysign(1, d))
		}
		return a.A*len(sets) + a.B - b.A*len(sets) - b.B
	})
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(pairs)-5000, func(i, j int) { pairs[5000+i], pairs[5000+j] = pairs[5000+j], pairs[5000+i] })
	pairs = pairs[:10_000]

	all := []*estimator{{name: "MIN_100 resemblance"}, {name: "MIN_100 containment"}, {name: "MOD_8 resemblance"}, {name: "MOD_8 containment"},
		{name: "b-bit 200 x 4 (100 bytes) resemblance"}, {name: "b-bit 1600 x 4 (800 bytes) resemblance"}}
	binomial := func(p float64, n int) float64 { return math.Sqrt(p * (1 - p) / float64(max(1, n))) }
	for i, p := range pairs {
		key := binary.BigEndian.AppendUint32(nil, uint32(i))
		s := minhash.NewShingler(key)
		a, b := sets[p.A], sets[p.B]
		r, in := jaccard(p), float64(p.Common)/float64(sizes[p.A])
		estimate := func(at int, er, ea minhash.Estimate) {
			low, high := er.Interval(0.95)
			all[at].add(er.Value(), r, low, high, binomial(r, er.Trials))
			if ea.Trials > 0 {
				low, high = ea.Interval(0.95)
				all[at+1].add(ea.Value(), in, low, high, binomial(in, ea.Trials))
			}
		}
		er, ea, _ := minhash.MinEstimates(s.Min(a, 100), s.Min(b, 100))
		estimate(0, er, ea)
		er, ea, _ = minhash.ModEstimates(s.Mod(a, 8), s.Mod(b, 8))
		estimate(2, er, ea)
		for j, hashes := range []int{200, 1600} {
			if hashes == 1600 && i%10 != 0 {
				continue
			}
			d, err := minhash.NewDocument(4, hashes, key)
			if err != nil {
				t.Fatal(err)
			}
			v, deviation, err := d.Resemblance(d.Sketch(a), d.Sketch(b))
			if err != nil {
				t.Fatal(err)
			}
			// Compute the theoretical deviation at the true resemblance (Li and König 2010, section 3.2).
			e := 1.0/16 + 15.0/16*r
			all[4+j].add(v, r, v-1.96*deviation, v+1.96*deviation, binomial(e, hashes)/(15.0/16))
		}
	}
	for _, e := range all {
		n := float64(e.n)
		mean, rms := e.errors/n, math.Sqrt(e.square/n)
		variance := e.standardised / float64(e.standard)
		t.Logf("%-40s %5d pairs: mean error %+.5f, root mean square %.4f, variance %.3f of the binomial, truth within the 95 %% interval in %.4f", e.name, e.n, mean, rms, variance, float64(e.inside)/n)
		if math.Abs(mean) > 4*rms/math.Sqrt(n) || variance > 1.1 || float64(e.inside)/n < 0.95-4*math.Sqrt(0.05*0.95/n) {
			t.Errorf("%s is outside its confidence", e.name)
		}
	}
}
