package eval

import "testing"

// TestReaderShares counts letters as a multiset and order by runs.
func TestReaderShares(t *testing.T) {
	a, b := onlyLetters("The Harbour, ﬁled 12"), onlyLetters("12 filed; the harbour")
	if got := shareIn(runsOf(a, 1), runsOf(b, 1)); got != 1 {
		t.Errorf("the same letters in another order: %v", got)
	}
	if got := shareIn(runsOf(a, orderRun), runsOf(b, orderRun)); got >= 1 || got <= 0 {
		t.Errorf("order of words that changed places: %v", got)
	}
	if got := shareIn(runsOf([]rune("aab"), 1), runsOf([]rune("ab"), 1)); got < 0.66 || got > 0.67 {
		t.Errorf("two letters of three: %v", got)
	}
	if got := shareIn(nil, nil); got != 1 {
		t.Errorf("nothing: %v", got)
	}
}
