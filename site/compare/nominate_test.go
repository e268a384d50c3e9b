package compare

import (
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/meaning"
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

// TestCandidatesOnce joins nominations by words and by the cells of two scripts, because a document compared twice would be its own
// background.
func TestCandidatesOnce(t *testing.T) {
	at := func(id concordat.DocumentID, text bool) *Candidate {
		return &Candidate{Ref: concordat.Ref{Library: "l", Document: id}, Text: text}
	}
	words := []*Candidate{at("words", true), at("fingerprints", false), at("both", true)}
	cells := []*Candidate{at("both", false), at("latin and han", false), at("latin", false), at("latin and han", false)}
	cells[0].nearby = []meaning.Nearby{{Here: 3, There: 7}}
	var got []concordat.DocumentID
	var nearby []meaning.Nearby
	for _, c := range joinCandidates(words, cells) {
		got, nearby = append(got, c.Ref.Document), append(nearby, c.nearby...)
	}
	if want := []concordat.DocumentID{"words", "both", "latin and han", "latin"}; !slices.Equal(got, want) {
		t.Errorf("candidates %q, want %q", got, want)
	}
	if !slices.Equal(nearby, cells[0].nearby) || words[2].nearby != nil {
		t.Errorf("the places where vectors find the document that words find too: %v, want %v; the caller's candidate has %v", nearby,
			cells[0].nearby, words[2].nearby)
	}
}

// TestInTurn: however many documents there are in one script, the best of the other is among the first, whose places an encoder reads.
func TestInTurn(t *testing.T) {
	of := func(ids string) (out []*Candidate) {
		for _, id := range ids {
			out = append(out, &Candidate{Ref: concordat.Ref{Document: concordat.DocumentID(id)}})
		}
		return out
	}
	for _, c := range []struct{ a, b, want string }{{"abc", "x", "axbc"}, {"a", "xyz", "axyz"}, {"", "xy", "xy"}, {"ab", "", "ab"},
		{"", "", ""}} {
		got := ""
		for _, x := range inTurn(of(c.a), of(c.b)) {
			got += string(x.Ref.Document)
		}
		if got != c.want {
			t.Errorf("%q and %q in turn: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}
