package screen_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/screen"
)

// TestStratifiedSample: the sample has the wanted number of pairs for each distance, or all pairs if there are fewer. Each pair at a
// distance is equally likely, and the order of pairs does not matter.
func TestStratifiedSample(t *testing.T) {
	const most, each, rounds = 3, 5, 2000
	var all []screen.Twin
	for i := range uint64(40) {
		all = append(all, screen.Twin{A: i, B: i + 100, Distance: 1})
	}
	all = append(all, screen.Twin{A: 1, B: 2}, screen.Twin{A: 1, B: 3, Distance: 3}, screen.Twin{A: 2, B: 3, Distance: 4})
	drawnOf := map[uint64]int{}
	for seed := range uint64(rounds) {
		s, turned := screen.NewStratifiedSample(most, each, seed), screen.NewStratifiedSample(most, each, seed)
		for i := range all {
			s.Add(all[i])
			turned.Add(all[len(all)-1-i])
		}
		drawn, pairs := s.Drawn()
		if again, _ := turned.Drawn(); !slices.Equal(drawn, again) {
			t.Fatalf("seed %d: the order of the pairs matters: %v, %v", seed, drawn, again)
		}
		if !slices.Equal(pairs, []int{1, 40, 0, 1}) || len(drawn) != 1+each+1 {
			t.Fatalf("seed %d: %d drawn of %v", seed, len(drawn), pairs)
		}
		for _, d := range drawn {
			if d.Distance == 1 {
				drawnOf[d.A]++
			}
		}
	}
	// Each is drawn with probability 1/8, that is, 250 times with a standard deviation of 15.
	for i := range uint64(40) {
		if n := drawnOf[i]; math.Abs(float64(n)-rounds*each/40) > 75 {
			t.Errorf("pair %d drawn %d times, want some %d", i, n, rounds*each/40)
		}
	}
}

// TestStratifiedPrecision: the interval over several strata contains the truth as often as claimed, over draws without replacement, and
// is narrower than the worst stratum's interval.
func TestStratifiedPrecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	const draws = 4000
	for _, truth := range [][][2]int{ // pairs, and the near-duplicates among them
		{{400, 400}, {60, 54}, {90, 60}, {300, 90}},
		{{30, 29}, {30, 15}},
		{{1000, 20}, {1000, 980}},
		{{50, 50}, {5000, 100}},
	} {
		total, same := 0, 0
		for _, s := range truth {
			total, same = total+s[0], same+s[1]
		}
		want, held, mean := float64(same)/float64(total), 0, 0.0
		for range draws {
			var strata []screen.Stratum
			for k, s := range truth {
				st := screen.Stratum{Distance: k, Pairs: s[0]}
				for _, i := range rng.Perm(s[0])[:20] {
					if i < s[1] {
						st.Add(screen.LabelSame)
					} else {
						st.Add(screen.LabelDifferent)
					}
				}
				st.Add(screen.LabelUnknown) // changes nothing
				strata = append(strata, st)
			}
			p, low, high, ok := screen.StratifiedPrecision(strata, 0.95)
			if !ok || low > p || p > high || low < 0 || high > 1 {
				t.Fatalf("%v: %f in %f to %f, %t", strata, p, low, high, ok)
			}
			mean += p / draws
			if low <= want && want <= high {
				held++
			}
		}
		if math.Abs(mean-want) > 0.01 || held < draws*92/100 {
			t.Errorf("%v: precision %.3f on average, want %.3f; %d of %d intervals hold it, want 95 %%", truth, mean, want, held, draws)
		}
	}
	// With one stratum, it is Wilson's interval: for 8 of 10, 0.490 to 0.943.
	p, low, high, ok := screen.StratifiedPrecision([]screen.Stratum{{Pairs: 50, Same: 8, Different: 2}, {Distance: 1}}, 0.95)
	if !ok || p != 0.8 || math.Abs(low-0.490) > 1e-3 || math.Abs(high-0.943) > 1e-3 {
		t.Errorf("8 of 10: %.3f in %.3f to %.3f", p, low, high)
	}
	for _, none := range [][]screen.Stratum{nil, {{Distance: 2}}, {{Pairs: 3, Same: 3}, {Pairs: 2, Unknown: 2}}} {
		if _, _, _, ok := screen.StratifiedPrecision(none, 0.95); ok {
			t.Errorf("%v has a precision", none)
		}
	}
}
