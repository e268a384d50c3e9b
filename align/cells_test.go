package align

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestCellsOfAllPairs: similar units are found whichever words they share, as many and as similar as if each unit of one text were
// compared with each unit of the other.
func TestCellsOfAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 8))
	o := Options{}.filled()
	found := 0
	for range 20 {
		a, b := Prepare(words(r, 240, 90)), Prepare(words(r, 300, 90))
		w := weigh(a, b, &o)
		vector := func(x *Text, u unit, weight []float32) (v map[uint64]float64, norm float64) {
			v = map[uint64]float64{}
			for _, e := range x.entries[u.from:u.to] {
				v[x.terms[e.term]] = float64(e.count) * float64(weight[e.term])
				norm += v[x.terms[e.term]] * v[x.terms[e.term]]
			}
			return v, math.Sqrt(norm)
		}
		got := map[[2]int32]float64{}
		for _, c := range compare(a, b, w, &o) {
			got[[2]int32{c.row, c.col}] = float64(c.sim)
		}
		for i, ua := range a.units {
			va, na := vector(a, ua, w.a)
			for j, ub := range b.units {
				vb, nb := vector(b, ub, w.b)
				dot := 0.0
				for stem, x := range va {
					dot += x * vb[stem]
				}
				sim, dice := dot/(na*nb), 2*dot/(na*na+nb*nb)
				is := got[[2]int32{int32(i), int32(j)}]
				if math.Min(sim, dice) < o.Floor+1e-4 { // barely alike, or not at all
					if is > 0 && math.Min(sim, dice) < o.Floor-1e-4 {
						t.Errorf("units %d and %d are %.3f alike, and count", i, j, sim)
					}
					continue
				}
				if found++; math.Abs(is-sim) > 1e-4 {
					t.Errorf("units %d and %d are %.4f alike, want %.4f", i, j, is, sim)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d pairs are alike", found)
	}
}

// apartBy splits seeds where neighbours are more than gap units apart, on one side and then on the other, until no gap is left.
func apartBy(seeds []cell, gap [2]int32) [][]cell {
	for side, at := range []func(cell) int32{func(c cell) int32 { return c.row }, func(c cell) int32 { return c.col }} {
		s := slices.SortedFunc(slices.Values(seeds), func(x, y cell) int { return cmp.Compare(at(x), at(y)) })
		for i := 1; i < len(s); i++ {
			if at(s[i])-at(s[i-1]) > gap[side]+1 {
				return append(apartBy(s[:i], gap), apartBy(s[i:], gap)...)
			}
		}
	}
	return [][]cell{seeds}
}

// TestJoined: seeds are in one group if and only if no gap separates them in the submission or in the source.
func TestJoined(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 9))
	order := func(x, y cell) int { return cmp.Or(cmp.Compare(x.row, y.row), cmp.Compare(x.col, y.col)) }
	sorted := func(groups [][]cell) [][]cell {
		for i := range groups {
			groups[i] = slices.SortedFunc(slices.Values(groups[i]), order)
		}
		slices.SortFunc(groups, func(x, y []cell) int { return order(x[0], y[0]) })
		return groups
	}
	divided := 0
	for range 300 {
		seen := map[cell]bool{}
		for range 2 + r.IntN(40) {
			seen[cell{row: r.Int32N(30), col: r.Int32N(30)}] = true
		}
		var seeds []cell
		for c := range seen {
			seeds = append(seeds, c)
		}
		slices.SortFunc(seeds, order)
		gap := [2]int32{r.Int32N(4), r.Int32N(4)}
		least := 1 + r.IntN(3)
		want := slices.DeleteFunc(apartBy(seeds, gap), func(g []cell) bool { return len(g) < least })
		var got [][]cell
		for _, c := range joined(slices.Clone(seeds), gap, least, nil) {
			got = append(got, c.seeds)
		}
		if !slices.EqualFunc(sorted(got), sorted(want), slices.Equal) {
			t.Fatalf("gap %v, least %d: of %v\ngot  %v\nwant %v", gap, least, seeds, got, want)
		}
		divided += len(want)
	}
	if divided < 600 {
		t.Errorf("only %d groups in all", divided)
	}
}

// TestJoinedEnds: if a group loses one seed at a time, which happens only in constructed texts, at most maxRounds seeds are split off, so
// the time is not quadratic in the text.
func TestJoinedEnds(t *testing.T) {
	const pairs = 101 // odd, so that both sides end in the same place
	// Through its row, seed x(k) joins y(k) to the others, and through its column y(k) joins x(k+1); x(1) is alone in its column.
	rows, cols := make(map[int]int32), make(map[int]int32)
	x, y := func(k int) int { return 2 * k }, func(k int) int { return 2*k + 1 }
	at := func(from map[int]int32, upper bool, place int, seed int) {
		d := int32(2 * (2*pairs + 2 - place))
		if !upper {
			d = -d
		}
		from[seed] = d
	}
	for k := 1; k <= pairs; k++ {
		at(rows, k%2 == 1, k-k%2, y(k))
		at(rows, k%2 == 1, k-k%2+1, x(k))
		at(cols, k%2 == 1, k-k%2+1, y(k))
		at(cols, k%2 == 1, k-k%2, x(k+1))
	}
	rows[x(pairs+1)] = 0
	cols[x(1)] = 100 * pairs
	var seeds []cell
	for seed := range cols {
		seeds = append(seeds, cell{row: rows[seed], col: cols[seed]})
	}
	for i := -int32(2 * (pairs + 1)); i <= 2*(pairs+1); i += 2 {
		seeds = append(seeds, cell{row: i, col: i})
	}
	slices.SortFunc(seeds, byRow)
	if all := apartBy(seeds, [2]int32{1, 1}); len(all) != 2*pairs+2 {
		t.Fatalf("without a bound there are %d groups, want each seed of a pair apart", len(all))
	}
	got := joined(slices.Clone(seeds), [2]int32{1, 1}, 2, nil)
	if len(got) != 1 || len(got[0].seeds) < len(seeds)-maxRounds {
		t.Errorf("%d groups, the first of %d seeds; want one of nearly %d", len(got), len(got[0].seeds), len(seeds))
	}
}

// TestGlanceSeesCopies: a glance at a text finds a copied passage at any position, whatever surrounds it, and finds nothing if the same
// words are in a different order.
func TestGlanceSeesCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 10))
	g := NewGlance(long)
	copied := "his daughters noted each shot in a book bound in sealskin"
	own := words(r, 60, 3000)
	for name, text := range map[string]string{"alone": copied, "at the beginning": copied + " " + own, "at the end": own + copied,
		"in the middle": own + copied + ". " + own} {
		if got := g.Looker().Look(text); !math.IsInf(got, 1) {
			t.Errorf("%s: %v, want more than anything", name, got)
		}
	}
	mixed := strings.Fields(copied)
	slices.Reverse(mixed)
	if got := g.Looker().Look(own + strings.Join(mixed, " ")); math.IsInf(got, 1) {
		t.Errorf("words in another order are taken for a copy")
	}
}

// TestWeakerIsNoSecondSource: a sentence already in a passage is not paired with another sentence of the source, and a sentence that is
// not similar enough is not paired at all.
func TestWeakerIsNoSecondSource(t *testing.T) {
	const sentence = "The lamp burned rape oil, which was carried up one hundred and forty steps in copper cans every evening. "
	a := Prepare(sentence + words(rand.New(rand.NewPCG(1, 1)), 12, 3000))
	b := Prepare(words(rand.New(rand.NewPCG(1, 2)), 36, 3000) + sentence)
	o := Options{}.filled()
	e := newEvidence(a, b, &o)
	there := int32(len(b.units) - 1)
	elsewhere := stretch{a0: a.units[0].first, a1: a.units[0].last, b0: b.units[0].first, b1: b.units[0].last}
	for _, c := range []struct {
		found []stretch
		score float32
		want  bool
	}{{nil, weakerSeed, true}, {nil, weakerSeed - 0.01, false}, {[]stretch{elsewhere}, 0.9, false}} {
		if got := e.weaker(c.found, []cell{{row: 0, col: there, score: c.score}}); (len(got) > 0) != c.want {
			t.Errorf("score %v, found before %v: %v, want any: %v", c.score, c.found, got, c.want)
		}
	}
}
