package screen_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/screen"
)

func TestLineage(t *testing.T) {
	// Document 3 is the oldest, followed by 1, 0, 2.
	age := []int{2, 1, 3, 0}
	before := func(a, b int) bool { return age[a] < age[b] }
	got := screen.Lineage(4, []screen.Link{{A: 0, B: 1, Resemblance: 0.5}, {A: 0, B: 3, Resemblance: 0.5}, {A: 0, B: 2, Resemblance: 0.9},
		{A: 1, B: 2, Resemblance: 0.4}}, before)
	if want := []int{3, -1, 0, -1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRemovable: each removed document resembles a kept one, and no two kept ones resemble each other.
func TestRemovable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	first := func(a, b int) bool { return a < b }
	for range 200 {
		const n = 30
		like := map[[2]int]float64{}
		var links []screen.Link
		for range rng.IntN(60) {
			a, b := rng.IntN(n), rng.IntN(n)
			if a >= b {
				continue
			}
			if _, ok := like[[2]int{a, b}]; !ok {
				l := screen.Link{A: a, B: b, Resemblance: rng.Float64()}
				like[[2]int{a, b}] = l.Resemblance
				links = append(links, l)
			}
		}
		kept := screen.Removable(n, links, 0.5, first)
		for i, k := range kept {
			if k < 0 {
				continue
			}
			if kept[k] >= 0 || k > i || like[[2]int{k, i}] < 0.5 {
				t.Fatalf("%d goes for %d, which resembles it by %v and goes for %d", i, k, like[[2]int{k, i}], kept[k])
			}
		}
		for p, r := range like {
			if r >= 0.5 && kept[p[0]] < 0 && kept[p[1]] < 0 {
				t.Fatalf("%v stay, and resemble each other by %v", p, r)
			}
		}
	}
	// In a chain, the middle document is removed because of the first, and the last is kept.
	if got := screen.Removable(3, []screen.Link{{A: 0, B: 1, Resemblance: 1}, {A: 1, B: 2, Resemblance: 1}}, 0.9, first); !slices.Equal(got,
		[]int{-1, 0, -1}) {
		t.Errorf("chain: %v", got)
	}
}
