package api

import (
	"testing"
	"time"

	"concordat"
	"concordat/report"
)

// TestRulesKeepWho: an exclusion whose passage and comment are unchanged keeps its author and time; with a new comment or passage, the
// visitor becomes the author. The same applies to wording that counts.
func TestRulesKeepWho(t *testing.T) {
	then, now := time.Unix(1_780_000_000, 0), time.Unix(1_790_000_000, 0)
	count := report.NewCounter("Ä few words of a submission")
	span := count.Bytes(concordat.Span{Start: 0, End: 5})
	before := report.Rules{ExcludePassages: []report.ExcludedPassage{{Span: span, Comment: "title", By: "ada", At: then}},
		CountWording: []report.CountedWording{{Span: span, Comment: "title", By: "ada", At: then}}}
	for _, x := range []struct {
		passage report.Ruling
		by      string
		at      time.Time
	}{
		{report.Ruling{Span: concordat.Span{Start: 0, End: 5}, Comment: " title "}, "ada", then},
		{report.Ruling{Span: concordat.Span{Start: 0, End: 5}, Comment: "other"}, "eve", now},
		{report.Ruling{Span: concordat.Span{Start: 1, End: 5}, Comment: "title"}, "eve", now},
	} {
		got := report.Rules{ExcludePassages: []report.Ruling{x.passage}, CountWording: []report.Ruling{x.passage}}.InBytes(count).
			Decided(before, "eve", now)
		if p := got.ExcludePassages[0]; p.By != x.by || !p.At.Equal(x.at) {
			t.Errorf("%+v is taken out by %s at %s", x.passage, p.By, p.At)
		}
		if c := got.CountWording[0]; c.By != x.by || !c.At.Equal(x.at) {
			t.Errorf("%+v counts by %s at %s", x.passage, c.By, c.At)
		}
	}
}

// TestFormOfRules: the form contains the minimum share of a source as a percentage, and spans in bytes.
func TestFormOfRules(t *testing.T) {
	var in apiRulesInput
	in.Body.Start, in.Body.End = 1, 5
	in.Body.Set.MinSourceShare, in.Body.Set.ExcludeQuotes = 0.05, true
	f := in.form("Ä few words")
	for name, want := range map[string]string{"min_source_share": "5", "start": "2", "end": "6", "exclude_quotes": "on",
		"exclude_citations": "",
		"common_above":      ""} {
		if got := f.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
