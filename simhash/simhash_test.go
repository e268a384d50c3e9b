package simhash_test

import (
	"bufio"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/cputime"
	"concordat/simhash"
)

func random(rng *rand.Rand, n int) []uint64 {
	f := make([]uint64, n)
	for i := range f {
		f[i] = rng.Uint64()
	}
	return f
}

// TestSketchIsWeightedByCount compares the bit-sliced counters with the sums of the definition (Charikar 2002, section
// 3): a feature given k times has weight k.
func TestSketchIsWeightedByCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := simhash.New(nil)
	for range 500 {
		var features []uint64
		for _, f := range random(rng, 1+rng.IntN(40)) {
			for range 1 + rng.IntN(5) {
				features = append(features, f)
			}
		}
		weights := make([]float64, len(features))
		for i := range weights {
			weights[i] = 1
		}
		want, err := s.Weighted(features, weights)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Sketch(features); got != want {
			t.Fatalf("%d features: got %v, want %v", len(features), got, want)
		}
		rng.Shuffle(len(features), func(i, j int) { features[i], features[j] = features[j], features[i] })
		if got := s.Sketch(features); got != want {
			t.Fatalf("order matters")
		}
	}
	if got := s.Sketch(nil); got != (concordat.Fingerprint{}) {
		t.Errorf("no features: got %v, want zero", got)
	}
}

func TestWeightedRefuses(t *testing.T) {
	s := simhash.New(nil)
	for _, w := range [][]float64{nil, {1}, {1, math.NaN()}, {math.Inf(1), 1}} {
		if _, err := s.Weighted([]uint64{1, 2}, w); err == nil {
			t.Errorf("weights %v gave no error", w)
		}
	}
}

// TestDistanceFollowsAngle compares the mean distance with 100·θ/π (Charikar 2002, section 3) and its variance with the
// binomial one, where θ is the angle between the weighted vectors.
func TestDistanceFollowsAngle(t *testing.T) {
	const rounds = 3000
	rng := rand.New(rand.NewPCG(5, 6))
	s := simhash.New(nil)
	for _, n := range []int{15, 16, 60} {
		for _, common := range []int{0, n / 2, n * 9 / 10} {
			var sum, square float64
			for range rounds {
				shared := random(rng, common)
				a := append(random(rng, n-common), shared...)
				b := append(random(rng, n-common), shared...)
				d := float64(s.Sketch(a).Distance(s.Sketch(b)))
				sum += d
				square += d * d
			}
			angle := math.Acos(float64(common) / float64(n))
			p := angle / math.Pi
			mean := sum / rounds
			variance := square/rounds - mean*mean
			// A sum of n signs is only approximately Gaussian; with so few features, the mean is within three bits.
			if math.Abs(mean-100*p) > 3 {
				t.Errorf("n=%d common=%d: mean distance %.2f, want %.2f", n, common, mean, 100*p)
			}
			if want := 100 * p * (1 - p); variance > want*1.2+1 {
				t.Errorf("n=%d common=%d: variance %.1f, binomial has %.1f", n, common, variance, want)
			}
		}
	}
}

func TestCosine(t *testing.T) {
	for d, want := range map[int]float64{0: 1, 50: 0, 100: 0, 25: math.Sqrt2 / 2} {
		if got := simhash.Cosine(d); math.Abs(got-want) > 1e-12 {
			t.Errorf("Cosine(%d) = %v, want %v", d, got, want)
		}
	}
}

// TestVectors reads testdata/vectors.txt, which other implementations can use: key, features, fingerprint. A changed result requires a
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
		key, _ := strconv.Unquote(field[0])
		var features []uint64
		for _, x := range strings.Split(field[1], ",") {
			v, err := strconv.ParseUint(x, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			features = append(features, v)
		}
		if got := simhash.New([]byte(key)).Sketch(features).String(); got != field[2] {
			t.Errorf("%s: got %s", line, got)
		}
		n++
	}
	if n < 6 {
		t.Errorf("only %d vectors", n)
	}
}

func FuzzSketch(f *testing.F) {
	f.Add([]byte("sixteen bytes ab sixteen bytes ab"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var features []uint64
		for i := 0; i+8 <= len(data) && i < 8*500; i += 8 {
			x, _ := strconv.ParseUint(strconv.Itoa(int(data[i])), 10, 64)
			features = append(features, x*0x9e3779b97f4a7c15+uint64(data[i+1]))
		}
		weights := make([]float64, len(features))
		for i := range weights {
			weights[i] = 1
		}
		s := simhash.New(nil)
		want, err := s.Weighted(features, weights)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Sketch(features); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func BenchmarkSketch(b *testing.B) {
	for _, n := range []int{15, 110} {
		b.Run("features="+strconv.Itoa(n), func(b *testing.B) {
			s := simhash.New(nil)
			f := random(rand.New(rand.NewPCG(1, 1)), n)
			b.ReportAllocs()
			start := cputime.Used()
			for b.Loop() {
				s.Sketch(f)
			}
			cputime.Report(b, start, b.N, "op")
		})
	}
}
