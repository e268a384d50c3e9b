package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

// TestFormulas: among 2, 5, 12, 40 and 400 documents, set phrases that documents of different origin share are common wording, and do not
// support one another. Pieces that the same documents share are evidence, and so are phrases in three sources, a paragraph copied by
// documents that have little else in common, and a clause copied amid set phrases.
func TestFormulas(t *testing.T) {
	const phrases, most = 24, 24 // set phrases, and maximum number of sources
	phrase := func(i int) string {
		return fmt.Sprintf("The keeper of boat%d wrote of lamp%d that it burned in harbour%d when wind%d blew over shore%d in autumn%d. ", i, i, i, i, i, i)
	}
	own := func(s int) string { // wording that the text shares with one source only
		return strings.Repeat(fmt.Sprintf("Whoever carried hay%d to the lock%d paid half of the toll%d there. ", s, s, s), 12)
	}
	filler := strings.Repeat("Words of another hand stand in this place as well. ", 5)
	type held struct {
		of, sources int
		offsets     []int // of each formula's four sources, so that each source has four formulas and two formulas have few sources in common
	}
	formula := func(h held, s, i int) bool {
		return i < max(4, h.sources) && slices.Contains(h.offsets, (s-i+phrases*h.sources)%h.sources)
	}
	for _, c := range []struct {
		name  string
		apart bool // whether the text has other words between the phrases
		own   bool // whether every source shares a stretch of its own with the text
		holds func(h held, s, i int) bool
		upTo  int // maximum number of documents among which the phrases count
	}{
		{"formulas", true, true, formula, 2},
		{"formulas next to one another", false, true, formula, 5},
		{"phrases of three sources", true, true, func(h held, s, i int) bool {
			h.offsets = h.offsets[:min(3, len(h.offsets))]
			return formula(h, s, i)
		}, 400},
		{"a ring", true, false, func(h held, s, i int) bool { return s < 6 && i < 4 }, 400},
		{"a ring of four", true, false, func(h held, s, i int) bool { return s < 4 && i < 4 }, 400},
		{"a ring that leaves out one piece each", true, false, func(h held, s, i int) bool { return s < 6 && i < 4 && s != i }, 400},
		{"a paragraph", false, true, func(h held, s, i int) bool { return s < 6 && i < 4 }, 400},
	} {
		var text strings.Builder
		put := func(s string) concordat.Span {
			span := concordat.Span{Start: text.Len(), End: text.Len() + len(s)}
			text.WriteString(s)
			return span
		}
		var pieces, stretches []concordat.Span
		for i := range phrases {
			pieces = append(pieces, put(phrase(i)))
			if c.apart {
				put(filler)
			}
		}
		put(filler)
		for s := range most {
			stretches = append(stretches, put(own(s)))
		}
		put(filler)
		clause := put(strings.Repeat("The toll of the upper lock is halved for whoever carries hay and brings a child that can read the tide table. ", 5))
		for _, h := range []held{{2, 1, []int{0}}, {5, 4, []int{0, 1, 2, 3}}, {12, 11, []int{0, 1, 4, 6}},
			{40, most, []int{0, 1, 5, 11}}, {400, most, []int{0, 1, 5, 11}}} {
			w := Shareable(text.String(), nil, nil)
			if err := w.Decide(t.Context(), &wording.Scope{Held: &wording.Common{}, Of: h.of}, 0, refOf); err != nil {
				t.Fatal(err)
			}
			var all []concordat.Passage
			for s := range h.sources {
				var spans []concordat.Span
				for i, span := range pieces {
					if c.holds(h, s, i) {
						spans = append(spans, span)
					}
				}
				if c.own {
					spans = append(spans, stretches[s])
				}
				if s == 0 {
					spans = append(spans, clause)
				}
				var passages []concordat.Passage
				for i, span := range spans {
					passages = append(passages, concordat.Passage{Kind: concordat.KindVerbatim, Source: refOf(s), Span: span,
						SourceSpan: concordat.Span{Start: 9000 * i, End: 9000*i + span.Len()}})
				}
				w.Judge(passages)
				all = append(all, passages...)
			}
			w.Settle(all)
			count, marked := h.of <= c.upTo, 0
			for _, p := range all {
				switch {
				case p.Span.Start >= pieces[phrases-1].End:
					if p.Wording != "" {
						t.Errorf("%s among %d: a stretch of one source is marked %q", c.name, h.of, p.Wording)
					}
				case (p.Wording == "") != count:
					marked++
				}
			}
			if marked > 0 {
				t.Errorf("%s among %d: of %d passages, %d phrases are marked wrongly, want counted: %v", c.name, h.of, len(all), marked, count)
			}
		}
	}
}
