package screen_test

import (
	"cmp"
	"errors"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"concordat/internal/cputime"
	"concordat/screen"
)

// paperDesigns are the designs of Manku, Jain and Das Sarma 2007, section 3.2, with the paper's numbers of tables and leading bits.
var paperDesigns = []struct {
	levels            []int
	tables, low, high int
}{
	{[]int{6}, 20, 31, 33},
	{[]int{4, 4}, 16, 28, 28},
	{[]int{5}, 10, 25, 26},
	{[]int{4}, 4, 16, 16},
}

func design(t testing.TB, f, k int, levels ...int) *screen.Design {
	t.Helper()
	d, err := screen.NewDesign(f, k, levels...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// flip changes n different bits among the lowest f bits of x.
func flip(rng *rand.Rand, x uint64, n, f int) uint64 {
	for _, b := range rng.Perm(f)[:n] {
		x ^= 1 << b
	}
	return x
}

func TestPaperDesigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, p := range paperDesigns {
		d := design(t, 64, 3, p.levels...)
		if len(d.Tables) != p.tables {
			t.Errorf("%v: %d tables, want %d", p.levels, len(d.Tables), p.tables)
		}
		low, high := 64, 0
		for i := range d.Tables {
			l := &d.Tables[i]
			low, high = min(low, l.Lead), max(high, l.Lead)
			for range 100 {
				x, y := rng.Uint64(), rng.Uint64()
				if got := l.Restore(l.Permute(x)); got != x {
					t.Fatalf("%v table %d: %x came back as %x", p.levels, i, x, got)
				}
				if bits.OnesCount64(l.Permute(x)^l.Permute(y)) != bits.OnesCount64(x^y) {
					t.Fatalf("%v table %d changes distances", p.levels, i)
				}
			}
		}
		if low != p.low || high != p.high {
			t.Errorf("%v: %d to %d leading bits, want %d to %d", p.levels, low, high, p.low, p.high)
		}
	}
}

// TestDesignIsComplete: whichever K bits differ, in some table they all follow the leading bits.
func TestDesignIsComplete(t *testing.T) {
	for _, c := range []struct {
		f, k   int
		levels []int
	}{{64, 3, []int{6}}, {64, 3, []int{4, 4}}, {64, 3, []int{5}}, {64, 3, []int{4}}, {40, 2, []int{5, 3}}, {16, 0, []int{1}},
		{23, 1, []int{3, 2}}} {
		d := design(t, c.f, c.k, c.levels...)
		each := func(diff uint64) {
			for i := range d.Tables {
				if d.Tables[i].Permute(diff)>>(64-d.Tables[i].Lead) == 0 {
					return
				}
			}
			t.Fatalf("%+v: no table for the difference %x", c, diff)
		}
		var rec func(from int, diff uint64, left int)
		rec = func(from int, diff uint64, left int) {
			each(diff)
			for b := from; left > 0 && b < c.f; b++ {
				rec(b+1, diff|1<<b, left-1)
			}
		}
		rec(0, 0, c.k)
	}
}

// prints returns n prints of f bits, a third of them near an earlier one, some equal.
func prints(rng *rand.Rand, n, f int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = rng.Uint64() >> (64 - f)
		if i > 0 && i%3 == 0 {
			out[i] = flip(rng, out[rng.IntN(i)], rng.IntN(min(f, 7)), f)
		}
	}
	return out
}

func byDistance(a, b screen.Hit) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
}

// TestNearIsBruteForce compares the tables' answers with a comparison of everything.
func TestNearIsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		n, f, k int
		levels  []int
	}{{3000, 64, 3, []int{6}}, {3000, 64, 3, []int{4, 4}}, {3000, 64, 3, []int{5}}, {3000, 64, 3, []int{4}},
		{2000, 20, 3, []int{5}}, {500, 9, 2, []int{3}}, {1, 64, 3, []int{4}}, {0, 64, 3, []int{4}}} {
		stored := prints(rng, c.n, c.f)
		tables, err := screen.NewTables(design(t, c.f, c.k, c.levels...), stored)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for i := range 400 {
			q := rng.Uint64() >> (64 - c.f)
			if c.n > 0 && i%2 == 0 {
				q = flip(rng, stored[rng.IntN(c.n)], rng.IntN(5), c.f)
			}
			var want []screen.Hit
			for id, p := range stored {
				if d := bits.OnesCount64(p ^ q); d <= c.k {
					want = append(want, screen.Hit{ID: uint32(id), Distance: d})
				}
			}
			slices.SortFunc(want, byDistance)
			if got := tables.Near(q, nil); !slices.Equal(got, want) {
				t.Fatalf("%+v query %x: got %v, want %v", c, q, got, want)
			}
			found += len(want)
		}
		if c.n > 1 && found < 100 {
			t.Errorf("%+v: only %d pairs were there to find", c, found)
		}
	}
}

// TestPlantedPairs plants prints at distances 0 to 5 among a million random ones. Every design finds all pairs within 3 and none beyond.
func TestPlantedPairs(t *testing.T) {
	n := 50_000
	if os.Getenv("CONCORDAT_LONG") != "" {
		n = 1_000_000
	}
	rng := rand.New(rand.NewPCG(5, 6))
	stored := make([]uint64, n)
	for i := range stored {
		stored[i] = rng.Uint64()
	}
	for _, p := range paperDesigns {
		tables, err := screen.NewTables(design(t, 64, 3, p.levels...), stored)
		if err != nil {
			t.Fatal(err)
		}
		queries := 6000
		if p.tables == 4 {
			queries = 600 // 16 leading bits leave many candidates
		}
		var hits []screen.Hit
		for i := range queries {
			id := rng.IntN(n)
			hits = tables.Near(flip(rng, stored[id], i%6, 64), hits[:0])
			found := slices.Contains(hits, screen.Hit{ID: uint32(id), Distance: i % 6})
			if found != (i%6 <= 3) {
				t.Fatalf("%v: planted at distance %d, found %v", p.levels, i%6, found)
			}
		}
	}
}

func TestPlan(t *testing.T) {
	// For the paper's 2^34 prints, memory decides between four and ten tables; with room for sixteen, entering six more
	// tables costs more than the candidates that they save.
	const n = 1 << 34
	for _, c := range []struct {
		bytes  int64
		tables int
	}{{n * (8*4 + 12), 4}, {n * (8*10 + 12), 10}, {n * (8*16 + 12), 10}} {
		d, err := screen.NewPlan(screen.PlanOptions{K: 3, Prints: n, Bytes: c.bytes})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Tables) != c.tables {
			t.Errorf("%d bytes: %d tables, want %d", c.bytes, len(d.Tables), c.tables)
		}
	}
	if _, err := screen.NewPlan(screen.PlanOptions{K: 3, Prints: n, Bytes: n * 40}); !errors.Is(err, screen.ErrMemory) {
		t.Errorf("no room for four tables: got %v, want ErrMemory", err)
	}
	// More memory never makes queries slower, and no plan exceeds its memory.
	last := 1e300
	for tables := int64(4); tables < 60; tables++ {
		o := screen.PlanOptions{K: 3, Prints: 100_000_000, Bytes: 100_000_000 * (8*tables + 12)}
		d, err := screen.NewPlan(o)
		if err != nil {
			t.Fatal(err)
		}
		if d.Bytes(o.Prints) > o.Bytes {
			t.Errorf("%d bytes for a plan of %d", d.Bytes(o.Prints), o.Bytes)
		}
		cost := float64(len(d.Tables))*1000 + d.Candidates(o.Prints)*1.5
		if cost > last {
			t.Errorf("%d tables allowed: costs %v, with fewer %v", tables, cost, last)
		}
		last = cost
	}
}

// TestFewestTables: with 2^34 prints and k = 3, ten tables leave 2^9 candidates per look-up (the paper, section 3.2); for at most 2^8
// candidates, 16 tables are needed, and for 2^18, four.
func TestFewestTables(t *testing.T) {
	for _, c := range []struct {
		tau  float64
		want int
	}{{34, 1}, {18, 4}, {8.4, 10}, {6, 16}, {2, 20}} {
		if got := screen.FewestTables(64, 3, 34, c.tau); got != c.want {
			t.Errorf("tau %v: %d tables, want %d", c.tau, got, c.want)
		}
	}
}

func TestHot(t *testing.T) {
	tables, err := screen.NewTables(design(t, 64, 3, 4), []uint64{7, 0, 7, 5, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	want := []screen.Hot{{Print: 0, Count: 3}, {Print: 7, Count: 2}}
	if got := tables.Hot(1); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDesignRefuses(t *testing.T) {
	for _, c := range [][]int{{129, 3, 4}, {64, 3, 3}, {64, 3, 65}, {64, 64, 65}, {8, 3, 4, 7}, {64, 3, 40, 40}, {0, 0, 1}, {64, 3}} {
		if _, err := screen.NewDesign(c[0], c[1], c[2:]...); err == nil {
			t.Errorf("%v gave no error", c)
		}
	}
	if _, err := screen.NewTables(design(t, 20, 3, 4), []uint64{1 << 20}); err == nil {
		t.Error("a print of 21 bits in a design of 20 gave no error")
	}
}

func BenchmarkNear(b *testing.B) {
	const n = 1_000_000
	rng := rand.New(rand.NewPCG(7, 8))
	stored := make([]uint64, n)
	for i := range stored {
		stored[i] = rng.Uint64()
	}
	for _, p := range paperDesigns {
		b.Run("tables="+strconv.Itoa(p.tables), func(b *testing.B) {
			tables, err := screen.NewTables(design(b, 64, 3, p.levels...), stored)
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(9, 10)) // separate, so that all get the same queries
			queries := make([]uint64, 1<<16)
			for i := range queries {
				queries[i] = flip(rng, stored[rng.IntN(n)], i%6, 64)
			}
			var hits []screen.Hit
			b.ReportAllocs()
			times := make([]time.Duration, 0, 1<<20)
			start := cputime.Used()
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				hits = tables.Near(queries[i%len(queries)], hits[:0])
				if len(times) < cap(times) {
					times = append(times, time.Since(began))
				}
			}
			cputime.Report(b, start, b.N, "op")
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
		})
	}
}
