package pdf_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
	"concordat/report/pdf"
)

// hostile returns a report with too much of everything shown on the first pages.
func hostile(t *testing.T, name, long string) *report.Report {
	t.Helper()
	f := findings(t, name)
	f.Submission.Title = long
	for i := range f.Passages {
		f.Passages[i].Title = long
	}
	for i := range 12 {
		f.Consulted = append(f.Consulted, concordat.Consulted{Site: concordat.SiteID(fmt.Sprint("partner", i)), Asked: 9,
			Library: concordat.LibraryID(fmt.Sprint(long, i)), Err: long, Level: concordat.ShowMetadata})
	}
	for _, code := range []string{"hidden_text", "white_text", "tiny_text", "off_page", "lookalike", "invisible", "spaced", "bidi"} {
		f.Flags = append(f.Flags, concordat.Flag{Code: code, Detail: long, Count: 999})
	}
	rep := report.Build(f, report.Rules{ExcludeQuotes: true, MinCharacters: 60})
	rep.Sites = map[concordat.SiteID]string{}
	for i := range 12 {
		rep.Sites[concordat.SiteID(fmt.Sprint("partner", i))] = fmt.Sprint(i, long)
	}
	rep.Review = &report.Review{Verdict: "suspected", Reason: long, By: long, At: day, Stale: true}
	for i := range 9 {
		rep.Review.Signed = append(rep.Review.Signed, report.SignedOff{By: fmt.Sprint(i, long), At: day})
	}
	return rep
}

// TestBoardTakesTwoPages: the summary takes exactly the first two pages, whatever the report contains, in every language.
func TestBoardTakesTwoPages(t *testing.T) {
	withheld := findings(t, "english")
	report.Withhold(withheld)
	empty := report.Build(&report.Findings{Submission: concordat.Document{ID: "x"}}, report.Rules{})
	none := report.Build(findings(t, "english"), report.Rules{MinCharacters: 100_000})
	for name, rep := range map[string]*report.Report{
		"english": report.Build(findings(t, "english"), report.Rules{}),
		"words":   hostile(t, "english", strings.Repeat("A very long title of many words ", 20)),
		"solid":   hostile(t, "english", strings.Repeat("unbroken", 80)),
		"chinese": hostile(t, "chinese", strings.Repeat("很长的标题", 80)),
		"arabic":  hostile(t, "arabic", strings.Repeat("عنوان طويل جدا ", 40)),
		"scores":  report.ScoreOnly(report.Build(findings(t, "english"), report.Rules{})),
		"places":  report.WithoutWording(report.Build(findings(t, "english"), report.Rules{})),
		"no text": report.Build(withheld, report.Rules{}),
		"none":    none,
		"empty":   empty,
	} {
		languages := []report.Language{"en"}
		if rep.Review != nil {
			languages = []report.Language{"en", "de", "zh-Hans"}
		}
		for _, in := range languages {
			t.Run(name+" "+string(in), func(t *testing.T) {
				one := *rep
				one.Language = in
				pages := pagesOf(t, write(t, &one))
				for i, want := range [][]string{{"Document and author", "What was compared", "What counts"},
					{"Verdict", "Signed by", "The full report begins on page 3."}, {"Full report"}} {
					for _, s := range want {
						if s = solid(in.Say(s)); !strings.Contains(pages[i], s) {
							t.Errorf("page %d lacks %q:\n%s", i+1, s, pages[i])
						}
					}
				}
				if !strings.HasPrefix(pages[2], solid(in.Say("Full report"))) {
					t.Errorf("page 3 begins with %.80q", pages[2])
				}
			})
		}
	}
	for rep, want := range map[*report.Report]string{none: "No passage counts.", empty: "This report says nothing about the text."} {
		pages := pagesOf(t, write(t, rep))
		if !strings.Contains(pages[0]+pages[1], solid(want)) {
			t.Errorf("the first pages do not say %q:\n%s", want, pages[0]+pages[1])
		}
	}
}

// TestBoardSaysWhatCounts: the second page shows the largest counted passages next to their sources, and the verdict from the notes, or
// boxes if there is none.
func TestBoardSaysWhatCounts(t *testing.T) {
	f := findings(t, "english")
	whole := report.Build(f, report.Rules{})
	largest := slices.MaxFunc(whole.Evidence, func(a, b concordat.Evidence) int { return a.Characters - b.Characters })
	begins := func(s string) string { return solid(s[:60]) }
	here, there := begins(largest.Span.In(f.Submission.Text)), begins(largest.Sources[0].Parts[0].Text)
	pages := pagesOf(t, write(t, whole))
	for _, s := range []string{here, there, solid(largest.Sources[0].Title), solid("Verdict: To be discussed with the author, given by anna"),
		solid("Signed off by bert")} {
		if !strings.Contains(pages[1], s) {
			t.Errorf("page 2 lacks %q:\n%s", s, pages[1])
		}
	}
	if strings.Contains(pages[1], solid("Misconduct suspected")) {
		t.Errorf("beside a verdict there are boxes for others:\n%s", pages[1])
	}
	out := report.Build(f, report.Rules{ExcludePassages: []report.ExcludedPassage{{Span: largest.Span, Comment: "cited", By: "anna"}}})
	b, err := pdf.Write(out, pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pages = pagesOf(t, b)
	if strings.Contains(pages[1], here) {
		t.Errorf("a passage that does not count is among the largest:\n%s", pages[1])
	}
	for _, s := range []string{"No verdict is recorded in this file.", "No concern", "Misconduct suspected"} {
		if !strings.Contains(pages[1], solid(s)) {
			t.Errorf("page 2 lacks %q:\n%s", s, pages[1])
		}
	}
	all := len(whole.Evidence)
	if want := solid(fmt.Sprintf("Passages that count%d of %d", all-2, all)); !strings.Contains(pages[0], want) {
		t.Errorf("page 1 lacks %q:\n%s", want, pages[0])
	}
}
