package wording_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

// TestOf: the grams of a span are the grams of its words and of the lines within it, wherever the span is. If all words of the text
// differ, only the span shares them.
func TestOf(t *testing.T) {
	var b strings.Builder
	var starts, ends []int // byte positions of the words
	for i, word := 0, 0; i < 6; i++ {
		for range []int{3, 20, 7, 1, 12, 30}[i] { // number of words in each line
			starts = append(starts, b.Len())
			fmt.Fprintf(&b, "word%d", word)
			ends = append(ends, b.Len())
			b.WriteByte(' ')
			word++
		}
		b.WriteByte('\n')
	}
	w := wording.Split(b.String())
	spanOf := func(first, last int) concordat.Span { return concordat.Span{Start: starts[first], End: ends[last]} }
	for first := range starts {
		for last := first + 7; last < len(ends); last++ { // shorter stretches are phrases
			want := spanOf(first, last)
			if got := w.Of(want).In(w); len(got) != 1 || got[0].Span != want {
				t.Fatalf("words %d to %d: %v, want %v", first, last, got, want)
			}
		}
	}
	a, line, c := spanOf(3, 12), spanOf(30, 30), spanOf(45, 60)
	got := w.Of(a, line, c).In(w)
	if len(got) != 3 || got[0].Span != a || got[1].Span != line || got[2].Span != c {
		t.Errorf("three spans: %v, want %v, %v, %v", got, a, line, c)
	}
}
