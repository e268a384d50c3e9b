package report_test

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/report"
)

// TestLaterIsInTheReport: the JSON format and the text in each language include the documents found since the check and the people who
// handled them; a partner's document is named only if its name was disclosed.
func TestLaterIsInTheReport(t *testing.T) {
	r := report.Build(load(t, "english"), report.Rules{})
	if b := parse(t, r); b["later"] != nil || r.LaterWords() != nil {
		t.Errorf("of a check without alerts: %v, %q", b["later"], r.LaterWords())
	}
	day := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	r.Later = []report.Later{
		{Alert: 9, Source: concordat.Ref{Site: "north", Library: "calls"}, At: day, Level: concordat.ShowExists},
		{Alert: 7, Source: concordat.Ref{Site: "here", Library: "theses", Document: "late.txt"}, At: day, Sentences: 3,
			Read: report.LaterMark{By: "ada", At: day}, Handled: report.LaterMark{By: "bo", At: day}},
		{Alert: 6, Source: concordat.Ref{Site: "north", Library: "calls", Document: "f00d"}, Title: "A <call>", At: day,
			Level: concordat.ShowMetadata, Sentences: 2, Read: report.LaterMark{By: "ada", At: day}},
	}
	r.Authors = concordat.ParseCreators("Jane Roe (0000-0002-1825-0097); Poe, Ann")
	r.Later[1].Authors, r.Later[2].Authors = concordat.ParseCreators("Roe, J. (0000-0002-1825-0097)"), concordat.ParseCreators("A. Poe")
	if s := schema(t); check(s, s, parse(t, r), "report") != nil {
		t.Error(check(s, s, parse(t, r), "report"))
	}
	want := []string{
		"Found since then, on 2026-03-04 05:06 UTC: a document that is not named, from north/calls. This alert has not been read yet.",
		"Found since then, on 2026-03-04 05:06 UTC: late.txt, from theses. Matching sentences: 3. " +
			"Probably by the same author: the ORCID iD of Jane Roe (0000-0002-1825-0097) is the same. Handled by bo on 2026-03-04 05:06 UTC.",
		"Found since then, on 2026-03-04 05:06 UTC: A <call>, from north/calls. Matching sentences: 2. " +
			"Possibly by the same author: one of its authors is also called Poe, Ann. Several people can have the same name. " +
			"Read by ada on 2026-03-04 05:06 UTC, not handled yet.",
	}
	if d := cmp.Diff(want, r.LaterWords()); d != "" {
		t.Error(d)
	}
	for _, code := range []string{"de", "zh"} {
		l, err := report.ParseLanguage(code)
		if err != nil {
			t.Fatal(err)
		}
		r.Language = l
		for _, s := range r.LaterWords() {
			if strings.Contains(s, "found") || strings.Contains(s, "author") || strings.Contains(s, "Nobody") {
				t.Errorf("%s: %s", code, s)
			}
		}
	}
	var text strings.Builder
	if err := report.WriteText(&text, r); err != nil || !strings.Contains(text.String(), "此后发现") {
		t.Errorf("%v, the text form:\n%s", err, text.String())
	}
}

// TestReviewIsInTheReport: every format has the verdict, who signed it off, and whether it is out of date.
func TestReviewIsInTheReport(t *testing.T) {
	f := load(t, "english")
	r := report.Build(f, report.Rules{OwnWork: []concordat.Ref{f.Passages[0].Source}})
	day := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	r.Review = &report.Review{Verdict: "suspected", Reason: "no <source> named", By: "ada", At: day,
		Signed: []report.SignedOff{{By: "bo", At: day.Add(time.Hour)}}}
	if s := schema(t); check(s, s, parse(t, r), "report") != nil {
		t.Error(check(s, s, parse(t, r), "report"))
	}
	if words := strings.Join(r.ReviewWords(), " "); strings.Contains(words, "changed") || !strings.Contains(words, "Signed off by bo") ||
		!strings.Contains(words, "Misconduct suspected, given by ada") {
		t.Errorf("words %q", words)
	}
	var table strings.Builder
	if err := report.WriteCSV(&table, r, report.CSVOptions{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	if err != nil || len(rows) < 2 || strings.Join(rows[1][len(rows[1])-16:len(rows[1])-9], ",") != "suspected,ada,bo,no,,," {
		t.Errorf("rows %q: %v", rows, err)
	}
	r.Review.Signed, r.Review.Stale = nil, true
	if s := schema(t); check(s, s, parse(t, r), "report") != nil {
		t.Error(check(s, s, parse(t, r), "report"))
	}
	if words := strings.Join(r.ReviewWords(), " "); !strings.Contains(words, "have changed") || !strings.Contains(words, "No second person") {
		t.Errorf("words %q", words)
	}
	if words := strings.Join(r.RuleWords(), " "); !strings.Contains(words, "the author's earlier work: "+f.Passages[0].Source.String()) {
		t.Errorf("rules %q", words)
	}
}
