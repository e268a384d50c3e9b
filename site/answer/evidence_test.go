package answer

import "testing"

// TestEvidence: matches of different sentences on both sides add up, neighbouring matches weigh more, and common sentences weigh nothing.
func TestEvidence(t *testing.T) {
	m := func(sentence byte, ordinal, weight int) weighed { return weighed{[8]byte{sentence}, ordinal, weight} }
	for _, c := range []struct {
		what string
		all  []weighed
		want int
	}{
		{"nothing", nil, 0},
		{"one", []weighed{m(1, 5, 40)}, 40},
		{"two apart", []weighed{m(1, 5, 20), m(2, 50, 10)}, 30},
		{"two neighbours", []weighed{m(1, 5, 20), m(2, 7, 10)}, 30 + neighbourWeight},
		{"one that is worth something beside another only", []weighed{m(1, 5, 20), m(2, 6, -5)}, 20 - 5 + neighbourWeight},
		{"two that are worth nothing", []weighed{m(1, 5, -5), m(2, 6, -5)}, 0},
		{"far away and worth nothing", []weighed{m(1, 5, 20), m(2, 60, -5)}, 20},
		{"variants of one of ours", []weighed{m(1, 5, 20), m(2, 5, 30), m(3, 5, 10)}, 30},
		{"one near many of ours", []weighed{m(1, 5, 20), m(1, 6, 20), m(1, 7, 20)}, 20},
		{"common wording", []weighed{m(1, 5, common), m(2, 6, common), m(3, 7, common)}, 0},
		{"common wording beside a match", []weighed{m(1, 5, 30), m(2, 6, common), m(3, 7, common)}, 30},
	} {
		if got := evidenceOf(c.all); got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, got, c.want)
		}
	}
}
