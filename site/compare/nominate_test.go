package compare

import (
	"slices"
	"strings"
	"testing"

	"concordat"
)

// TestForemost: the document nearest to one stretch is included next to the many documents near another stretch.
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

// TestCandidatesOnce joins nominations by words and by the cells of two scripts: a document compared twice would be its own background.
func TestCandidatesOnce(t *testing.T) {
	at := func(id concordat.DocumentID, text bool) *Candidate {
		return &Candidate{Ref: concordat.Ref{Library: "l", Document: id}, Text: text}
	}
	words := []*Candidate{at("words", true), at("fingerprints", false), at("both", true)}
	cells := []*Candidate{at("both", false), at("latin and han", false), at("latin", false), at("latin and han", false)}
	var got []concordat.DocumentID
	for _, c := range joinCandidates(words, cells) {
		got = append(got, c.Ref.Document)
	}
	if want := []concordat.DocumentID{"words", "both", "latin and han", "latin"}; !slices.Equal(got, want) {
		t.Errorf("candidates %q, want %q", got, want)
	}
}
