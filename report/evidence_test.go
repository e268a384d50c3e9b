package report_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// passageOf makes a passage that copies part of a text literally into a document.
func passageOf(text, part, document string) concordat.Passage {
	at := strings.Index(text, part)
	return concordat.Passage{Span: concordat.Span{Start: at, End: at + len(part)}, Kind: concordat.KindVerbatim, Similarity: 1, Text: part,
		SourceSpan: concordat.Span{End: len(part)}, Source: concordat.Ref{Site: "s", Library: "l", Document: concordat.DocumentID(document)}}
}

func dated(document string, d concordat.Date) report.SourceDate {
	return report.SourceDate{Source: concordat.Ref{Site: "s", Library: "l", Document: concordat.DocumentID(document)}, Date: d,
		By: concordat.DateGiven}
}

func TestOldestSource(t *testing.T) {
	text := "Every well that is dug on one side of the border lowers the water on the other side."
	for _, c := range []struct {
		dates map[string]concordat.Date
		want  string // documents marked, in alphabetical order
	}{
		{map[string]concordat.Date{"a": "2019", "b": "2001-05", "c": ""}, "b"},
		{map[string]concordat.Date{"a": "2019", "b": "2019-03", "c": "2020"}, "a b"}, // 2019 can be before or after March
		{map[string]concordat.Date{"a": "2019", "b": "2019", "c": "2019"}, "a b c"},
		{map[string]concordat.Date{"a": "2019", "b": "", "c": ""}, ""}, // nothing to compare with
		{map[string]concordat.Date{"a": "", "b": "", "c": ""}, ""},
		{map[string]concordat.Date{"a": "2019-99", "b": "2018", "c": "2017"}, "c"}, // no valid date
	} {
		f := &report.Findings{Submission: concordat.Document{Text: text}}
		for _, name := range []string{"c", "a", "b"} {
			f.Passages = append(f.Passages, passageOf(text, text, name))
			f.Dates = append(f.Dates, dated(name, c.dates[name]))
		}
		r := report.Build(f, report.Rules{})
		var got []string
		for _, s := range r.Evidence[0].Sources {
			if s.Oldest {
				got = append(got, string(s.Document))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: oldest %q, want %q", c.dates, got, c.want)
		}
	}
	// Two parts of a document count as one document.
	f := &report.Findings{Submission: concordat.Document{Text: text}, Dates: []report.SourceDate{dated("a", "2019")}}
	f.Passages = []concordat.Passage{passageOf(text, text, "a"), passageOf(text, "Every well", "a")}
	if r := report.Build(f, report.Rules{}); r.Evidence[0].Sources[0].Oldest {
		t.Error("a document is older than itself")
	}
}

func TestShortTextsByRules(t *testing.T) {
	text := "Introduction\n\nGovernance of wells\n\nReferences\n\n" + strings.Repeat("Own words of this text about something else. ", 4)
	ref := func(lib string) concordat.Ref {
		return concordat.Ref{Site: "s", Library: concordat.LibraryID(lib), Document: "d"}
	}
	at := func(s string) concordat.Span {
		i := strings.Index(text, s)
		return concordat.Span{Start: i, End: i + len(s)}
	}
	f := &report.Findings{Submission: concordat.Document{Text: text}, Short: &report.ShortFindings{Threshold: 0.5,
		Pieces: []report.ShortPiece{{Text: "A title"}, {Span: at("Introduction"), Text: "Introduction"},
			{Span: at("Governance of wells"), Text: "Governance of wells"}},
		Matches: []report.ShortMatch{{Piece: 1, Source: ref("a"), Similarity: 1, Documents: 500},
			{Piece: 2, Source: ref("b"), Similarity: 0.8, Documents: 1},
			{Piece: 2, Source: ref("a"), Similarity: 1, Documents: 1}, {Piece: 0, Source: ref("a"), Similarity: 1, Documents: 2},
			{Piece: 9, Source: ref("a")}}}}
	figures := func(r report.Rules) [4]int {
		s := report.Build(f, r).Short
		return [4]int{s.Asked, s.Found, s.Common, s.Excluded}
	}
	for name, c := range map[string]struct {
		rules report.Rules
		want  [4]int
	}{
		"none":           {report.Rules{}, [4]int{3, 2, 1, 0}},
		"nothing common": {report.Rules{CommonAbove: -1}, [4]int{3, 3, 0, 0}},
		"one source":     {report.Rules{ExcludeSources: []concordat.Ref{ref("a")}}, [4]int{3, 1, 0, 2}},
		"a template":     {report.Rules{ExcludeTemplate: []string{"Governance of wells\nA title\nName:"}}, [4]int{3, 0, 1, 2}},
		"in other words": {report.Rules{ExcludeTemplate: []string{"Of governance of wells"}}, [4]int{3, 2, 1, 0}},
		"taken out":      {report.Rules{ExcludePassages: []report.ExcludedPassage{{Span: at("Governance of wells")}}}, [4]int{3, 1, 1, 1}},
	} {
		if got := figures(c.rules); got != c.want {
			t.Errorf("%s: asked, found, common, excluded %v, want %v", name, got, c.want)
		}
	}
	if r := report.Build(f, report.Rules{}); r.Scores.Found != 0 || r.Short.Pieces[2].Sources[0].Source != ref("a") {
		t.Errorf("scores %+v, sources %+v", r.Scores, r.Short.Pieces[2].Sources)
	}
}

// TestRegisteredTemplates: registered wording adds nothing to the score, even with other text between its lines; its short lines count as
// registered only if they stand alone; a rule makes it count.
func TestRegisteredTemplates(t *testing.T) {
	form := "Application form\n\n1. Aims\n\nI declare that I have written this work myself and have used no other sources than those named."
	text := "Application form\n\n1. Aims\n\nOur aims are to measure wells and to name aims that nobody else has named before.\n\nI declare that I have written this work myself and have used no other sources than those named."
	f := &report.Findings{Submission: concordat.Document{Text: text},
		Templates: []report.Template{{Site: "s", Library: "l", Name: "form", Text: form}},
		Passages:  []concordat.Passage{passageOf(text, text, "d")}}
	r := report.Build(f, report.Rules{})
	left := strings.Join(texts(text, coveredOf(r)), "|")
	if strings.Trim(left, "|.\n ")+"." != "Our aims are to measure wells and to name aims that nobody else has named before." {
		t.Errorf("counted %q, want what is between", left)
	}
	if all := report.Build(f, report.Rules{CountTemplates: true}); all.Scores.Covered != 1 || all.Scores.Template != 0 ||
		r.Scores.Template == 0 {
		t.Errorf("counted: %+v, not counted: %+v", all.Scores, r.Scores)
	}
	f.Passages = []concordat.Passage{passageOf(text,
		"I declare that I have written this work myself and have used no other sources than those named.", "d")}
	if e := report.Build(f, report.Rules{}).Evidence[0]; e.Kind != concordat.KindTemplate || e.Excluded != concordat.ExcludedTemplate {
		t.Errorf("kind %s, excluded %s, want template", e.Kind, e.Excluded)
	}
}

func coveredOf(r *report.Report) []concordat.Span {
	var out []concordat.Span
	for _, s := range r.Covered {
		out = append(out, s.Span)
	}
	return out
}

// TestConclusion: a conclusion claims only what the table supports, and nothing if nothing was compared.
func TestConclusion(t *testing.T) {
	text := strings.Repeat("Some words of a text that can be compared with others. ", 10)
	at := func(share float64) *report.Report {
		f := &report.Findings{Submission: concordat.Document{Text: text}}
		if n := int(share * float64(len(text))); n > 0 {
			f.Passages = []concordat.Passage{passageOf(text, text[:n], "d")}
		}
		return report.Build(f, report.Rules{})
	}
	if c := report.Build(&report.Findings{}, report.Rules{}).Conclusion(); c != "" {
		t.Errorf("of nothing: %q", c)
	}
	if c := at(0.05).Conclusion(); !strings.Contains(c, "does not prove originality") {
		t.Error(c)
	}
	batch := func(share float64) *report.Report {
		r := at(share)
		r.Consulted = []concordat.Consulted{{Library: concordat.BatchLibrary("1")}}
		return r
	}
	for _, c := range []struct {
		of    *report.Report
		plain string
		rest  []string
	}{
		{at(0.05), "In our tests, at most 1 in 100 texts with a tenth or more copied or reworded had so small a share.",
			[]string{"665 of 670 documents", "reached 10%"}},
		{at(0.15), "In our tests, at most 1 honest text in 400 reached a share of 10%.",
			[]string{"5 reached 10%", "2,147 measured texts", "367 share forms", "665 did", "that a language model rewrote to the same extent, 0 did"}},
		{at(0.5), "In our tests, at most 1 honest text in 1,000 reached a share of 30%.", []string{"2 reached 30%", "606 did"}},
		{batch(0.05), "In our tests, at most 1 in 70 texts with a tenth or more copied or reworded had so small a share.", []string{"70 of 71"}},
		{batch(0.15), "In our tests, none of 367 honest texts reached a share of 10%.", []string{"Of 367 measured texts", "Of 71 with", "not measured in batches"}},
	} {
		plain, rest := c.of.Conclusion(), report.ShareMeaning(c.of)[0]
		if !strings.HasPrefix(plain, c.plain) || len(plain) > 200 {
			t.Errorf("%v: %q, want %q", c.of.Scores.Covered, plain, c.plain)
		}
		for _, w := range c.rest {
			if !strings.Contains(rest, w) {
				t.Errorf("%v: %q does not say %q", c.of.Scores.Covered, rest, w)
			}
		}
		if strings.Contains(plain+rest, "times") {
			t.Errorf("%v: %q says how many times as frequent", c.of.Scores.Covered, plain+rest)
		}
	}
	for _, r := range report.Calibration() {
		if r.Third > r.Tenth || r.Tenth > r.Documents {
			t.Errorf("%+v", r)
		}
	}
}

// TestMarksAtRandom: for any brackets and quotation marks in a text, the search for quotations and citations terminates and stays within
// the text.
func TestMarksAtRandom(t *testing.T) {
	pieces := []string{"“", "”", "‘", "’", "「", "」", "『", "』", "《", "》", "(", ")", "（", "）", "[", "]", "［", "〔", "'", "\"", "Smith", "王明",
		" ", ", ", "，", "2020", "[3]", "\n", "\n\n", "> ", "　　", "参考文献", "注释", "① ", "and", "等", "."}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		var b strings.Builder
		for range rnd.IntN(200) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		text := b.String()
		f := &report.Findings{Submission: concordat.Document{Text: text},
			Passages: []concordat.Passage{{Span: concordat.Span{Start: 1, End: len(text)}, Source: concordat.Ref{Site: "s"}}}}
		r := report.Build(f, report.Rules{ExcludeQuotes: true, ExcludeCitations: true, ExcludeBibliography: true})
		for _, all := range [][]concordat.Span{r.Quotes, r.Citations, r.References} {
			end := 0
			for _, s := range all {
				if s.Start < end || s.End <= s.Start || s.End > len(text) {
					t.Fatalf("seed %d: spans %v of %d bytes", seed, all, len(text))
				}
				end = s.End
			}
		}
	}
}

// TestOnlyShortTexts: if a text has no passages but its short texts were compared, the report says so and names their sources; if its
// lines are not short texts, the report explains how to make them so.
func TestOnlyShortTexts(t *testing.T) {
	ref := func(id concordat.DocumentID) concordat.Ref {
		return concordat.Ref{Site: "s", Library: "l", Document: id}
	}
	f := &report.Findings{Submission: concordat.Document{Text: "Wells"}, Checked: []concordat.Span{},
		Short: &report.ShortFindings{Threshold: 0.5, Pieces: []report.ShortPiece{{Text: "Wells"}, {Text: "Rivers"}, {Text: "Lakes"}},
			Matches: []report.ShortMatch{{Piece: 0, Source: ref("one"), Title: "Old wells", Similarity: 1, Documents: 1},
				{Piece: 0, Source: ref("two"), Title: "Two titles", Similarity: 1, Documents: 2},
				{Piece: 1, Source: ref("two"), Title: "Two titles", Similarity: 1, Documents: 2},
				{Piece: 1, Source: ref("two"), Title: "Two titles", Similarity: 0.9, Documents: 2},
				{Piece: 2, Source: ref("many"), Title: "Held by many", Similarity: 1, Documents: 500}}}}
	summary := func() string {
		var b strings.Builder
		if err := report.WriteSummary(&b, report.Build(f, report.Rules{})); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := summary()
	for _, want := range []string{"only short texts", "2 of 3", "Two titles (", "2 short texts", "Old wells (", "1 short text\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Nothing was compared") || strings.Contains(got, "Held by many") ||
		strings.Index(got, "Two titles") > strings.Index(got, "Old wells") {
		t.Errorf("the summary contradicts itself or names sources that do not count:\n%s", got)
	}
	f.Short.Pieces, f.Short.Matches = nil, nil
	if got = summary(); !strings.Contains(got, "Nothing was compared") || !strings.Contains(got, "line by line if") {
		t.Errorf("the summary of a text without short texts:\n%s", got)
	}
	f.Short.Pieces = []report.ShortPiece{{Text: "Wells"}}
	f.Short.Matches = []report.ShortMatch{{Piece: 0, Source: ref("one"), Title: "Old wells", Similarity: 1, Documents: 1}}
	got = strings.Join(strings.Fields(summary()), " ")
	for _, want := range []string{"1 of 1 compared short text also appears in", "only the title was compared", "line by line if"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary of a title alone lacks %q:\n%s", want, got)
		}
	}
}

// TestTooShort: in every format, a document with fewer than 60 words of its own is reported as too short for a share; text excluded by
// rules is not its own.
func TestTooShort(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("river ", n)) + "." }
	form := strings.Repeat("Describe the project. ", 30)
	for _, c := range []struct {
		name, text, form string
		words            int
		short            bool
	}{
		{"59 words", words(59), "", 59, true}, {"60 words", words(60), "", 60, false},
		{"118 Chinese characters", strings.Repeat("河", 118), "", 59, true}, {"120 Chinese characters", strings.Repeat("河", 120), "", 60, false},
		{"40 words on a form", form + "\n" + words(40), form, 40, true}, {"80 words on a form", form + "\n" + words(80), form, 80, false},
	} {
		f := &report.Findings{Submission: concordat.Document{Text: c.text}, Templates: []report.Template{{Text: c.form}}}
		f.Passages = []concordat.Passage{passageOf(c.text, c.text[len(c.text)-10:], "d")}
		r := report.Build(f, report.Rules{})
		if r.Scores.Words != c.words || r.Scores.TooShort() != c.short {
			t.Errorf("%s: %d words, too short: %v", c.name, r.Scores.Words, r.Scores.TooShort())
		}
		short := "Too short for a share: only " + report.Thousands(report.English, c.words) + " words"
		if said := strings.Contains(r.Conclusion(), short); said != c.short {
			t.Errorf("%s: %q", c.name, r.Conclusion())
		}
	}
}
