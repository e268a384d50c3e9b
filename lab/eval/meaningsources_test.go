package eval

import (
	"math"
	"testing"
)

// TestJudgeSources compares recall and nDCG with values computed by hand.
func TestJudgeSources(t *testing.T) {
	ranked := []string{"x", "a", "y"}
	for range 20 {
		ranked = append(ranked, "z")
	}
	ranked = append(ranked, "b")
	got := judgeSources(ranked, map[string]bool{"a": true, "b": true, "c": true, "d": true})
	want := sourcesFound{sources: 4, in10: 0.25, in100: 0.5,
		dcg: 1 / math.Log2(3) / (1 + 1/math.Log2(3) + 1/math.Log2(4) + 1/math.Log2(5))}
	if math.Abs(got.dcg-want.dcg) > 1e-12 {
		t.Errorf("nDCG is %v, want %v", got.dcg, want.dcg)
	}
	if got.dcg = want.dcg; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if all := judgeSources([]string{"b", "a"}, map[string]bool{"a": true, "b": true}); all.in10 != 1 || math.Abs(all.dcg-1) > 1e-12 {
		t.Errorf("all sources first: %+v, want recall and nDCG 1", all)
	}
}

// TestResampled: the interval surrounds the mean, and has no width if all values are equal.
func TestResampled(t *testing.T) {
	if mean, low, high := resampled([]float64{0.5, 0.5, 0.5}); mean != low || mean != high || mean != 0.5 {
		t.Errorf("equal values: %v, %v to %v, want 0.5", mean, low, high)
	}
	var values []float64
	for i := range 100 {
		values = append(values, float64(i%2))
	}
	// The standard error of the mean is 0.05.
	if mean, low, high := resampled(values); math.Abs(mean-0.5) > 1e-9 || math.Abs(low-0.4) > 0.02 || math.Abs(high-0.6) > 0.02 {
		t.Errorf("half zeros, half ones: %v, %v to %v, want 0.5, 0.4 to 0.6", mean, low, high)
	}
}

// TestOriginsOf reads both forms of documents.json.
func TestOriginsOf(t *testing.T) {
	for _, text := range []string{`{"a.txt":{"origin":"xq-en/3"}}`, ` [{"document":"a.txt","origin":"xq-en/3"}]`} {
		books := map[string]string{}
		if err := originsOf(text, books); err != nil || books["a.txt"] != "xq-en/3" {
			t.Errorf("%s: %v, %v", text, books, err)
		}
	}
}
