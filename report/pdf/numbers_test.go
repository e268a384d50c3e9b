package pdf

import (
	"testing"

	"concordat/report"
)

// TestNumbers: a source lists its passages by the numbers shown to people, and no range spans a missing number.
func TestNumbers(t *testing.T) {
	d := &doc{r: &report.Report{Numbers: []string{"1", "2", "3", "5", "5b", "7", "8", "10"}}}
	for want, evidence := range map[string][]int{"": nil, "1–3, 5, 5b, 7–8, 10": {0, 1, 2, 3, 4, 5, 6, 7}, "2, 5b, 10": {1, 4, 7},
		"3, 7": {2, 5}} {
		if got := d.numbers(evidence); got != want {
			t.Errorf("%v: %q, want %q", evidence, got, want)
		}
	}
}
