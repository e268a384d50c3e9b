package compare

import (
	"strings"
	"testing"

	"concordat"
)

// TestForemost: the document that is nearest to one stretch has a place beside the many that are near another.
func TestForemost(t *testing.T) {
	of := func(window int, document string, score float64) concordat.TextMatch {
		return concordat.TextMatch{Window: window, Source: concordat.Ref{Document: concordat.DocumentID(document)}, Score: score}
	}
	matches := []concordat.TextMatch{of(0, "a", 9), of(0, "b", 8), of(0, "c", 7), of(2, "d", 3), of(2, "a", 2), of(2, "e", 1)}
	for most, want := range map[int]string{9: "adbce", 3: "adb", 2: "ad", 0: ""} {
		var got []string
		for _, c := range foremost(matches, most) {
			got = append(got, string(c.Ref.Document))
		}
		if s := strings.Join(got, ""); s != want {
			t.Errorf("%d documents: %s, want %s", most, s, want)
		}
	}
	if c := foremost(matches, 1); c[0].Score != 9 {
		t.Errorf("the score of a is %v", c[0].Score)
	}
}
