package screen_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"concordat/screen"
)

func TestDistribution(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var d screen.Distribution
	const n = 200_000
	var all []uint64
	for range n {
		all = append(all, rng.Uint64())
	}
	d.Add(all...)
	// The statistic has a standard deviation of √(2/127) around 1.
	if s := d.Spread(); math.Abs(s-1) > 4*math.Sqrt(2.0/127) {
		t.Errorf("spread of uniform prints %.3f, want about 1", s)
	}
	if c := d.Crowding(); math.Abs(c-1) > 0.01 {
		t.Errorf("uniform prints share buckets %.3f times as often as uniform ones", c)
	}
	var half screen.Distribution
	for _, x := range all[:10_000] {
		half.Add(x >> 1) // half of the buckets are empty
	}
	if c := half.Crowding(); math.Abs(c-2) > 0.05 {
		t.Errorf("prints of half of the buckets share them %.3f times as often, want 2", c)
	}
	slices.Sort(all)
	d.AddSorted(all[:1000]...)
	d.AddSorted(all[1000:]...)
	sum := 0.0
	for i, got := range d.Lead {
		want := screen.UniformLead(n, i)
		if sum += want; math.Abs(float64(got)-want) > 5*math.Sqrt(want)+1 {
			t.Errorf("bit %d leads %d neighbours, want about %.1f", i, got, want)
		}
	}
	if math.Abs(sum-(n-1)) > 1 {
		t.Errorf("uniform neighbours: %.2f in all, want %d", sum, n-1)
	}
	d.Add(make([]uint64, 10_000)...)
	if d.Zero != 10_000 || d.Prints != n+10_000 || d.Spread() < 100 {
		t.Errorf("%d zero, %d prints, spread %.1f", d.Zero, d.Prints, d.Spread())
	}
	if lines := strings.Split(d.String(), "\n"); len(lines) != 197 || !strings.HasPrefix(lines[0], "leading bit of the exclusive or") {
		t.Errorf("%d lines, the first %q", len(lines), lines[0])
	}
	if (&screen.Distribution{}).Spread() != 0 {
		t.Error("no prints have a spread")
	}
}

// TestLeadOfNeighbours checks figure 2(a) of Manku, Jain and Das Sarma 2007 against the definition, piece by piece, as in sorting a large
// file.
func TestLeadOfNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var all []uint64
	for range 5000 {
		all = append(all, rng.Uint64()>>rng.IntN(50))
	}
	all = append(all, all[:300]...)
	sorted := slices.Sorted(slices.Values(all))
	var want [64]int
	equal := 0
	for i := 1; i < len(sorted); i++ {
		if x := sorted[i] ^ sorted[i-1]; x == 0 {
			equal++
		} else {
			want[bits.Len64(x)-1]++
		}
	}
	var d screen.Distribution
	d.Add(all...)
	pieces := d.Pieces(500)
	if len(pieces) < 3 {
		t.Fatalf("pieces %v", pieces)
	}
	for _, p := range pieces {
		var part []uint64
		for _, x := range all {
			if b := int(x >> 57); b >= p[0] && b < p[1] {
				part = append(part, x)
			}
		}
		slices.Sort(part)
		d.AddSorted(part...)
	}
	if d.Lead != want || d.Equal != equal {
		t.Errorf("got %v and %d equal, want %v and %d", d.Lead, d.Equal, want, equal)
	}
}
