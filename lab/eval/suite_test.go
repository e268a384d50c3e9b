package eval

import (
	"os"
	"slices"
	"testing"

	"concordat/internal/suite"
)

// quick are the evaluations of make test, each of which takes a second or two. make rest runs the others.
var quick = []string{"clough-stevenson", "grants", "innocent-partners", "own-sentences", "pan13", "sentence-pairs", "substitution",
	"verse-retranslations"}

// TestEvaluations runs every evaluation, in its short form unless CONCORDAT_EVAL is all, and compares its figures with their
// bounds.
func TestEvaluations(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: evaluates on real text")
	}
	dir := os.Getenv("CONCORDAT_CORPORA")
	if dir == "" {
		t.Skip("CONCORDAT_CORPORA names no folder: evaluation text is not here")
	}
	for _, e := range Evaluations() {
		t.Run(e.Name, func(t *testing.T) {
			if slices.Contains(quick, e.Name) {
				suite.Done(t)
			} else {
				suite.Rest(t, "takes many seconds")
			}
			out, err := e.Measure(t.Context(), Options{Corpora: dir, Short: os.Getenv("CONCORDAT_EVAL") != "all"})
			if err != nil {
				t.Fatal(err)
			}
			if out.Skipped != "" {
				t.Skip(out.Skipped)
			}
			for _, f := range out.Figures {
				t.Logf("%s: %s: %s", f.Of, f.Measure, f)
				if f.Missed() {
					t.Errorf("%s: %s: %s", f.Of, f.Measure, f)
				}
			}
			t.Logf("%.1f s of CPU", out.CPU)
		})
	}
}
