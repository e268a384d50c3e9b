package segment

import (
	"math/rand/v2"
	"testing"
)

// TestTally counts individually what a tally counts together.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for n := range 400 {
		var tl tally
		var votes [32]int
		for range n {
			m := rng.Uint32() & rng.Uint32() & rng.Uint32()
			tl.stops([]Word{{Stop: m}})
			for i := range votes {
				votes[i] += int(m >> i & 1)
			}
		}
		best := 0
		for i, v := range votes {
			if v > votes[best] {
				best = i
			}
		}
		want := uint32(1) << best
		if votes[best] == 0 {
			want = 0
		}
		if bit, count := tl.most(); bit != want || count != votes[best] {
			t.Fatalf("%d masks: bit %b counted %d, want %b counted %d", n, bit, count, want, votes[best])
		}
	}
}
