package screen_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/screen"
)

func TestExactPairsIsBruteForce(t *testing.T) {
	sets := library(rand.New(rand.NewPCG(1, 2)), 200)
	sets[3] = append(sets[3], sets[3]...)
	var want, got []screen.Shared
	for a := range sets {
		for b := a + 1; b < len(sets); b++ {
			in := map[uint64]bool{}
			for _, x := range sets[a] {
				in[x] = true
			}
			n := 0
			for _, y := range sets[b] {
				if in[y] {
					in[y] = false
					n++
				}
			}
			if n > 0 {
				want = append(want, screen.Shared{A: a, B: b, Common: n})
			}
		}
	}
	sizes, err := screen.ExactPairs(sets, func(s screen.Shared) bool { got = append(got, s); return true })
	if err != nil || !slices.Equal(got, want) || len(want) < 50 || sizes[3] != len(sets[3]) {
		t.Errorf("%d pairs, want %d: %v", len(got), len(want), err)
	}
}
