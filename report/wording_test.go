package report_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// form returns findings for a text with answers to the questions of a form, compared with another such text.
func form() *report.Findings {
	text := "Describe the aims of your project in no more than 200 words.\n\nWe measure wells in the valley, and we read their gauges by hand each month of the summer.\n\nI declare that all of this is true to the best of my knowledge.\n\n" +
		"The valley had three gauges in the dry years, and none of them was read by the people who had paid for it, which is why the record has gaps.\n" + strings.Repeat("Nobody else wrote this line about the gauges.\n", 9)
	p := func(s string, why string) concordat.Passage {
		x := passageOf(text, s, "d")
		x.Wording, x.Why = concordat.KindForm, why
		return x
	}
	f := &report.Findings{Version: report.Version, Submission: concordat.Document{Text: text}, Passages: []concordat.Passage{
		p("Describe the aims of your project in no more than 200 words.", "instruction"),
		p("I declare that all of this is true to the best of my knowledge.", "declaration"),
		passageOf(text, "The valley had three gauges in the dry years", "e"),
	}}
	f.Passages[2].Wording = concordat.KindSentence
	at := strings.Index(text, "I declare")
	f.Wording = []report.Wording{{Span: concordat.Span{Start: at, End: at + 63}, Kind: concordat.KindForm, Documents: 2, Of: 40,
		Why: "declaration"},
		{Span: concordat.Span{Start: 0, End: 60}, Kind: concordat.KindForm, Documents: 2, Of: 40, Why: "instruction"}}
	return f
}

// TestFormWording: wording that resembles a form is shown with the reason, and adds nothing to the score until a rule counts all of it or
// a stretch.
func TestFormWording(t *testing.T) {
	f := form()
	r := report.Build(f, report.Rules{})
	if r.Scores.Covered != 0 || r.Scores.Form <= 0 || len(r.Evidence) != 3 {
		t.Fatalf("covered %v, form %v, %d passages", r.Scores.Covered, r.Scores.Form, len(r.Evidence))
	}
	for i, want := range []string{"wording that reads like a form (an instruction)", "wording that reads like a form (a declaration)",
		"an isolated sentence"} {
		if got := r.WhyNot(r.Evidence[i]); got != want {
			t.Errorf("passage %d %s, want %s", i, got, want)
		}
	}
	said := strings.Join(r.Statement(), "\n")
	for _, want := range []string{"Reads like a form: 2 passages (1 declaration, 1 instruction), not counted.",
		"Isolated sentences: 1 passage, not counted."} {
		if !strings.Contains(said, want) {
			t.Errorf("the statement %q lacks %q", said, want)
		}
	}
	if all := report.Build(f, report.Rules{CountForms: true, CountSentences: true}); all.Scores.Covered != r.Scores.Found ||
		all.Scores.Form != 0 || !all.Wording[0].Counted {
		t.Errorf("counted: %+v", all.Scores)
	}
	one := report.Build(f, report.Rules{CountWording: []report.CountedWording{{Span: f.Wording[0].Span, Comment: "copied", By: "officer"}}})
	if one.Evidence[0].Excluded != concordat.ExcludedForm || one.Evidence[1].Excluded != "" || one.Wording[0].Counted ||
		!one.Wording[1].Counted {
		t.Errorf("by hand: %+v", one.Evidence)
	}
}

// TestFormWordingInJSON: the JSON format has the wording, rules and reasons, and the manifest covers them.
func TestFormWordingInJSON(t *testing.T) {
	f := form()
	var b bytes.Buffer
	if err := report.WriteJSON(&b, report.Build(f, report.Rules{CountWording: []report.CountedWording{{Span: f.Wording[0].Span,
		Comment: "copied", By: "officer"}}})); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Wording []struct {
			Kind          string
			Documents, Of int
			Why           string
			Counted       bool
		}
		Evidence []struct{ Kind, Excluded, Why string }
		Rules    struct {
			Forms   bool                    `json:"count_forms"`
			Wording []report.CountedWording `json:"count_wording"`
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Wording) != 2 || got.Wording[0].Why != "instruction" || got.Wording[0].Of != 40 || got.Wording[0].Counted ||
		!got.Wording[1].Counted {
		t.Errorf("wording %+v", got.Wording)
	}
	if got.Evidence[0].Kind != "form" || got.Evidence[0].Excluded != "form" || got.Evidence[0].Why != "instruction" {
		t.Errorf("evidence %+v", got.Evidence[0])
	}
	if got.Rules.Forms || len(got.Rules.Wording) != 1 || got.Rules.Wording[0].By != "officer" {
		t.Errorf("rules %+v", got.Rules)
	}
	items, err := report.Items(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(b.Bytes(), []byte(`"documents": 2,`), []byte(`"documents": 9,`), 1)
	m := &report.Manifest{Version: report.ManifestVersion, Items: items}
	if changes, err := m.Changes(changed); err != nil || !slices.Contains(changes, "shared wording 1: documents changed") {
		t.Errorf("changes %q, %v", changes, err)
	}
}

// TestHoldersOfCommonWording: common wording is reported with the number of documents that contain it, out of the searched documents.
func TestHoldersOfCommonWording(t *testing.T) {
	r := report.Build(load(t, "chinese"), report.Rules{})
	if said := strings.Join(r.Statement(), "\n"); !strings.Contains(said,
		"Common wording: 1 passage, shown without a score. Found in 14 of 60 documents, including this one.") {
		t.Errorf("statement %q", said)
	}
}

// TestQuotedWords: a report says whether matches in quotations count; a match in a quotation that names its source does not.
func TestQuotedWords(t *testing.T) {
	const named, bare = "“all that was said of the bridge in the year of the flood”", "“and what nobody wrote of it afterwards either”"
	text := "Article 4 says: " + named + ". Somebody says: " + bare + "."
	at := func(s string) concordat.Span {
		i := strings.Index(text, s)
		return concordat.Span{Start: i, End: i + len(s)}
	}
	shared, open := passageOf(text, named, "a"), passageOf(text, bare, "a")
	shared.Wording = concordat.KindQuotation
	f := &report.Findings{Submission: concordat.Document{Text: text}, Passages: []concordat.Passage{shared},
		Wording: []report.Wording{{Span: at(named), Kind: concordat.KindQuotation, Documents: 2, Of: 2}}}
	words := func(r report.Rules) string {
		return report.Build(f, r).Scores.QuotedWords(report.English, r)
	}
	if got := words(report.Rules{}); got != "not counted" {
		t.Errorf("a quotation that names its source is %q", got)
	}
	f.Passages = append(f.Passages, open)
	if got := words(report.Rules{}); !strings.HasSuffix(got, "of it counted") {
		t.Errorf("one of two is %q", got)
	}
	if got := words(report.Rules{ExcludeQuotes: true}); got != "not counted" {
		t.Errorf("without quotations both are %q", got)
	}
	if got := words(report.Rules{CountWording: []report.CountedWording{{Span: at(named), Comment: "no such article"}}}); got != "counted" {
		t.Errorf("counted by hand both are %q", got)
	}
}
