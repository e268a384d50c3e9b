package report_test

import (
	"strings"
	"testing"

	"concordat/report"
)

// TestScoreOnlySaysSo: a report with only scores does not claim that nothing was found.
func TestScoreOnlySaysSo(t *testing.T) {
	for _, l := range []report.Language{report.English, report.Language("zh-Hans")} {
		r := report.ScoreOnly(report.Build(load(t, "english"), report.Rules{}))
		r.Language = l
		var out strings.Builder
		if err := report.WriteText(&out, r); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, l.Say("No passage was found.")) ||
			!strings.Contains(text, l.Say("The passages are not shown.")) {
			t.Errorf("%s", text)
		}
		if r.NoSources() == "No source was found." || r.Count(0) != "" {
			t.Error("it says that there is no source")
		}
	}
}
