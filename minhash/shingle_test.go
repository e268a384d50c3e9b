package minhash_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/internal/cputime"
	"concordat/minhash"
)

// twoSets returns two sets with the given numbers of members in only a, only b, and both.
func twoSets(rng *rand.Rand, onlyA, onlyB, both int) (a, b []uint64) {
	for range both {
		a = append(a, rng.Uint64())
	}
	b = slices.Clone(a)
	for range onlyA {
		a = append(a, rng.Uint64())
	}
	for range onlyB {
		b = append(b, rng.Uint64())
	}
	return a, b
}

func shingler(i int) *minhash.Shingler {
	return minhash.NewShingler(binary.BigEndian.AppendUint64(nil, uint64(i)))
}

// moments collects an estimator's results.
type moments struct {
	n, sum, square float64
	covered        int
}

func (m *moments) add(e minhash.Estimate, truth float64) {
	v := e.Value()
	m.n++
	m.sum += v
	m.square += v * v
	if low, high := e.Interval(0.95); low-1e-9 <= truth && truth <= high+1e-9 {
		m.covered++
	}
}

// check requires the mean to be within four standard errors of the truth, the variance to be below the binomial variance for the mean
// number of trials, and the intervals to reach their confidence.
func (m *moments) check(t *testing.T, what string, truth, trials float64) {
	t.Helper()
	mean := m.sum / m.n
	variance := m.square/m.n - mean*mean
	if se := math.Sqrt(variance / m.n); math.Abs(mean-truth) > 4*se+1e-9 {
		t.Errorf("%s: mean %.4f, truth %.4f, standard error %.4f", what, mean, truth, se)
	}
	if binomial := truth * (1 - truth) / trials; variance > 1.15*binomial+1e-6 {
		t.Errorf("%s: variance %.6f, binomial %.6f", what, variance, binomial)
	}
	if share := float64(m.covered) / m.n; share < 0.94 {
		t.Errorf("%s: %.3f of the 95 %% intervals hold the truth", what, share)
	}
}

// TestEstimatorsAreUnbiased checks theorem 1 of Broder 1997 over 10,000 permutations in total.
func TestEstimatorsAreUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rounds = 1250
	for _, c := range [][3]int{{50, 50, 400}, {300, 300, 300}, {20, 700, 80}, {400, 400, 10}} {
		a, b := twoSets(rng, c[0], c[1], c[2])
		union, both := float64(c[0]+c[1]+c[2]), float64(c[2])
		sizeA, sizeB := float64(c[0]+c[2]), float64(c[1]+c[2])
		var min, mod [3]moments
		truth := [3]float64{both / union, both / sizeA, both / sizeB}
		for i := range rounds {
			s := shingler(i)
			r, inA, inB := minhash.MinEstimates(s.Min(a, 100), s.Min(b, 100))
			for k, e := range []minhash.Estimate{r, inA, inB} {
				min[k].add(e, truth[k])
			}
			r, inA, inB = minhash.ModEstimates(s.Mod(a, 8), s.Mod(b, 8))
			for k, e := range []minhash.Estimate{r, inA, inB} {
				if e.Trials > 0 {
					mod[k].add(e, truth[k])
				}
			}
		}
		for k, of := range []float64{union, sizeA, sizeB} {
			min[k].check(t, "MIN "+string(rune('0'+k)), truth[k], 100*of/union*0.97)
			mod[k].check(t, "MOD "+string(rune('0'+k)), truth[k], of/8*0.93)
		}
	}
}

func TestSmallSetsAreExact(t *testing.T) {
	s := shingler(1)
	a, b := twoSets(rand.New(rand.NewPCG(3, 4)), 10, 20, 30)
	r, inA, inB := minhash.MinEstimates(s.Min(a, 100), s.Min(append(b, b...), 100))
	for i, c := range []struct {
		got  minhash.Estimate
		want float64
	}{{r, 0.5}, {inA, 0.75}, {inB, 0.6}} {
		low, high := c.got.Interval(0.95)
		if c.got.Value() != c.want || !c.got.Exact || low != c.want || high != c.want {
			t.Errorf("estimate %d: %+v, want exactly %v", i, c.got, c.want)
		}
	}
	r, inA, _ = minhash.MinEstimates(s.Min(nil, 100), s.Min(b, 100))
	if r.Value() != 0 || inA.Trials != 0 {
		t.Errorf("empty set: %+v, %+v", r, inA)
	}
	if m := s.Min(b, 100); len(m.Values)*8 > 800 {
		t.Errorf("%d values", len(m.Values))
	}
}

// TestInterval compares with tables of Clopper and Pearson's bounds: 5 of 10 at 95 % is 0.1871 to 0.8129, 0 of 10 is 0
// to 0.3085.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		hits, trials int
		low, high    float64
	}{{5, 10, 0.1871, 0.8129}, {0, 10, 0, 0.3085}, {10, 10, 0.6915, 1}, {0, 0, 0, 1}, {50, 100, 0.3983, 0.6017},
		{900, 1000, 0.8797, 0.9179}, {99000, 100000, 0.98936, 0.99061}} {
		low, high := minhash.Estimate{Hits: c.hits, Trials: c.trials}.Interval(0.95)
		if math.Abs(low-c.low) > 1e-4 || math.Abs(high-c.high) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.hits, c.trials, low, high, c.low, c.high)
		}
	}
}

// TestSuperShingles: the expected number of common super-shingles is (s-w+1)·r^w.
func TestSuperShingles(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a, b := twoSets(rng, 50, 50, 900)
	const s, w, rounds = 100, 6, 400
	common := 0
	for i := range rounds {
		sh := shingler(i)
		in := map[uint64]bool{}
		for _, x := range sh.Min(a, s).Super(w) {
			in[x] = true
		}
		for _, x := range sh.Min(b, s).Super(w) {
			if in[x] {
				common++
			}
		}
	}
	got, want := float64(common)/rounds, (s-w+1)*math.Pow(0.9, w)
	if math.Abs(got-want) > 0.1*want {
		t.Errorf("%.1f super-shingles in common, want %.1f", got, want)
	}
	if got := shingler(0).Min(a[:3], s).Super(w); len(got) != 1 {
		t.Errorf("three shingles have %d super-shingles, want 1", len(got))
	}
	if got := shingler(0).Min(nil, s).Super(w); len(got) != 0 {
		t.Errorf("none have %d", len(got))
	}
}

func BenchmarkMin(b *testing.B) {
	a, _ := twoSets(rand.New(rand.NewPCG(7, 8)), 0, 0, 1000)
	s := shingler(0)
	b.ReportAllocs()
	start := cputime.Used()
	for b.Loop() {
		s.Min(a, 100)
	}
	cputime.Report(b, start, b.N, "op")
}
