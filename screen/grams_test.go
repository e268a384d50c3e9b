package screen_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/screen"
)

func TestTryGrams(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var texts []string
	for range 1000 {
		var r []rune
		for range 8 + rng.IntN(12) {
			r = append(r, rune('a'+rng.IntN(26)))
		}
		texts = append(texts, string(r))
	}
	o := screen.GramOptions{Short: screen.ShortOptions{Threshold: 0.4}}
	trials, best, err := screen.TryGrams(texts, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, tr := range trials {
		if tr.Recall < 0 || tr.Recall > 1 || tr.Measured < tr.Hits || tr.Recall > tr.Hits {
			t.Errorf("%+v", tr)
		}
		if tr.Recall >= 0.95 && tr.Measured < trials[best].Measured {
			t.Errorf("trial %d measures less than the best: %+v, %+v", i, tr, trials[best])
		}
	}
	if trials[best].Recall < 0.95 {
		t.Errorf("best of %+v: %+v", trials, trials[best])
	}
	again, _, err := screen.TryGrams(texts, o)
	if err != nil || !slices.EqualFunc(trials, again, func(a, b screen.GramTrial) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("the same texts gave other trials: %v", err)
	}
	if _, _, err := screen.TryGrams(nil, o); err == nil {
		t.Error("no texts gave no error")
	}
}
