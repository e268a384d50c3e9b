package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
	"concordat/report/language"
)

// TestNamed: a year in parentheses after a name and any space is a citation; directly after a bracket or at the beginning it is not.
func TestNamed(t *testing.T) {
	for before, want := range map[string]bool{
		"": false, " ": false, "(": false, "as (": false, "as（": false, "Smith": true, "as Smith ": true, "as smith": false,
		"(Smith": true, "（Smith": true,
		"and\u00a0Smith": true, "by the\u3000Smith": true, "the\u2003smith": false, "as\nSmith et al.": true,
		"as Smith\u00a0et al": true, "In 1999": false,
		"见王明": true, "The 3": false, "Émile": true, "as\u00a0émile": false, "\xffSmith": false,
	} {
		if got := named(before); got != want {
			t.Errorf("%q: %v, want %v", before, got, want)
		}
	}
}

// TestJoinedParts: a part joined from two has the length-weighted mean of their similarities, the words of both without overlap, and
// places in code points if both have them.
func TestJoinedParts(t *testing.T) {
	text := strings.Repeat("abcd ", 40)
	pair := func(from, to, source int) concordat.SpanPair {
		return concordat.SpanPair{Span: concordat.Span{Start: from, End: to}, Source: concordat.Span{Start: source, End: source + to - from}}
	}
	passage := func(from, to int, similarity float64, points bool, words ...concordat.SpanPair) concordat.Passage {
		s := concordat.Span{Start: from, End: to}
		p := concordat.Passage{Span: s, SourceSpan: s, Kind: concordat.KindNear, Similarity: similarity, Text: s.In(text), Words: words}
		if points {
			p.SourcePoints = s
		}
		return p
	}
	first := passage(0, 50, 1, true, pair(0, 4, 0), pair(40, 48, 40))
	second := passage(50, 200, 0.6, true, pair(45, 54, 45), pair(55, 59, 47), pair(55, 59, 55))
	got := joinParts([]concordat.Passage{first, second})
	if len(got) != 1 {
		t.Fatalf("%d parts, want one", len(got))
	}
	if p := got[0]; p.Similarity < 0.6999 || p.Similarity > 0.7001 || p.SourcePoints != (concordat.Span{End: 200}) || p.Text != text {
		t.Errorf("similarity %v, want 0.7; points %v; %d bytes", p.Similarity, p.SourcePoints, len(p.Text))
	}
	if d := cmp.Diff([]concordat.SpanPair{pair(0, 4, 0), pair(40, 48, 40), pair(55, 59, 55)}, got[0].Words); d != "" {
		t.Errorf("words (-want +got):\n%s", d)
	}
	// A place known for only one passage is not the place of both.
	b := builder{count: NewCounter(text)}
	for _, points := range [][2]bool{{true, false}, {false, true}, {false, false}, {true, true}} {
		ps := []concordat.Passage{passage(0, 50, 1, points[0]), passage(50, 200, 1, points[1])}
		want := concordat.Span{}
		if points[0] && points[1] {
			want.End = 200
		}
		if got := b.source(&chain{raw: ps}); got.Points != want || got.Span != (concordat.Span{End: 200}) {
			t.Errorf("points known %v: %v of %v, want %v", points, got.Points, got.Span, want)
		}
	}
}

// TestRulesOfSpans: a stretch excluded or counted by hand starts at 0 or later and is not empty.
func TestRulesOfSpans(t *testing.T) {
	for s, good := range map[concordat.Span]bool{{End: 1}: true, {Start: 5, End: 9}: true, {}: false,
		{Start: 5, End: 5}: false, {Start: 5, End: 4}: false,
		{Start: -1, End: 4}: false} {
		for name, r := range map[string]Rules{
			"counted":  {CountWording: []CountedWording{{Span: s}}},
			"excluded": {ExcludePassages: []ExcludedPassage{{Span: s}}},
		} {
			if err := r.Validate(); (err == nil) != good {
				t.Errorf("%s, %v: error %v, good is %v", name, s, err, good)
			}
		}
	}
}

// TestQuotedWords: a report says whether quotations count fully, in part or not at all.
func TestQuotedWords(t *testing.T) {
	for _, c := range []struct {
		quoted, quotes float64
		exclude        bool
		want           string
	}{
		{0, 0, true, "not counted"}, {0, 0, false, "counted"}, {0.2, 0, true, "not counted"}, {0.2, 0, false, "not counted"},
		{0.2, 0.1, true, "10% of it counted"}, {0.2, 0.1, false, "10% of it counted"}, {0.2, 0.2, true, "counted"},
		{0.2, 0.2, false, "counted"},
	} {
		s := Scores{Quoted: c.quoted, Quotes: c.quotes}
		if got := s.QuotedWords(English, Rules{ExcludeQuotes: c.exclude}); got != c.want {
			t.Errorf("%v of it %v, quotations excluded %v: %q, want %q", c.quoted, c.quotes, c.exclude, got, c.want)
		}
	}
}

// TestNothingShown: if passages and sources are not shown, a report does not claim that none were found.
func TestNothingShown(t *testing.T) {
	found, hidden := &Report{Flags: []concordat.Flag{{Code: FlagWithheld}}}, &Report{Flags: []concordat.Flag{{Code: FlagScoresOnly}}}
	if p, s := found.NoPassages(), found.NoSources(); p != "No passage was found." || s != "No source was found." {
		t.Errorf("nothing was found: %q, %q", p, s)
	}
	if p, s := hidden.NoPassages(), hidden.NoSources(); p != "The passages are not shown." || s != "The sources are not shown." {
		t.Errorf("nothing is shown: %q, %q", p, s)
	}
}

// TestHolders: for common wording, a report states the lowest and highest number of documents that contain it, or one number if the two
// are equal.
func TestHolders(t *testing.T) {
	common := func(documents, of int) SharedWording {
		return SharedWording{Wording: Wording{Kind: concordat.KindCommon, Documents: documents, Of: of}}
	}
	counted, form := common(1, 1000), common(1, 1000)
	counted.Counted, form.Kind = true, concordat.KindForm
	r := &Report{Language: English, Wording: []SharedWording{common(40, 1000), common(30, 1000), common(50, 1000),
		common(7, 90), counted, form, common(0, 1000), common(5, 0)}}
	if d := cmp.Diff([]string{"Found in 7 of 90 documents, including this one.", "Found in 30 to 50 of 1,000 documents, including this one."}, r.holders()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestFlagDetail: a flag is explained in its own words if the language has them, otherwise in its code's words, and otherwise by the text
// as given.
func TestFlagDetail(t *testing.T) {
	f := concordat.Flag{Code: FlagDeleted}
	chinese := Language("zh-Hans")
	for own, want := range language.Code(chinese).Table() {
		f.Detail = own
		if got := chinese.FlagDetail(f); got != want {
			t.Errorf("%q is said as %q, want %q", own, got, want)
		}
	}
	f.Detail = "a detail that no language knows"
	if got := chinese.FlagDetail(f); got != chinese.Say("flag."+FlagDeleted+".detail") {
		t.Errorf("of a known code: %q", got)
	}
	f.Code = "unknown"
	for _, l := range []Language{English, chinese} {
		if got := l.FlagDetail(f); got != f.Detail {
			t.Errorf("of an unknown code: %q", got)
		}
	}
}

// TestEntries: in a numbered list, a line without a number continues the entry above, however it begins.
func TestEntries(t *testing.T) {
	const list = "[1] Harrow, B. (1994). Counting wells in dry valleys. Oxbow Press, 1994.\nReprinted by Quill, 1999.\n[2] Ndiaye, O. Notes. 2007.\n"
	var got []string
	for _, s := range entriesOf(list, lines(list)) {
		got = append(got, s.In(list))
	}
	want := []string{strings.Join(strings.SplitAfter(list, "\n")[:2], ""), "[2] Ndiaye, O. Notes. 2007."}
	want[0] = strings.TrimSuffix(want[0], "\n")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestParseWork: an entry is a work if it has a DOI, or an author and a title that is long enough or has a year.
func TestParseWork(t *testing.T) {
	for entry, want := range map[string]bool{
		"Harrow, B. (1994). Counting wells.": true, "Harrow, B. Counting wells in dry valleys under ground.": true, "10.5555/4417": true,
		"(1994). Counting wells in dry valleys.": false, "Harrow, B. (1994).": false, "1994": false, "": false,
	} {
		if w, ok := parseWork(entry, concordat.Span{End: len(entry)}, 0); ok != want {
			t.Errorf("%q: %+v, %v, want %v", entry, w, ok, want)
		}
	}
	for names, want := range map[string]string{"Harrow Bernard": "harrow", "van der Berg Jan": "berg",
		"B. K. Harrow": "harrow", "von Quist": "quist", "": ""} {
		if got := familyName(names); got != want {
			t.Errorf("family name of %q: %q, want %q", names, got, want)
		}
	}
}

// TestSameWork: works with the same author, year and title are the same unless they have different DOIs.
func TestSameWork(t *testing.T) {
	work := func(doi string) Work {
		return Work{author: "harrow", year: "1994", doi: doi, title: titleWords("Counting wells in dry valleys")}
	}
	for _, c := range []struct {
		held, asked string
		want        bool
	}{{"", "", true}, {"10.1/a", "", true}, {"", "10.1/a", true}, {"10.1/a", "10.1/a", true}, {"10.1/a", "10.1/b", false}} {
		if got := newWorkSet([]Work{work(c.held)}).has(work(c.asked)); got != c.want {
			t.Errorf("DOI %q held, %q asked: %v, want %v", c.held, c.asked, got, c.want)
		}
	}
}

// TestWithholdShort: for a submission that is not stored, short pieces are replaced by placeholders too, and the title stays.
func TestWithholdShort(t *testing.T) {
	f := of(2)
	f.Short = &ShortFindings{Pieces: []ShortPiece{{Text: "The title"}, {Span: concordat.Span{End: 5}, Text: "Wells"}}}
	before := f.Short
	Withhold(f)
	if d := cmp.Diff([]ShortPiece{{Text: "The title"}, {Span: concordat.Span{End: 5}, Text: "xxxxx"}}, f.Short.Pieces); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if before.Pieces[1].Text != "Wells" {
		t.Error("the pieces that were given are changed")
	}
}

// TestTemplatesAreSaid: a report says how many given templates its score leaves out, and does not mention templates if none were given.
func TestTemplatesAreSaid(t *testing.T) {
	for n, want := range []string{"", "Excluded: wording of 1 given template.", "Excluded: wording of 2 given templates."} {
		r := &Report{Language: English, Rules: Rules{ExcludeTemplate: make([]string, n)}}
		var got string
		for _, w := range r.RuleWords() {
			if strings.Contains(w, "template") {
				got = w
			}
		}
		if got != want {
			t.Errorf("of %d templates a report says %q, want %q", n, got, want)
		}
	}
}

// TestContextEndsAtWords: a passage's context comes from its paragraph. Truncated context is cut at a word and marked with an ellipsis,
// unless that would leave less than half of it.
func TestContextEndsAtWords(t *testing.T) {
	for _, x := range []struct {
		s           string
		whole       bool // s extends to the beginning or the end of its text
		last, first string
	}{
		{"", false, "", ""},
		{"one two three", true, "one two three", "one two three"},
		{"one two three", false, "…two three", "one two…"},
		{"one\ntwo three", false, "two three", "one"},
		{"incomprehensible a", false, "…incomprehensible a", "incomprehensible…"},
		{"a incomprehensible", false, "…incomprehensible", "a incomprehensible…"},
		{"abc def", false, "…abc def", "abc def…"},
		{"abcd ef", false, "…abcd ef", "abcd…"},
		{"ab cdef", false, "…cdef", "ab cdef…"},
	} {
		if got := LastOf(x.s, x.whole); got != x.last {
			t.Errorf("before a passage %q is shown as %q, want %q", x.s, got, x.last)
		}
		if got := FirstOf(x.s, x.whole); got != x.first {
			t.Errorf("behind a passage %q is shown as %q, want %q", x.s, got, x.first)
		}
	}
}

// TestShortStatementSaysWhatWas: a report lists the short texts that were left out or not measured, and no others.
func TestShortStatementSaysWhatWas(t *testing.T) {
	for _, x := range []struct {
		short ShortTexts
		want  []string
	}{
		{ShortTexts{}, nil},
		{ShortTexts{Capped: 1}, []string{"For 1 short text, not all similar texts were measured."}},
		{ShortTexts{Common: 2}, []string{"Of the short texts, 2 found as common wording and 0 excluded by rules do not count."}},
		{ShortTexts{Unindexed: 3}, []string{
			"The short texts of 3 documents are not indexed and were not compared; concordat reindex indexes them."}},
	} {
		x.short.Asked, x.short.Found = 9, 4
		if d := cmp.Diff(x.want, (&Report{Language: English, Short: &x.short}).shortStatement()[1:], cmpopts.EquateEmpty()); d != "" {
			t.Errorf("of %+v (-want +got):\n%s", x.short, d)
		}
	}
}
