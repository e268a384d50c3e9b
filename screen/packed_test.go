package screen_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/internal/cputime"
	"concordat/screen"
)

func pack(t testing.TB, prints []uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := screen.Pack(&b, prints)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(b.Len()) {
		t.Fatalf("Pack says %d bytes and wrote %d", n, b.Len())
	}
	return b.Bytes()
}

func openPacked(t testing.TB, b []byte) *screen.Packed {
	t.Helper()
	p, err := screen.OpenPacked(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func unpack(t testing.TB, p *screen.Packed) []uint64 {
	t.Helper()
	var out []uint64
	for x, err := range p.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

func sorted(rng *rand.Rand, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = rng.Uint64()
	}
	slices.Sort(out)
	return out
}

func TestPackRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dense := make([]uint64, 100_000)
	for i := range dense {
		dense[i] = uint64(i / 3)
	}
	fibonacci := []uint64{0} // counts of leading positions that produce the deepest Huffman tree
	for h, n := 0, 1; h < 20; h, n = h+1, n*8/5+1 {
		for range min(n, 3000) {
			fibonacci = append(fibonacci, fibonacci[len(fibonacci)-1]|1<<h+1<<h)
		}
	}
	slices.Sort(fibonacci)
	for name, prints := range map[string][]uint64{
		"none": nil, "one": {42}, "zero": {0}, "equal": make([]uint64, 200_000), "extremes": {0, 0, 1 << 63, math.MaxUint64, math.MaxUint64},
		"random": sorted(rng, 50_000), "dense": dense, "fibonacci": fibonacci,
	} {
		got := unpack(t, openPacked(t, pack(t, prints)))
		if !slices.Equal(got, prints) {
			t.Errorf("%s: %d prints came back as %d others", name, len(prints), len(got))
		}
	}
	if _, err := screen.Pack(io.Discard, []uint64{2, 1}); err == nil {
		t.Error("descending prints gave no error")
	}
}

func TestPackedRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	prints := sorted(rng, 20_000)
	for i := range 3000 {
		prints[rng.IntN(len(prints))] = prints[i]
	}
	slices.Sort(prints)
	p := openPacked(t, pack(t, prints))
	for range 300 {
		low := rng.Uint64()
		high := low + rng.Uint64()>>rng.IntN(64)
		if high < low {
			high = math.MaxUint64
		}
		from, _ := slices.BinarySearch(prints, low)
		want := prints[from:]
		for i, x := range want {
			if x > high {
				want = want[:i]
				break
			}
		}
		got, err := p.Range(low, high, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%x to %x: got %d, want %d", low, high, len(got), len(want))
		}
	}
}

// TestPackedSize compares the size with the entropy of a set of n random prints, 64 - log2 n + 1.44 bits each. They agree within five
// percent of the raw size.
func TestPackedSize(t *testing.T) {
	for _, n := range []int{100_000, 1_000_000} {
		size := len(pack(t, sorted(rand.New(rand.NewPCG(5, 6)), n)))
		share := float64(size) / float64(8*n)
		bound := (64 - math.Log2(float64(n)) + 1/math.Ln2) / 64
		t.Logf("%d prints: %.1f %% of raw, entropy %.1f %%", n, 100*share, 100*bound)
		if share > bound+0.05 || share < bound {
			t.Errorf("%d prints: %.4f of raw, entropy %.4f", n, share, bound)
		}
	}
}

// TestPackedDense packs a run of neighbours from a table of 2^34 random prints, the size of the paper's collection. The gaps of such a
// table are exponential with mean 2^30, and its code and blocks depend only on the gaps, so the size of a part shows the size of the
// whole. The paper states about half.
func TestPackedDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 34))
	table := make([]uint64, 1_000_000)
	at := uint64(1 << 61)
	for i := range table {
		at += uint64(rng.ExpFloat64() * (1 << 30))
		table[i] = at
	}
	share := float64(len(pack(t, table))) / float64(8*len(table))
	bound := screen.PackedBound(1 << 34)
	t.Logf("2^34 prints: %.1f %% of raw, entropy %.1f %%", 100*share, 100*bound)
	if share > bound+0.05 || share < bound {
		t.Errorf("%.4f of raw, entropy %.4f", share, bound)
	}
}

func TestPackedTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	stored := prints(rng, 5000, 64)
	d := design(t, 64, 3, 5)
	tables, err := screen.NewTables(d, stored)
	if err != nil {
		t.Fatal(err)
	}
	var ps []*screen.Packed
	for i := range d.Tables {
		var b bytes.Buffer
		if _, err := tables.Pack(i, &b); err != nil {
			t.Fatal(err)
		}
		ps = append(ps, openPacked(t, b.Bytes()))
	}
	packed, err := screen.NewPackedTables(d, ps)
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		q := flip(rng, stored[rng.IntN(len(stored))], rng.IntN(5), 64)
		var want []uint64
		for _, p := range stored {
			if bits.OnesCount64(p^q) <= 3 {
				want = append(want, p)
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		got, err := packed.Near(q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("query %x: got %x, want %x", q, got, want)
		}
	}
	if _, err := screen.NewPackedTables(d, ps[1:]); err == nil {
		t.Error("nine tables for ten gave no error")
	}
}

// TestPackedDamage changes every byte in turn. Opening or reading reports each change.
func TestPackedDamage(t *testing.T) {
	good := pack(t, sorted(rand.New(rand.NewPCG(9, 10)), 300))
	read := func(b []byte) error {
		p, err := screen.OpenPacked(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return err
		}
		for _, err := range p.All() {
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x41
		if err := read(bad); !errors.Is(err, screen.ErrPacked) {
			t.Fatalf("byte %d of %d: got %v, want ErrPacked", i, len(good), err)
		}
		if err := read(good[:i]); err == nil {
			t.Fatalf("the first %d bytes gave no error", i)
		}
	}
}

func FuzzPacked(f *testing.F) {
	f.Add(pack(f, []uint64{1, 2, 2, 1 << 60}))
	f.Add(pack(f, sorted(rand.New(rand.NewPCG(1, 1)), 500)))
	f.Add(pack(f, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := screen.OpenPacked(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		last := uint64(0)
		for x, err := range p.All() {
			if err != nil {
				return
			}
			if x < last {
				t.Fatalf("%x after %x", x, last)
			}
			last = x
		}
	})
}

func BenchmarkPackedBlock(b *testing.B) {
	p := openPacked(b, pack(b, sorted(rand.New(rand.NewPCG(1, 1)), 1_000_000)))
	var dst []uint64
	b.ReportAllocs()
	prints, start := 0, cputime.Used()
	for i := 0; b.Loop(); i++ {
		var err error
		if dst, err = p.Block(i%p.Blocks(), dst[:0]); err != nil {
			b.Fatal(err)
		}
		prints += len(dst)
	}
	cputime.Report(b, start, prints, "print")
}
