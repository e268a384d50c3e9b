package compare

import (
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/meaning"
	"concordat/profile"
	"concordat/report"
)

// TestDocumentsOfPassage: a passage is in as many documents as its rarest sentence, however many contain its other sentences.
func TestDocumentsOfPassage(t *testing.T) {
	c := &Candidate{Hits: []Hit{{Span: concordat.Span{Start: 0, End: 10}, Documents: 2},
		{Span: concordat.Span{Start: 10, End: 20}, Documents: 7}, {Span: concordat.Span{Start: 20, End: 30}, Documents: 5}}}
	for span, want := range map[concordat.Span]int{{Start: 10, End: 20}: 7, {Start: 12, End: 25}: 5, {Start: 0, End: 30}: 2,
		{Start: 30, End: 40}: 0} {
		if got := c.Documents(span); got != want {
			t.Errorf("%v is held by %d documents, want %d", span, got, want)
		}
	}
}

// TestMerge: documents nominated only by words are compared up to their limit, and three tenths of the places are reserved for them.
func TestMerge(t *testing.T) {
	candidates := func(kind string, n int) (out []*Candidate) {
		for i := range n {
			out = append(out, &Candidate{Ref: concordat.Ref{Document: concordat.DocumentID(fmt.Sprint(kind, i))}})
		}
		return out
	}
	for _, x := range []struct{ prints, texts, most, byPrints, byTexts int }{
		{3, 2, 100, 3, 2}, {100, 100, 100, 70, 30}, {0, 100, 500, 0, textCandidates}, {100, 5, 100, 95, 5}, {10, 100, 30, 10, 20},
	} {
		prints := candidates("print", x.prints)
		out, left := merge(prints, candidates("text", x.texts), x.most)
		n := 0
		for _, c := range out {
			if strings.HasPrefix(string(c.Ref.Document), "print") {
				n++
			}
		}
		if n != x.byPrints || len(out)-n != x.byTexts || left != x.prints-x.byPrints {
			t.Errorf("%+v: %d and %d, %d left out", x, n, len(out)-n, left)
		}
	}
	both := candidates("print", 1)
	if out, _ := merge(both, candidates("print", 1), 10); len(out) != 1 || !both[0].Text {
		t.Errorf("nominated by both: %d, by words too: %v", len(out), both[0].Text)
	}
}

// TestBestTerms: a window asks for its 16 rarest terms and skips terms that no documents, or too many, contain.
func TestBestTerms(t *testing.T) {
	w := &weigher{stats: &concordat.TextStats{Documents: 1000}}
	var window []concordat.TermCount
	for i := range 40 {
		w.terms = append(w.terms, concordat.Term(i))
		w.stats.Holding = append(w.stats.Holding, i)
		window = append(window, concordat.TermCount{Term: concordat.Term(i), Count: 1})
	}
	w.stats.Holding[3] = 101 // in more than one in ten documents
	got := w.best(window)
	if len(got) != windowTerms {
		t.Fatalf("%d terms, want %d", len(got), windowTerms)
	}
	want := 1 // no document contains the first term
	for _, g := range got {
		if want == 3 {
			want++
		}
		if g.Term != concordat.Term(want) || g.Weight <= 0 {
			t.Errorf("term %d of weight %g, want term %d", g.Term, g.Weight, want)
		}
		want++
	}
}

// TestKindOfLead: a place in another language is a translation, a much longer place is summarised, and a place in an unknown language is
// not a translation.
func TestKindOfLead(t *testing.T) {
	const english = "It was the first time that they had seen what could be done with such a thing."
	const german = "Es war das erste Mal, dass sie gesehen hatten, was man mit so etwas machen kann."
	for text, want := range map[[2]string]report.LeadKind{
		{english, german}:                       report.LeadTranslation,
		{english, english}:                      report.LeadRewording,
		{english, english + " " + english}:      report.LeadSummary,
		{english + " " + english, english}:      report.LeadRewording,
		{english, strings.Repeat("xyzzy ", 10)}: report.LeadRewording,
		{strings.Repeat("xyzzy ", 10), english}: report.LeadRewording,
	} {
		d := &concordat.Document{Text: text[1]}
		l := meaning.Lead{Span: concordat.Span{End: len(text[0])}, Source: concordat.Span{End: len(text[1])}}
		if got := leadOf(text[0], d, report.NewCounter(text[1]), &Candidate{}, l, 3); got.Kind != want {
			t.Errorf("%.30q for %.30q: %s in %v, want %s", text[0], text[1], got.Kind, got.Languages, want)
		}
	}
}

// TestFewWordsAlone: a few shared words with nothing else from the source nearby are marked as isolated; an isolated longer passage is
// not.
func TestFewWordsAlone(t *testing.T) {
	words := func(n int) string { return strings.Repeat("word ", n) }
	short, long := words(5), words(20)
	text := short + words(60) + long
	w := Shareable(text, nil, nil)
	passages := []concordat.Passage{
		{Span: concordat.Span{End: len(short)}, SourceSpan: concordat.Span{End: len(short)}},
		{Span: concordat.Span{Start: len(text) - len(long), End: len(text)}, SourceSpan: concordat.Span{Start: 5000, End: 5000 + len(long)}},
	}
	w.markCrumbs(passages)
	if passages[0].Wording == "" || passages[1].Wording != "" {
		t.Errorf("a few words are marked %q, a long passage %q", passages[0].Wording, passages[1].Wording)
	}
}

// TestRelatedToReplaced: a sentence from an earlier version of a document is ignored, and the others still count.
func TestRelatedToReplaced(t *testing.T) {
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &Comparer{Profiler: p}
	const text = "The glacier has lost a third of its length within forty years of measurement."
	gone := Hit{Span: concordat.Span{End: len(text)}, Source: concordat.Span{Start: 500, End: 600}}
	same := Hit{Span: concordat.Span{End: len(text)}, Source: concordat.Span{End: len(text)}}
	for _, x := range []struct {
		hits []Hit
		want bool
	}{{[]Hit{gone}, false}, {[]Hit{gone, same}, true}} {
		if got, err := m.Related(text, &Candidate{Hits: x.hits}, text); got != x.want || err != nil {
			t.Errorf("%v: %v, %v", x.hits, got, err)
		}
	}
}

// TestLeadLanguages: leads between measured languages have a likelihood; for other languages and scripts, the report says that they were
// not measured.
func TestLeadLanguages(t *testing.T) {
	texts := map[string]string{
		"en": "It was the first time that they had seen what could be done with such a thing.",
		"de": "Es war das erste Mal, dass sie gesehen hatten, was man mit so etwas machen kann.",
		"fr": "C'était la première fois qu'ils avaient vu ce que l'on pouvait faire avec une telle chose.",
		"zh": "这是他们第一次看到用这样的东西能够做什么，大家都觉得十分惊讶。",
		"ja": "彼らがそのようなもので何ができるのかを見たのは、それが初めてのことだった。",
		"ko": "그들이 그런 것으로 무엇을 할 수 있는지 본 것은 그때가 처음이었다.",
		"ru": "Они впервые увидели, что можно сделать с такой вещью.",
		"":   strings.Repeat("xyzzy ", 10),
	}
	for code, want := range map[string]string{"en": "", "zh": "", "de": FlagLeadLanguage, "fr": FlagLeadLanguage, "": FlagLeadLanguage,
		"ja": FlagLeadScript, "ko": FlagLeadScript, "ru": FlagLeadScript} {
		text, got := texts[code], ""
		for _, f := range languageFlags(text) {
			got += f.Code
			for _, tag := range []string{"de", "zh"} {
				if in, err := report.ParseLanguage(tag); err != nil || in.FlagDetail(f) == f.Detail || in.FlagName(f) == f.Code {
					t.Errorf("%s is not said in %s, %v", f.Code, tag, err)
				}
			}
		}
		if l := profile.LanguageOf(text); l != code || got != want {
			t.Errorf("%s: language %q, flag %q, want %q", code, l, got, want)
		}
	}
	if got := languageFlags("12 34"); got != nil {
		t.Errorf("without letters: %v", got)
	}
	measured := map[[2]string]bool{{"en", "en"}: true, {"zh", "zh"}: true, {"en", "zh"}: true, {"zh", "en"}: true, {"en", "de"}: true,
		{"de", "en"}: true}
	for a := range texts {
		for b := range texts {
			d := &concordat.Document{Text: texts[b]}
			l := meaning.Lead{Span: concordat.Span{End: len(texts[a])}, Source: concordat.Span{End: len(d.Text)}}
			got := leadOf(texts[a], d, report.NewCounter(d.Text), &Candidate{}, l, 3)
			if want := measured[[2]string{a, b}]; (got.Likelihood == 3) != want || (got.Likelihood == 0) == want {
				t.Errorf("%s for %s: likelihood %v in %v", a, b, got.Likelihood, got.Languages)
			}
		}
	}
}
