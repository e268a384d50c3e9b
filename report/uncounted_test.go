package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// TestUncounted: passages and sources that do not count are summarised with their number and reasons, in one line of the text, after the
// ones that count; undecided ones are not included.
func TestUncounted(t *testing.T) {
	f := load(t, "english")
	whole := report.Build(f, report.Rules{})
	r := report.Build(f, report.Rules{ExcludeBibliography: true,
		ExcludePassages: []report.ExcludedPassage{{Span: whole.Evidence[0].Span, Comment: "own"}},
		ExcludeSources:  []concordat.Ref{whole.Sources[0].Ref}})
	n, out := 0, 0
	for _, e := range r.Evidence {
		if e.Excluded != "" {
			n++
		}
	}
	for _, u := range report.UncountedPassages(r) {
		out += len(u.Passages)
		for _, i := range u.Passages {
			if r.Evidence[i].Excluded != u.Why {
				t.Errorf("passage %d is listed as %s, and is %q", i, u.Why, r.Evidence[i].Excluded)
			}
		}
	}
	words := report.UncountedWords(r)
	if n < 2 || out != n || !strings.HasPrefix(words, report.Plural(n, "passage does not count", "passages do not count")+": ") ||
		!strings.Contains(words, "excluded by hand (1)") {
		t.Errorf("%d do not count, %d are listed: %q", n, out, words)
	}
	if s := report.UncountedSources(r); !strings.Contains(s, "excluded sources (1)") {
		t.Errorf("sources: %q", s)
	}
	few := &report.Findings{Submission: f.Submission, Passages: f.Passages[:1]}
	if r := report.Build(few, report.Rules{}); len(r.Evidence) == 0 || report.UncountedWords(r)+report.UncountedSources(r) != "" {
		t.Errorf("%d passages, and where all count: %q", len(r.Evidence), report.UncountedWords(r))
	}
	var b bytes.Buffer
	if err := report.WriteText(&b, r); err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(b.String(), "passages do not count")
	if !ok || strings.Contains(before, "\n[1] ") || !strings.Contains(before, "\n[2] ") || !strings.Contains(after, "\n[1] ") {
		t.Errorf("what does not count is not at the end:\n%s", b.String())
	}
	undecided := report.Build(f, report.Rules{})
	undecided.Evidence = slices.Clone(undecided.Evidence)
	for i := range undecided.Evidence {
		undecided.Evidence[i].Excluded = concordat.ExcludedUndecided
	}
	if s := report.UncountedWords(undecided); s != "" {
		t.Errorf("what is to be decided is folded away: %q", s)
	}
}
