package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
)

// sentence has forty characters plus a full stop and a space, which do not count.
const sentence = "abcdefghijklmnopqrstuvwxyzabcdefghijklmn. "

// of returns findings for n sentences, with the given passages by first and last sentence.
func of(n int, ps ...concordat.Passage) *Findings {
	for i := range ps {
		ps[i].Span = concordat.Span{Start: ps[i].Span.Start * len(sentence), End: (ps[i].Span.End + 1) * len(sentence)}
		if ps[i].Kind == "" {
			ps[i].Kind = concordat.KindNear
		}
	}
	return &Findings{Version: Version, Submission: concordat.Document{Text: strings.Repeat(sentence, n)}, Passages: ps}
}

func at(first, last int, document string) concordat.Passage {
	return concordat.Passage{Span: concordat.Span{Start: first, End: last},
		Source: concordat.Ref{Site: "a", Library: "l", Document: concordat.DocumentID(document)}, Similarity: 0.8}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// outline lists the sentences and sources of each evidence.
func outline(r *Report) []string {
	var out []string
	for _, e := range r.Evidence {
		s := ""
		for i := e.Span.Start / len(sentence); i*len(sentence) < e.Span.End; i++ {
			s += string(rune('0' + i%10))
		}
		for _, src := range e.Sources {
			s += " " + string(src.Document)
			if src.Excluded != "" {
				s += "-" + string(src.Excluded)
			}
		}
		out = append(out, s)
	}
	return out
}

func TestNeighboursJoin(t *testing.T) {
	for _, x := range []struct {
		name string
		f    *Findings
		want []string
	}{
		{"one sentence apart", of(10, at(1, 1, "x"), at(3, 3, "x")), []string{"1 x", "3 x"}},
		{"two sentences apart", of(10, at(1, 1, "x"), at(4, 4, "x")), []string{"1 x", "4 x"}},
		{"one source overlaps", of(10, at(1, 3, "x"), at(3, 5, "x")), []string{"12345 x"}},
		{"two sources do not join", of(10, at(1, 1, "x"), at(2, 2, "y")), []string{"1 x", "2 y"}},
		{"two sources overlap", of(10, at(1, 4, "x"), at(3, 5, "y")), []string{"12345 x y"}},
		{"a chain of three", of(10, at(1, 3, "x"), at(3, 5, "y"), at(5, 6, "z")), []string{"123456 x y z"}},
		{"many sources of one passage, longest first", of(10, at(2, 3, "z"), at(2, 5, "y"), at(2, 2, "x")), []string{"2345 y z x"}},
	} {
		if d := cmp.Diff(x.want, outline(Build(x.f, Rules{}))); d != "" {
			t.Errorf("%s:\n%s", x.name, d)
		}
	}
}

func TestGapsDoNotCount(t *testing.T) {
	r := Build(of(10, at(1, 1, "x"), at(3, 3, "x")), Rules{})
	near(t, "covered", r.Scores.Covered, 0.2)
	near(t, "largest", r.Scores.Largest, 0.2)
}

func TestNothingCountsTwice(t *testing.T) {
	r := Build(of(10, at(1, 4, "x"), at(1, 4, "y"), at(3, 5, "z"), at(1, 4, "x")), Rules{})
	near(t, "covered", r.Scores.Covered, 0.5)
	near(t, "share of x", r.Sources[0].Share, 0.4)
	near(t, "share of z", r.Sources[2].Share, 0.3)
	near(t, "alone of z", r.Sources[2].Alone, 0.1)
	near(t, "alone of x", r.Sources[0].Alone, 0)
}

func TestNextBestSurfaces(t *testing.T) {
	f := of(10, at(1, 4, "x"), at(2, 3, "y"))
	r := Build(f, Rules{ExcludeSources: []concordat.Ref{{Site: "a", Library: "l", Document: "x"}}})
	if d := cmp.Diff([]string{"23 y"}, outline(r)); d != "" {
		t.Error(d)
	}
	near(t, "covered", r.Scores.Covered, 0.2)
	near(t, "excluded", r.Scores.Excluded, 0.2)
	near(t, "found", r.Scores.Found, 0.4)
	if s := r.Sources[1]; s.Document != "x" || s.Excluded != concordat.ExcludedSource || s.Share != 0.4 {
		t.Errorf("the excluded source is shown as %+v", s)
	}
	r = Build(f, Rules{OwnWork: []concordat.Ref{{Site: "a", Library: "l", Document: "x"}}})
	if d := cmp.Diff([]string{"23 y"}, outline(r)); d != "" || r.Sources[1].Excluded != concordat.ExcludedOwn {
		t.Errorf("%s\nown work is shown as %+v", d, r.Sources[1])
	}
	for _, ref := range []concordat.Ref{{Site: "a"}, {Site: "a", Library: "l"}} {
		if got := Build(f, Rules{ExcludeSources: []concordat.Ref{ref}}).Scores.Covered; got != 0 {
			t.Errorf("without %v covered is %v", ref, got)
		}
	}
	for _, ref := range []concordat.Ref{{}, {Library: "l"}, {Site: "a", Library: "k"}} {
		if got := Build(f, Rules{ExcludeSources: []concordat.Ref{ref}}).Scores.Covered; got != 0.4 {
			t.Errorf("without %v covered is %v, want all", ref, got)
		}
	}
}

func TestCommonWording(t *testing.T) {
	common := func(p concordat.Passage, documents int) concordat.Passage {
		p.Documents = documents
		return p
	}
	for _, x := range []struct {
		name  string
		f     *Findings
		rules Rules
		want  []string
		share float64
	}{
		{"alone", of(10, common(at(1, 1, "x"), 21)), Rules{}, []string{"1 x-common"}, 0},
		{"at the bound", of(10, common(at(1, 1, "x"), 20)), Rules{}, []string{"1 x"}, 0.1},
		{"beside another passage of the source", of(10, common(at(1, 1, "x"), 21), at(2, 2, "x")), Rules{}, []string{"1 x-common", "2 x"}, 0.1},
		{"beside a passage of another source", of(10, common(at(1, 1, "x"), 21), at(2, 2, "y")), Rules{}, []string{"1 x-common", "2 y"}, 0.1},
		{"far from another passage of the source", of(10, common(at(1, 1, "x"), 21), at(7, 7, "x")), Rules{}, []string{"1 x-common", "7 x"}, 0.1},
		{"a bound of one's own", of(10, common(at(1, 1, "x"), 4)), Rules{CommonAbove: 3}, []string{"1 x-common"}, 0},
		{"no bound", of(10, common(at(1, 1, "x"), 1000)), Rules{CommonAbove: -1}, []string{"1 x"}, 0.1},
	} {
		r := Build(x.f, x.rules)
		if d := cmp.Diff(x.want, outline(r)); d != "" {
			t.Errorf("%s:\n%s", x.name, d)
		}
		near(t, x.name+": covered", r.Scores.Covered, x.share)
		if x.share == 0 {
			near(t, x.name+": common", r.Scores.Common, 0.1)
			if r.Evidence[0].Kind != concordat.KindCommon {
				t.Errorf("%s: kind %s", x.name, r.Evidence[0].Kind)
			}
		}
	}
}

func TestSmallMatchesAndSources(t *testing.T) {
	f := of(10, at(1, 1, "x"), at(3, 3, "x"), at(6, 6, "y"))
	r := Build(f, Rules{MinCharacters: 41})
	if d := cmp.Diff([]string{"1 x", "3 x", "6 y-small"}, outline(r)); d != "" {
		t.Errorf("the least length is that of joined passages:\n%s", d)
	}
	r = Build(f, Rules{MinSourceShare: 0.15})
	if d := cmp.Diff([]string{"1 x", "3 x", "6 y-small_source"}, outline(r)); d != "" {
		t.Error(d)
	}
}

// TestOverlapIsOne: for the rule about small matches, overlapping passages of one source count as one.
func TestOverlapIsOne(t *testing.T) {
	r := Build(of(10, at(1, 2, "x"), at(2, 3, "x"), at(6, 7, "y")), Rules{MinCharacters: 100})
	if d := cmp.Diff([]string{"123 x", "67 y-small"}, outline(r)); d != "" {
		t.Error(d)
	}
}

// TestExcludedKindIsNoVerbatim: if verbatim matches are left out, text that another source covers is not called verbatim.
func TestExcludedKindIsNoVerbatim(t *testing.T) {
	same := func() *Findings { // one source also has the text around it, so it counts
		p, q := at(2, 3, "x"), at(2, 3, "y")
		p.Kind, q.Kind = concordat.KindVerbatim, concordat.KindVerbatim
		return of(10, at(1, 4, "x"), p, q)
	}
	near(t, "verbatim", Build(same(), Rules{}).Scores.Verbatim, 0.2)
	r := Build(same(), Rules{ExcludeKinds: []concordat.Kind{concordat.KindVerbatim}})
	near(t, "covered", r.Scores.Covered, 0.4)
	near(t, "verbatim without the kind", r.Scores.Verbatim, 0)
	near(t, "changed without the kind", r.Scores.Changed, 0.4)
}

func TestVerbatimIsCountedByCharacter(t *testing.T) {
	p := at(2, 3, "y")
	p.Kind, p.Similarity = concordat.KindVerbatim, 1
	r := Build(of(10, at(1, 4, "x"), p), Rules{})
	near(t, "verbatim", r.Scores.Verbatim, 0.2)
	near(t, "changed", r.Scores.Changed, 0.2)
	near(t, "literalness", r.Scores.Literalness, 0.9) // two sentences at 1 and two at 0.8
	var kinds []concordat.Kind
	for _, s := range r.Covered {
		kinds = append(kinds, s.Kind)
	}
	if d := cmp.Diff([]concordat.Kind{"near", "verbatim", "near"}, kinds); d != "" {
		t.Error(d)
	}
}

func TestPartlyExcludedPassageCountsInPart(t *testing.T) {
	f := of(10, at(1, 4, "x"))
	f.Sections = []concordat.Section{{Name: "front", Span: concordat.Span{End: 3 * len(sentence)}}}
	r := Build(f, Rules{ExcludeSections: []string{"front"}})
	near(t, "whole", r.Scores.Whole, 0.2)
	near(t, "covered", r.Scores.Covered, 0.2/0.7) // the excluded front does not count
	near(t, "excluded", r.Scores.Excluded, 0.2)
	if d := cmp.Diff([]string{"12 x-section", "34 x"}, outline(r)); d != "" || r.Evidence[1].Characters != 80 {
		t.Errorf("the passage counts %d characters:\n%s", r.Evidence[1].Characters, d)
	}
	r = Build(f, Rules{ExcludePassages: []ExcludedPassage{{Span: concordat.Span{End: len(f.Submission.Text)}, Comment: "own draft"}}})
	if r.Evidence[0].Excluded != concordat.ExcludedPassage || r.Scores.Covered != 0 {
		t.Errorf("evidence is %q, covered %v", r.Evidence[0].Excluded, r.Scores.Covered)
	}
}

func TestSkippedTextIsNoDenominator(t *testing.T) {
	f := of(10, at(1, 1, "x"))
	f.Skipped = []concordat.Skipped{{Span: concordat.Span{Start: 5 * len(sentence), End: 10 * len(sentence)}, Reason: concordat.SkipSection}}
	near(t, "covered", Build(f, Rules{}).Scores.Covered, 0.2)

	// Text with a match was compared, whatever the findings say.
	f.Skipped[0].Span.Start = 0
	r := Build(f, Rules{})
	near(t, "covered", r.Scores.Covered, 1)
	if got := len(r.Skipped); got != 2 {
		t.Errorf("%d skipped spans, want those before and behind the passage: %v", got, r.Skipped)
	}
}

// TestPartsJoin: parts that follow each other in both texts are shown as one, with the gap between them.
func TestPartsJoin(t *testing.T) {
	source := "zero one two three four five six seven eight nine"
	part := func(start, end, sourceStart, sourceEnd int) concordat.Passage {
		return concordat.Passage{Span: concordat.Span{Start: start, End: end}, SourceSpan: concordat.Span{Start: sourceStart, End: sourceEnd},
			Kind: concordat.KindNear,
			Text: source[sourceStart:sourceEnd], Before: source[max(0, sourceStart-10):sourceStart],
			After: source[sourceEnd:min(len(source), sourceEnd+10)]}
	}
	withoutText := func(p concordat.Passage) concordat.Passage {
		p.Text = "" // the text is not permitted to be shown
		return p
	}
	for _, x := range []struct {
		name string
		ps   []concordat.Passage
		want []string
	}{
		{"overlapping", []concordat.Passage{part(0, 12, 0, 12), part(5, 18, 5, 18)}, []string{"zero one two three"}},
		{"the same block twice", []concordat.Passage{part(0, 12, 0, 18), part(5, 18, 0, 18)}, []string{"zero one two three"}},
		{"with a gap that is known", []concordat.Passage{part(0, 8, 0, 8), part(10, 18, 13, 18)}, []string{"zero one two three"}},
		{"with a gap that is not", []concordat.Passage{part(0, 8, 0, 8), part(10, 18, 40, 44)}, []string{"zero one", "ight"}},
		{"without the words of the second", []concordat.Passage{part(0, 8, 0, 8), withoutText(part(8, 18, 8, 18))}, []string{"zero one", ""}},
		{"without the words of the first", []concordat.Passage{withoutText(part(0, 8, 0, 8)), part(8, 18, 8, 18)}, []string{"", " two three"}},
		{"without words", []concordat.Passage{withoutText(part(0, 8, 0, 8)), withoutText(part(8, 18, 8, 18))}, []string{""}},
		{"in another order", []concordat.Passage{part(0, 8, 40, 49), part(9, 18, 0, 8)}, []string{"ight nine", "zero one"}},
	} {
		var got []string
		for _, p := range joinParts(x.ps) {
			got = append(got, p.Text)
		}
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%s:\n%s", x.name, d)
		}
	}
}

// TestPartsStopAtForms: if the source of a copied answer has the form's next question in the middle, the answer is shown as two parts if
// words were compared; without words, as with a partner, the short gap is included.
func TestPartsStopAtForms(t *testing.T) {
	const question = "\n\nWhat will be done with the nets in winter?\n\n"
	const first, second = "The boats leave the harbour at four.", "They come back with the tide."
	source, text := first+question+second, first+" "+second
	passage := func(s string, words bool) concordat.Passage {
		here, there := strings.Index(text, s), strings.Index(source, s)
		p := concordat.Passage{Span: concordat.Span{Start: here, End: here + len(s)}, Kind: concordat.KindVerbatim, Similarity: 1, Text: s,
			SourceSpan: concordat.Span{Start: there, End: there + len(s)}, Before: source[:there], After: source[there+len(s):]}
		if words {
			p.Words = []concordat.SpanPair{{Span: p.Span, Source: p.SourceSpan}}
		}
		return p
	}
	for words, want := range map[bool][]string{true: {first, second}, false: {source}} {
		var got []string
		for _, p := range joinParts([]concordat.Passage{passage(first, words), passage(second, words)}) {
			got = append(got, p.Text)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("words compared %v (-want +got):\n%s", words, d)
		}
	}
}

func TestWords(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 0.001: "<\u00a01%", 0.005: "1%", 0.494: "49%", 0.996: ">\u00a099%", 1: "100%"} {
		if got := English.Percent(share); got != want {
			t.Errorf("Percent(%v) is %q, want %q", share, got, want)
		}
	}
	for l, want := range map[Language][2]string{"de": {"30\u00a0%", "4,5\u00a0%"}, "zh-Hans": {"30%", "4.5%"}} {
		if got := [2]string{l.Percent(0.3), l.percent1(0.045)}; got != want {
			t.Errorf("in %s: %q, want %q", l, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000",
		-100: "-100"} {
		if got := Thousands(English, n); got != want {
			t.Errorf("Thousands(%d) is %q, want %q", n, got, want)
		}
	}
	for l, want := range map[Language]string{"de": "12.345", "zh-Hans": "12,345"} {
		if got := Thousands(l, 12345); got != want {
			t.Errorf("in %s: %q, want %q", l, got, want)
		}
	}
}
