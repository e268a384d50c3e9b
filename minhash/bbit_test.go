package minhash_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"concordat"
	"concordat/internal/cputime"
	"concordat/minhash"
)

// three returns sets whose Venn diagram has seven parts of the given sizes: a alone, b alone, c alone, ab, ac, bc, abc.
func three(rng *rand.Rand, parts [7]int) (sets [3][]uint64) {
	in := [7][]int{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}
	for p, n := range parts {
		for range n {
			x := rng.Uint64()
			for _, s := range in[p] {
				sets[s] = append(sets[s], x)
			}
		}
	}
	return sets
}

// exactThree computes each resemblance by definition.
func exactThree(sets [3][]uint64) minhash.ThreeWay {
	in := map[uint64]int{}
	for s, set := range sets {
		for _, x := range set {
			in[x] |= 1 << s
		}
	}
	share := func(mask int) float64 {
		both, either := 0.0, 0.0
		for _, m := range in {
			if m&mask == mask {
				both++
			}
			if m&mask != 0 {
				either++
			}
		}
		return both / either
	}
	return minhash.ThreeWay{AB: share(3), AC: share(5), BC: share(6), All: share(7)}
}

// TestThreeWayIsUnbiased compares the mean of many estimates with the definition, and their spread with the stated standard error, for
// sketches of documents and of sentences.
func TestThreeWayIsUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const runs = 1500
	for _, parts := range [][7]int{{40, 30, 20, 50, 10, 5, 60}, {10, 10, 10, 0, 0, 0, 100}, {60, 60, 60, 0, 0, 0, 0},
		{50, 0, 0, 30, 30, 0, 5}} {
		for _, c := range [][2]int{{2, 64}, {4, 25}, {4, 200}, {8, 100}} {
			d, err := minhash.NewDocument(c[0], c[1], nil)
			if err != nil {
				t.Fatal(err)
			}
			var want minhash.ThreeWay
			var sum, square, claimed float64
			for range runs {
				sets := three(rng, parts)
				want = exactThree(sets)
				w, err := d.ThreeWay(d.Sketch(sets[0]), d.Sketch(sets[1]), d.Sketch(sets[2]))
				if err != nil {
					t.Fatal(err)
				}
				sum += w.All
				square += w.All * w.All
				claimed += w.Deviation
			}
			mean := sum / runs
			spread := math.Sqrt(square/runs - mean*mean)
			if math.Abs(mean-want.All) > 4*spread/math.Sqrt(runs)+1e-9 {
				t.Errorf("%v, b=%d, %d hashes: mean %.4f, want %.4f", parts, c[0], c[1], mean, want.All)
			}
			// Bins are drawn without replacement, so the spread can be smaller than stated.
			if claimed/runs > 0.01 && (spread > 1.12*claimed/runs) {
				t.Errorf("%v, b=%d, %d hashes: spread %.4f, claimed %.4f", parts, c[0], c[1], spread, claimed/runs)
			}
		}
	}
}

func TestThreeWayOfFingerprints(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	s := sketcher(t, 4, "")
	parts := [7]int{10, 5, 5, 15, 5, 0, 30}
	sum, runs := minhash.ThreeWay{}, 4000.0
	var want minhash.ThreeWay
	for range int(runs) {
		sets := three(rng, parts)
		want = exactThree(sets)
		w, err := s.ThreeWay(s.Sketch(sets[0]), s.Sketch(sets[1]), s.Sketch(sets[2]))
		if err != nil {
			t.Fatal(err)
		}
		sum.All += w.All
		sum.AB += w.AB
		sum.AC += w.AC
	}
	for _, c := range [][2]float64{{sum.All / runs, want.All}, {sum.AB / runs, want.AB}, {sum.AC / runs, want.AC}} {
		if math.Abs(c[0]-c[1]) > 0.007 { // four standard errors
			t.Errorf("mean %.4f, want %.4f", c[0], c[1])
		}
	}
	if _, err := sketcher(t, 1, "").ThreeWay(concordat.Fingerprint{}, concordat.Fingerprint{}, concordat.Fingerprint{}); err == nil {
		t.Error("b = 1 gave a three-way resemblance")
	}
}

// TestDocumentResemblance compares the two-way estimate with the definition over the whole range.
func TestDocumentResemblance(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, b := range []int{1, 2, 4, 8} {
		d, err := minhash.NewDocument(b, 100, []byte("k"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []float64{0, 0.2, 0.5, 0.8, 1} {
			sum, square, deviation, runs := 0.0, 0.0, 0.0, 800.0
			var exact float64
			for range int(runs) {
				var x, y []uint64
				x, y, exact = pair(rng, 80, r)
				v, dev, err := d.Resemblance(d.Sketch(x), d.Sketch(y))
				if err != nil {
					t.Fatal(err)
				}
				sum, square, deviation = sum+v, square+v*v, deviation+dev
			}
			mean := sum / runs
			spread := math.Sqrt(max(0, square/runs-mean*mean))
			if math.Abs(mean-exact) > 4*spread/math.Sqrt(runs)+1e-9 || spread > 1.12*deviation/runs+1e-9 {
				t.Errorf("b=%d, r=%.2f: mean %.4f, spread %.4f, claimed %.4f", b, exact, mean, spread, deviation/runs)
			}
		}
		if _, _, err := d.Resemblance(nil, d.Sketch([]uint64{1})); err == nil {
			t.Error("the sketch of an empty set was compared")
		}
	}
}

func BenchmarkDocumentSketch(b *testing.B) {
	d, err := minhash.NewDocument(4, 1600, nil)
	if err != nil {
		b.Fatal(err)
	}
	x, _, _ := pair(rand.New(rand.NewPCG(8, 8)), 5000, 0.5)
	b.ReportAllocs()
	start := cputime.Used()
	for b.Loop() {
		d.Sketch(x)
	}
	cputime.Report(b, start, b.N, "op")
}
