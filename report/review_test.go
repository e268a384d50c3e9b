package report_test

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/report"
)

// TestReviewIsInTheReport: a verdict, who signed it off and whether it is stale stand in every form.
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
	if err != nil || len(rows) < 2 || strings.Join(rows[1][len(rows[1])-7:], ",") != "suspected,ada,bo,no,,," {
		t.Errorf("rows %q: %v", rows, err)
	}
	r.Review.Signed, r.Review.Stale = nil, true
	if s := schema(t); check(s, s, parse(t, r), "report") != nil {
		t.Error(check(s, s, parse(t, r), "report"))
	}
	if words := strings.Join(r.ReviewWords(), " "); !strings.Contains(words, "rules have changed") || !strings.Contains(words, "Nobody else") {
		t.Errorf("words %q", words)
	}
	if words := strings.Join(r.RuleWords(), " "); !strings.Contains(words, "earlier work of the author: "+f.Passages[0].Source.String()) {
		t.Errorf("rules %q", words)
	}
}
