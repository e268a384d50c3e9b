package minhash_test

import (
	"bufio"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/cputime"
	"concordat/minhash"
)

func sketcher(tb testing.TB, b int, key string) *minhash.Sketcher {
	tb.Helper()
	s, err := minhash.New(b, []byte(key))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestNewRefusesOtherB(t *testing.T) {
	for _, b := range []int{-1, 0, 3, 5, 8} {
		if _, err := minhash.New(b, nil); err == nil {
			t.Errorf("New(%d) gave no error", b)
		}
	}
}

// naive implements the definition of Dahlgaard, Knudsen and Thorup 2017, figure 1, literally: all 2t rounds over all features, with each
// bin keeping its least (round, value).
func naive(s *minhash.Sketcher, features []uint64) concordat.Fingerprint {
	var out concordat.Fingerprint
	if len(features) == 0 {
		return out
	}
	t := concordat.Bits / s.BitsPerHash()
	type entry struct {
		round int
		value uint64
	}
	best := make([]entry, t)
	for i := range best {
		best[i] = entry{math.MaxInt, math.MaxUint64}
	}
	for round := range 2 * t {
		for _, f := range features {
			h := minhash.RoundHash(s, round, f)
			bin, _ := bits.Mul64(h, uint64(t))
			if round >= t {
				bin = uint64(round - t)
			}
			e := entry{round, h<<32 | h>>32}
			if b := best[bin]; e.round < b.round || e.round == b.round && e.value < b.value {
				best[bin] = e
			}
		}
	}
	for i, e := range best {
		v := minhash.KeptBits(s, e.value)
		at := i * s.BitsPerHash()
		out[at/60] |= v << (at % 60)
	}
	return out
}

func TestSketchIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, b := range []int{1, 2, 4} {
		s := sketcher(t, b, "k")
		for range 300 {
			features := make([]uint64, 1+rng.IntN(60))
			for i := range features {
				features[i] = rng.Uint64()
			}
			if got, want := s.Sketch(features), naive(s, features); got != want {
				t.Fatalf("b=%d, %d features: got %v, want %v", b, len(features), got, want)
			}
		}
	}
}

func TestSketchIsOfASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	s := sketcher(t, 4, "")
	for range 100 {
		f := make([]uint64, 1+rng.IntN(40))
		for i := range f {
			f[i] = rng.Uint64()
		}
		want := s.Sketch(f)
		g := append(append([]uint64{}, f...), f...)
		rng.Shuffle(len(g), func(i, j int) { g[i], g[j] = g[j], g[i] })
		if got := s.Sketch(g); got != want {
			t.Fatalf("repeated and shuffled: got %v, want %v", got, want)
		}
	}
	if got := s.Sketch(nil); got != (concordat.Fingerprint{}) {
		t.Errorf("empty set: got %v, want zero", got)
	}
}

func TestKeysAreIndependent(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a, b := sketcher(t, 4, "one"), sketcher(t, 4, "two")
	sum := 0
	for range 2000 {
		f := []uint64{rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()}
		sum += a.Sketch(f).Distance(b.Sketch(f))
	}
	if mean := float64(sum) / 2000; math.Abs(mean-50) > 0.7 {
		t.Errorf("mean distance under two keys %.2f, want 50", mean)
	}
}

// pair returns two sets of n features each whose resemblance is as near r as the sizes allow, and that resemblance.
func pair(rng *rand.Rand, n int, r float64) (a, b []uint64, exact float64) {
	common := int(math.Round(2 * float64(n) * r / (1 + r)))
	for range common {
		x := rng.Uint64()
		a, b = append(a, x), append(b, x)
	}
	for len(a) < n {
		a, b = append(a, rng.Uint64()), append(b, rng.Uint64())
	}
	return a, b, float64(common) / float64(2*n-common)
}

// TestEstimatorBiasAndSpread compares the estimate with the theory. It is unbiased and has no more variance than with independent
// permutations, q(1−q)/t / (1−2^−b)², where q is the probability of equal hashes (Li and König 2010, theorem 1 and section 3). Fast
// similarity sketching promises no more variance than that.
func TestEstimatorBiasAndSpread(t *testing.T) {
	const rounds = 4000
	for _, b := range []int{1, 2, 4} {
		rng := rand.New(rand.NewPCG(7, uint64(b)))
		s := sketcher(t, b, "")
		for _, n := range []int{10, 25, 110} {
			for _, r := range []float64{0.3, 0.6, 0.9} {
				var sum, square, exactSum, distance float64
				for range rounds {
					fa, fb, exact := pair(rng, n, r)
					x, y := s.Sketch(fa), s.Sketch(fb)
					e := s.ResemblanceOf(x, y) - exact
					sum += e
					square += e * e
					exactSum += exact
					distance += float64(x.Distance(y))
				}
				exact := exactSum / rounds
				chance := math.Ldexp(1, -b)
				q := chance + (1-chance)*exact
				theory := math.Sqrt(q*(1-q)/float64(100/b)) / (1 - chance)
				bias, rmse := sum/rounds, math.Sqrt(square/rounds)
				// Clamping to 0 and 1 introduces a little bias where the spread reaches the ends.
				if limit := 5*theory/math.Sqrt(rounds) + 0.006; math.Abs(bias) > limit {
					t.Errorf("b=%d n=%d R=%.2f: bias %+.4f, limit %.4f", b, n, exact, bias, limit)
				}
				if rmse > theory*1.07 {
					t.Errorf("b=%d n=%d R=%.2f: spread %.4f, independent permutations have %.4f", b, n, exact, rmse, theory)
				}
				if d := distance / rounds; math.Abs(d-50*(1-exact)) > 0.8 {
					t.Errorf("b=%d n=%d R=%.2f: mean distance %.2f, want %.2f", b, n, exact, d, 50*(1-exact))
				}
				t.Logf("b=%d n=%3d R=%.2f: bias %+.4f spread %.4f (independent %.4f)", b, n, exact, bias, rmse, theory)
			}
		}
	}
}

func TestRecallFormula(t *testing.T) {
	s := sketcher(t, 4, "")
	rng := rand.New(rand.NewPCG(9, 9))
	for _, r := range []float64{0.5, 0.8} {
		exact, one, n := 0, 0, 4000
		var mean float64
		for range n {
			fa, fb, have := pair(rng, 60, r)
			mean += have / float64(n)
			x, y := s.Sketch(fa), s.Sketch(fb)
			best := 5
			for i := range concordat.Bands {
				d := 0
				for j := range 5 {
					if (x.Band(i)^y.Band(i))>>(4*j)&15 != 0 {
						d++
					}
				}
				best = min(best, d)
			}
			if best == 0 {
				exact++
			}
			if best <= 1 {
				one++
			}
		}
		for _, c := range []struct {
			got   int
			probe concordat.Probe
		}{{exact, concordat.ProbeExact}, {one, concordat.ProbeOne}} {
			got, want := float64(c.got)/float64(n), minhash.Recall(mean, 4, c.probe)
			if math.Abs(got-want) > 0.035 {
				t.Errorf("R=%.2f probe %v: recall %.3f, formula %.3f", mean, c.probe, got, want)
			}
		}
	}
}

// TestVectors reads testdata/vectors.txt, which other implementations can use: b, key, features, fingerprint. A changed result requires a
// new scheme, never a new vector.
func TestVectors(t *testing.T) {
	f, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		field := strings.Fields(line)
		b, _ := strconv.Atoi(field[0])
		key, _ := strconv.Unquote(field[1])
		var features []uint64
		for _, x := range strings.Split(field[2], ",") {
			if x == "-" {
				continue
			}
			v, err := strconv.ParseUint(x, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			features = append(features, v)
		}
		if got := sketcher(t, b, key).Sketch(features).String(); got != field[3] {
			t.Errorf("%s: got %s", line, got)
		}
		n++
	}
	if n < 10 {
		t.Errorf("only %d vectors", n)
	}
}

func FuzzSketch(f *testing.F) {
	f.Add([]byte("a seed of some length, twice eight"), byte(4))
	f.Add([]byte{}, byte(1))
	f.Fuzz(func(t *testing.T, data []byte, b byte) {
		s, err := minhash.New(int(b), nil)
		if err != nil {
			return
		}
		var features []uint64
		for i := 0; i+8 <= len(data); i += 8 {
			var x uint64
			for _, c := range data[i : i+8] {
				x = x<<8 | uint64(c)
			}
			features = append(features, x)
		}
		got := s.Sketch(features)
		if got[0]>>60 != 0 || got[1]>>40 != 0 {
			t.Fatalf("bits beyond 100: %x", got)
		}
		if len(features) < 100 && got != naive(s, features) {
			t.Fatalf("not the definition")
		}
	})
}

func BenchmarkSketch(b *testing.B) {
	for _, n := range []int{5, 15, 50, 110} {
		b.Run("features="+strconv.Itoa(n), func(b *testing.B) {
			s := sketcher(b, 4, "")
			// Use many sets, because the processor would learn every branch of a single one.
			f := make([]uint64, 1<<16)
			rng := rand.New(rand.NewPCG(1, 1))
			for i := range f {
				f[i] = rng.Uint64()
			}
			b.ReportAllocs()
			at, start := 0, cputime.Used()
			for b.Loop() {
				s.Sketch(f[at : at+n])
				if at += n; at+n > len(f) {
					at = 0
				}
			}
			cputime.Report(b, start, b.N, "op")
		})
	}
}
