package report

import (
	"slices"
	"testing"

	"concordat"
)

// TestNumbers: a passage keeps its number whatever is excluded, and the parts of a split passage have distinct numbers.
func TestNumbers(t *testing.T) {
	n := numbers{passages: []concordat.Span{{Start: 0, End: 10}, {Start: 20, End: 60}, {Start: 70, End: 80}}}
	for _, c := range []struct {
		now  []concordat.Span
		want []string
	}{
		{[]concordat.Span{{Start: 0, End: 10}, {Start: 20, End: 60}, {Start: 70, End: 80}}, []string{"1", "2", "3"}},
		{[]concordat.Span{{Start: 70, End: 80}}, []string{"3"}},
		{[]concordat.Span{{Start: 20, End: 30}, {Start: 40, End: 50}, {Start: 72, End: 80}}, []string{"2", "2b", "3"}},
		{nil, []string{}},
	} {
		var evidence []concordat.Evidence
		for _, s := range c.now {
			evidence = append(evidence, concordat.Evidence{Span: s})
		}
		if got := n.of(evidence); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.now, got, c.want)
		}
	}
	for n, want := range map[int]string{1: "A", 26: "Z", 27: "AA", 52: "AZ", 53: "BA", 703: "AAA"} {
		if got := letters(n); got != want {
			t.Errorf("letters %d: %s, want %s", n, got, want)
		}
	}
}
