package ask

import (
	"strings"
	"testing"

	"concordat"
	"concordat/align"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// TestTogether: next to exact copies, a rough passage keeps only the parts that have their own counterparts.
func TestTogether(t *testing.T) {
	text := strings.Repeat("one more sentence that says nothing. ", 60)
	fw := &forwarding{sub: site.Submission{Text: text}, count: report.NewCounter(text)}
	span := func(from, to int) concordat.Span { return concordat.Span{Start: from, End: to} }
	exact := align.Passage{A: span(600, 1200), B: span(1600, 2200), Kind: concordat.KindVerbatim, Similarity: 1}
	for name, c := range map[string]struct {
		rough align.Passage
		want  []concordat.SpanPair // what remains besides the exact copy
	}{
		"beside it on both sides": {align.Passage{A: span(200, 1600), B: span(1200, 2600)},
			[]concordat.SpanPair{{Span: span(200, 600), Source: span(1200, 1600)}, {Span: span(1200, 1600), Source: span(2200, 2600)}}},
		"before it on one side only": {align.Passage{A: span(200, 1200), B: span(1600, 2200)}, nil},
		"elsewhere": {align.Passage{A: span(1400, 1900), B: span(200, 700)},
			[]concordat.SpanPair{{Span: span(1400, 1900), Source: span(200, 700)}}},
		"elsewhere, beside what is copied": {align.Passage{A: span(1400, 1900), B: span(1650, 2150)}, nil},
		"half of the source is copied": {align.Passage{A: span(1400, 1900), B: span(1950, 2450)},
			[]concordat.SpanPair{{Span: span(1400, 1900), Source: span(1950, 2450)}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.rough.Kind, c.rough.Similarity = concordat.KindParaphrase, 0.5
			got := fw.together([]align.Passage{c.rough}, []align.Passage{exact})
			if len(got) == 0 || got[0].Span != exact.A {
				t.Fatalf("no copy in %+v", got)
			}
			if len(got)-1 != len(c.want) {
				t.Fatalf("got %+v, want the copy and %+v", got, c.want)
			}
			for i, w := range c.want {
				g := got[i+1]
				// White space at the edges is left out.
				if g.SourceSpan != w.Source || g.Span.Start < w.Span.Start || g.Span.End > w.Span.End || g.Span.Len() < w.Span.Len()-2 {
					t.Errorf("got %v beside %v, want %v beside %v", g.Span, g.SourceSpan, w.Span, w.Source)
				}
			}
		})
	}
}

// TestMatched: a passage of fingerprints is kept only if a sentence that is evidence from the document matched there.
func TestMatched(t *testing.T) {
	c := &compare.Candidate{Hits: []compare.Hit{{Span: concordat.Span{Start: 10, End: 40}, Documents: 1}}}
	for _, x := range []struct {
		p    concordat.Passage
		want bool
	}{
		{concordat.Passage{Span: concordat.Span{Start: 0, End: 100}}, true},
		{concordat.Passage{Span: concordat.Span{Start: 50, End: 100}}, false},
		{concordat.Passage{Span: concordat.Span{Start: 0, End: 100}, Wording: concordat.KindSentence}, false},
	} {
		if got := matched(c, x.p); got != x.want {
			t.Errorf("%+v: %v, want %v", x.p, got, x.want)
		}
	}
}
