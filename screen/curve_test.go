package screen_test

import (
	"math/rand/v2"
	"testing"

	"concordat/screen"
)

// TestSweepIsItsDefinition counts over all pairs for each k separately.
func TestSweepIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s screen.Sweep
	var all []screen.Labelled
	for range 500 {
		l := screen.Labelled{Distance: rng.IntN(129), Same: rng.IntN(3) == 0}
		s.Add(l)
		all = append(all, l)
	}
	curve := s.Curve(200)
	if len(curve) != 129 {
		t.Fatalf("%d points", len(curve))
	}
	for k, p := range curve {
		reported, found, same := 0, 0, 0
		for _, l := range all {
			if l.Same {
				same++
			}
			if l.Distance <= k {
				reported++
				if l.Same {
					found++
				}
			}
		}
		if want := (screen.CurvePoint{K: k, Reported: reported, Found: found, Same: same}); p != want {
			t.Errorf("got %+v, want %+v", p, want)
		}
	}
	p := screen.CurvePoint{Reported: 10, Found: 5, Same: 20}
	if p.Precision() != 0.5 || p.Recall() != 0.25 || p.F1() != 10.0/30 {
		t.Errorf("precision %v, recall %v, F1 %v", p.Precision(), p.Recall(), p.F1())
	}
	if p = (screen.CurvePoint{}); p.Precision() != 1 || p.Recall() != 1 || p.F1() != 1 {
		t.Error("of nothing")
	}
}
