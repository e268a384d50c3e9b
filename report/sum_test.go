package report

import "testing"

// TestSharesAddUp: the displayed shares for verbatim and for changed wording add up to the share for both.
func TestSharesAddUp(t *testing.T) {
	for _, c := range []struct {
		covered, verbatim float64
		want              string
	}{{0.424, 0.286, "13%"}, {0.424, 0.2849, "14%"}, {0.36, 0.21, "15%"}, {0.3, 0.3, "0%"}, {0.302, 0.298, "<\u00a01%"}, {1, 0.994, "1%"}} {
		s := Scores{Covered: c.covered, Verbatim: c.verbatim, Changed: c.covered - c.verbatim, Literalness: 0.999}
		if got := s.ChangedWords(English); got != c.want {
			t.Errorf("%v of %v: %s, want %s", c.verbatim, c.covered, got, c.want)
		}
	}
	if (Scores{Changed: 0.14, Literalness: 0.999}).Alike() >= 0.995 {
		t.Error("identical, and 14% of this, changed")
	}
}
