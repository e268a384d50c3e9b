package simhash_test

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"concordat/internal/cputime"
	"concordat/simhash"
)

func printer(t testing.TB, h simhash.Hash) *simhash.Printer {
	t.Helper()
	p, err := simhash.NewPrinter(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPrintIsTheDefinition compares the print with the counters of Manku, Jain and Das Sarma 2007, section 2.1, for hashes with known
// planes: the feature's own bits, and MD5.
func TestPrintIsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	plain, hashed := printer(t, simhash.HashPlain), printer(t, simhash.HashMD5)
	for range 200 {
		var features []simhash.Feature
		var sums [64]float64
		var sums128 [128]float64
		for range 1 + rng.IntN(50) {
			f := simhash.Feature{Hash: rng.Uint64(), Weight: rng.Int32N(1000) - 200}
			features = append(features, f)
			digest := md5.Sum(binary.BigEndian.AppendUint64(nil, f.Hash))
			for b := range 64 {
				sums[b] += float64(f.Weight) * (2*float64(f.Hash>>b&1) - 1)
			}
			for b := range 128 {
				word := binary.BigEndian.Uint64(digest[8*(b/64):])
				sums128[b] += float64(f.Weight) * (2*float64(word>>(b%64)&1) - 1)
			}
		}
		got := plain.Print64(features)
		wide, err := hashed.Print128(features)
		if err != nil {
			t.Fatal(err)
		}
		for b, s := range sums {
			if s != 0 && (s > 0) != (got>>b&1 == 1) {
				t.Fatalf("bit %d: sum %v, print %x", b, s, got)
			}
		}
		for b, s := range sums128 {
			if s != 0 && (s > 0) != (wide[b/64]>>(b%64)&1 == 1) {
				t.Fatalf("bit %d of 128: sum %v, print %x", b, s, wide)
			}
		}
		if hashed.Print64(features) != wide[0] {
			t.Fatal("the first word of Print128 is not Print64")
		}
		rng.Shuffle(len(features), func(i, j int) { features[i], features[j] = features[j], features[i] })
		if plain.Print64(features) != got {
			t.Fatal("order matters")
		}
	}
	if got := plain.Print64(nil); got != 0 {
		t.Errorf("no features: got %x, want 0", got)
	}
	if _, err := plain.Print128(nil); err == nil {
		t.Error("128 bits of plain hashes gave no error")
	}
}

// TestPrintDistanceFollowsAngle: the expected distance is f·θ/π (Charikar 2002, section 3).
func TestPrintDistanceFollowsAngle(t *testing.T) {
	const rounds, n = 2000, 200
	rng := rand.New(rand.NewPCG(3, 4))
	p := printer(t, simhash.HashMix)
	for _, common := range []int{0, 100, 180, 196} {
		var d64, d128 float64
		for range rounds {
			shared := random(rng, common)
			var w simhash.Weighting
			a := w.Weigh(append(random(rng, n-common), shared...), nil)
			b := w.Weigh(append(random(rng, n-common), shared...), nil)
			x, _ := p.Print128(a)
			y, _ := p.Print128(b)
			d64 += float64(bits.OnesCount64(p.Print64(a) ^ p.Print64(b)))
			d128 += float64(simhash.Distance128(x, y))
		}
		share := math.Acos(float64(common)/n) / math.Pi
		// Allow four standard errors of the mean; the bits of a print are nearly independent.
		for bitsOf, got := range map[float64]float64{64: d64 / rounds, 128: d128 / rounds} {
			want, err := bitsOf*share, 4*math.Sqrt(bitsOf*share*(1-share)/rounds)
			if math.Abs(got-want) > err+0.01*bitsOf {
				t.Errorf("%d of %d common, %v bits: mean distance %.2f, want %.2f ± %.2f", common, n, bitsOf, got, want, err)
			}
		}
	}
}

func TestWeigh(t *testing.T) {
	var df simhash.Frequencies
	for i := range 7 {
		doc := []uint64{1, 1}
		if i < 1 {
			doc = append(doc, 2)
		}
		df.Add(doc)
	}
	doc := func() []uint64 { return []uint64{2, 1, 1, 1, 1, 3} }
	for _, c := range []struct {
		w    simhash.Weighting
		want [3]int32 // for features 1, 2 and 3
	}{
		{simhash.Weighting{}, [3]int32{4 * 256, 256, 256}},
		{simhash.Weighting{TF: simhash.TFOnce}, [3]int32{256, 256, 256}},
		{simhash.Weighting{TF: simhash.TFLog}, [3]int32{3 * 256, 256, 256}},
		// For seven documents: log2(8/8), log2(8/2), log2(8/1), plus 1/256 each.
		{simhash.Weighting{TF: simhash.TFOnce, Frequencies: &df}, [3]int32{1, 2*256 + 1, 3*256 + 1}},
	} {
		got := c.w.Weigh(doc(), nil)
		if len(got) != 3 {
			t.Fatalf("%+v: %d features, want 3", c.w, len(got))
		}
		for i, f := range got {
			if f.Hash != uint64(i+1) || f.Weight != c.want[i] {
				t.Errorf("%+v: feature %d weighs %d, want %d", c.w, f.Hash, f.Weight, c.want[i])
			}
		}
	}
}

// TestIDFIsTheLogarithm compares the integer logarithm with math.Log2.
func TestIDFIsTheLogarithm(t *testing.T) {
	for n := 1; n < 3000; n += 7 {
		var df simhash.Frequencies
		for range n {
			df.Add([]uint64{9})
		}
		want := 256 * math.Log2(float64(n+1))
		if got := float64(df.IDF(1)) - 1; got > want || got < want-1.01 {
			t.Fatalf("log2(%d) = %v/256, want %v/256", n+1, got, want)
		}
		if n > 60 {
			n += 300
		}
	}
}

func TestNewPrinterRefuses(t *testing.T) {
	if _, err := simhash.NewPrinter(simhash.Hash(9), nil); err == nil {
		t.Error("an unknown hash gave no error")
	}
	if _, err := simhash.NewPrinter(simhash.HashPlain, []byte("key")); err == nil {
		t.Error("a key of plain hashes gave no error")
	}
}

// TestPrintVectors pins prints for other implementations: a change requires a new scheme.
func TestPrintVectors(t *testing.T) {
	features := []simhash.Feature{{1, 256}, {2, 512}, {0xfedcba9876543210, 100}}
	for h, want := range printVectors {
		if got := printer(t, h).Print64(features); got != want {
			t.Errorf("hash %d: got %#016x, want %#016x", h, got, want)
		}
	}
}

func BenchmarkPrint64(b *testing.B) {
	p := printer(b, simhash.HashMix)
	features := simhash.Weighting{}.Weigh(random(rand.New(rand.NewPCG(1, 1)), 200), nil)
	b.ReportAllocs()
	start := cputime.Used()
	for b.Loop() {
		p.Print64(features)
	}
	cputime.Report(b, start, b.N, "op")
}

var printVectors = map[simhash.Hash]uint64{
	simhash.HashMix:   0x52af61cae8caf977,
	simhash.HashPlain: 0x0000000000000002,
	simhash.HashMD5:   0xe675cc21c1f78217,
}

// TestPrintOfAnyWidth compares the print with the counters of Manku, Jain and Das Sarma 2007, section 2.1, over the bytes of SHA-1 and
// SHA-256, and checks that every narrower print is the beginning of the wider one.
func TestPrintOfAnyWidth(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	digests := map[simhash.Hash]func(b []byte) []byte{
		simhash.HashSHA1:   func(b []byte) []byte { d := sha1.Sum(b); return d[:16] },
		simhash.HashSHA256: func(b []byte) []byte { d := sha256.Sum256(b); return d[:] },
	}
	for h := simhash.HashMix; h <= simhash.HashSHA256; h++ {
		if h == simhash.HashPlain {
			continue
		}
		features := simhash.Weighting{}.Weigh(random(rng, 51), nil) // an odd number, so that no sum is zero
		whole, err := printer(t, h).Print(features, simhash.MaxBits)
		if err != nil {
			t.Fatal(err)
		}
		if whole[0] == whole[2] || whole[1] == whole[3] {
			t.Errorf("hash %d: the far half repeats the near one", h)
		}
		if two, _ := printer(t, h).Print128(features); two != [2]uint64(whole[:2]) || printer(t, h).Print64(features) != whole[0] {
			t.Errorf("hash %d: Print begins otherwise than Print128", h)
		}
		for _, width := range []int{1, 32, 64, 65, 100, 128, 192, 255} {
			got, err := printer(t, h).Print(features, width)
			if err != nil {
				t.Fatal(err)
			}
			for b := range simhash.MaxBits {
				want := b < width && whole[b/64]>>(b%64)&1 == 1
				if got[b/64]>>(b%64)&1 == 1 != want {
					t.Fatalf("hash %d, %d bits: bit %d is wrong", h, width, b)
				}
			}
		}
		digest, ok := digests[h]
		if !ok {
			continue
		}
		var sums [256]int
		width := 0
		for _, f := range features {
			d := digest(binary.BigEndian.AppendUint64(nil, f.Hash))
			width = 8 * len(d)
			for b := range width {
				sums[b] += 2*int(binary.BigEndian.Uint64(d[8*(b/64):])>>(b%64)&1) - 1
			}
		}
		for b := range width {
			if (sums[b] > 0) != (whole[b/64]>>(b%64)&1 == 1) {
				t.Fatalf("hash %d: bit %d is not the sign of its sum %d", h, b, sums[b])
			}
		}
	}
	for _, width := range []int{0, 257} {
		if _, err := printer(t, simhash.HashMix).Print(nil, width); err == nil {
			t.Errorf("%d bits gave no error", width)
		}
	}
	if _, err := printer(t, simhash.HashPlain).Print(nil, 65); err == nil {
		t.Error("65 plain bits gave no error")
	}
}

func TestFrequenciesAgain(t *testing.T) {
	var df simhash.Frequencies
	for i := range uint64(20) {
		df.Add([]uint64{1, 2 + i%3, 100 + i})
	}
	again, err := simhash.NewFrequencies(uint32(df.Documents()), df.All())
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for f := range df.All() {
		if f <= last {
			t.Fatalf("feature %d after %d", f, last)
		}
		if last = f; again.IDF(f) != df.IDF(f) {
			t.Fatalf("feature %d: idf %d, want %d", f, again.IDF(f), df.IDF(f))
		}
	}
	if again.Features() != df.Features() {
		t.Fatalf("%d features, want %d", again.Features(), df.Features())
	}
	for _, n := range []uint32{0, 21} {
		if _, err := simhash.NewFrequencies(20, func(yield func(uint64, uint32) bool) { yield(1, n) }); err == nil {
			t.Errorf("a feature of %d of 20 documents gave no error", n)
		}
	}
}
