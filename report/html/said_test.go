package html_test

import (
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/report"
)

// whole returns the text of a page with single spaces between words.
func whole(t *testing.T, page string) string {
	t.Helper()
	for _, n := range parse(t, page) {
		if n.Data == "body" {
			return strings.Join(strings.Fields(textOf(n)), " ")
		}
	}
	t.Fatal("no body")
	return ""
}

// TestSaid: the page states people's decisions, whether the figures have changed since then, which signatures it relies on or that there
// are none, and which shares were left out or not measured.
func TestSaid(t *testing.T) {
	says := func(r *report.Report, words string, want bool) {
		t.Helper()
		if strings.Contains(whole(t, write(t, r)), strings.Join(strings.Fields(words), " ")) != want {
			t.Errorf("the page says %q: %v, want %v", words, !want, want)
		}
	}
	day := time.Date(2026, 5, 6, 7, 8, 0, 0, time.UTC)
	f := load(t, "english")
	r := report.Build(f, report.Rules{})
	says(r, "Verdict:", false)
	says(r, "No verdict is recorded in this file.", true)
	says(r, "This report carries no signatures.", true)
	r.Review = &report.Review{Verdict: "suspected", Reason: "two pages", By: "olga", At: day}
	for _, words := range r.ReviewWords() {
		says(r, words, true)
	}
	says(r, "No verdict is recorded in this file.", false)
	says(r, "No second person has signed it off yet.", true)
	r.Review.Stale, r.Review.Signed = true, []report.SignedOff{{By: "otto", At: day}}
	says(r, "Signed off by otto on 2026-05-06 07:08 UTC.", true)
	says(r, "The rules have changed since this verdict, which was based on different figures.", true)
	says(r, "No second person has signed it off yet.", false)

	r.Statements = []concordat.Statement{{Site: "NORTH", Kind: "answer", KeyEpoch: 3, At: day},
		{Site: "SOUTH", Kind: "outline", KeyEpoch: 4, At: day, Asker: "HERE"}}
	for _, s := range r.Statements {
		says(r, r.Language.SignedAnswer(s), true)
	}
	says(r, "This report carries no signatures.", false)
	r.Signatures = []report.Signature{{Site: "WEST", Over: "answer", Key: "abcd", Value: []byte{0xbe, 0xef}}}
	says(r, "beef", true)
	says(r, r.Language.SignedAnswer(r.Statements[1]), true)

	r.Sections = []report.SectionScore{{Section: concordat.Section{Name: "Measured"}, Checked: 10, Share: 0.5},
		{Section: concordat.Section{Name: "Left out"}, Excluded: true}}
	says(r, "50%", true)
	says(r, "not measured", true)
	says(r, "excluded by a rule", true)
	nothing := report.Build(&report.Findings{Submission: concordat.Document{Text: "Words."}, Checked: []concordat.Span{}}, report.Rules{})
	for _, n := range parse(t, write(t, nothing)) {
		if n.Data == "p" && attr(n, "class") == "big" && textOf(n) != "not measured" {
			t.Errorf("of nothing the share is %q", textOf(n))
		}
	}
}
