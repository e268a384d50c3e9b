package reports_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat"
	"concordat/client"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
)

// formed returns findings for a text that fills in a form, compared with another such text; the form itself is not a template.
func formed() *report.Findings {
	const question = "Describe the aims of your project in no more than two hundred words."
	text := question + "\n\n" + strings.Repeat("Nobody else has written about the gauges of this valley. ", 20)
	source := concordat.Ref{Site: "here", Library: "theses", Document: "other.txt"}
	return &report.Findings{Version: report.Version, Submission: concordat.Document{Text: text, Title: "one"}, Threshold: 0.3,
		Wording: []report.Wording{{Span: concordat.Span{End: len(question)}, Kind: concordat.KindForm, Documents: 2, Of: 9, Why: "instruction"}},
		Passages: []concordat.Passage{{Span: concordat.Span{End: len(question)}, Source: source, Title: "Another",
			SourceSpan: concordat.Span{End: len(question)},
			Kind:       concordat.KindVerbatim, Similarity: 1, Text: question, Wording: concordat.KindForm, Why: "instruction"}}}
}

// TestCountWording: wording that resembles a form is shown with the reason and does not count. An officer can count it, with a reason,
// without JavaScript; this can be undone, and programs can do both.
func TestCountWording(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", formed())
	var got struct {
		Coverage float64
		Wording  []struct{ Counted bool }
		Rules    struct {
			Forms   bool                    `json:"count_forms"`
			Wording []report.CountedWording `json:"count_wording"`
		}
	}
	read := func() {
		t.Helper()
		got.Rules.Wording = nil
		if err := json.Unmarshal([]byte(ada.Get("/checks/one/report?format=json", http.StatusOK)), &got); err != nil {
			t.Fatal(err)
		}
	}
	page := ada.Get("/checks/one/passages/1", http.StatusOK)
	if !strings.Contains(page, "reads like a form (an instruction)") || !strings.Contains(page, `value="count-wording"`) ||
		strings.Contains(page, `value="exclude-passage"`) {
		t.Errorf("no reason, or nothing to count it by, in\n%s", page)
	}
	if read(); got.Coverage != 0 || got.Wording[0].Counted {
		t.Errorf("at first %+v", got)
	}
	change := func(want int, f url.Values) string {
		t.Helper()
		f.Set("start", "0")
		f.Set("end", "68")
		f.Set("at", "passage")
		return ada.Post("/checks/one/rules", want, f)
	}
	change(http.StatusBadRequest, url.Values{"action": {"count-wording"}}) // the reason is missing
	page = change(http.StatusOK, url.Values{"action": {"count-wording"}, "comment": {"it is her own question"}})
	if read(); got.Coverage == 0 || !got.Wording[0].Counted || len(got.Rules.Wording) != 1 || got.Rules.Wording[0].By != "ada" ||
		got.Rules.Wording[0].Comment != "it is her own question" {
		t.Errorf("counted %+v", got)
	}
	if !strings.Contains(page, `value="uncount-wording"`) {
		t.Errorf("nothing to take it back by, in\n%s", page)
	}
	if log := ada.Get("/checks/one", http.StatusOK); !strings.Contains(log, "counted shared wording:") ||
		!strings.Contains(log, "it is her own question") {
		t.Errorf("no log in\n%s", log)
	}
	change(http.StatusOK, url.Values{"action": {"uncount-wording"}})
	if read(); got.Coverage != 0 || len(got.Rules.Wording) != 0 {
		t.Errorf("no longer counted %+v", got)
	}
	change(http.StatusOK, url.Values{"action": {"undo"}})
	if read(); got.Coverage == 0 {
		t.Errorf("undone %+v", got)
	}
	ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"uncount-wording"}, "start": {"0"}, "end": {"5"}})
	ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"set"}, "min_characters": {"0"}, "min_source_share": {"0"},
		"count_forms": {"on"}})
	if read(); got.Coverage == 0 || !got.Rules.Forms {
		t.Errorf("with all forms %+v", got)
	}

	program := ada.Program("read", "review")
	const path = "/api/v1/checks/one/"
	var ruled struct {
		Rules struct {
			Forms   bool                           `json:"count_forms"`
			Wording []struct{ Comment, By string } `json:"count_wording"`
		}
	}
	program.JSON("POST", path+"counted-wording", `{"count":true,"span":{"start":0,"end":68}}`, http.StatusBadRequest, nil)
	program.JSON("POST", path+"counted-wording", `{"count":true,"span":{"start":9999,"end":9999},"comment":"x"}`, http.StatusNotFound, nil)
	program.JSON("POST", path+"counted-wording", `{"count":true,"span":{"start":0,"end":68},"comment":"by a program"}`, http.StatusOK, &ruled)
	if w := ruled.Rules.Wording; !ruled.Rules.Forms || len(w) != 1 || w[0].Comment != "by a program" || w[0].By != "ada" {
		t.Errorf("rules %+v", ruled)
	}

	ctx, bo := t.Context(), d.Client(t, "bo", store.RoleOfficer)
	if out := webtest.Must[client.Ruled](t)(bo.UncountWording(ctx, "one", concordat.Span{Start: 3,
		End: 5})); len(out.Rules.CountWording) != 0 {
		t.Errorf("no longer counted %+v", out)
	}
	out := webtest.Must[client.Ruled](t)(bo.CountWording(ctx, "one", concordat.Span{End: 68}, "by the client"))
	if w := out.Rules.CountWording; len(w) != 1 || w[0].Comment != "by the client" || w[0].By != "bo" {
		t.Errorf("counted again %+v", out)
	}
}

// TestDecideForLibrary: next to undecided wording, an administrator can decide for all checks of a library that contains it; an officer
// cannot.
func TestDecideForLibrary(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada, olga := d.SignedIn(t, "ada", store.RoleAdministrator), d.SignedIn(t, "olga", store.RoleOfficer)
	text := strings.TrimSpace(strings.Repeat("Nobody else has written about the gauges of this valley. ", 20))
	ref := concordat.Ref{Site: "here", Library: "theses", Document: "other.txt"}
	d.AddFinished(t, "one", "olga", &report.Findings{Version: report.Version, Submission: concordat.Document{Text: text, Title: "one"},
		Threshold: 0.3, Wording: []report.Wording{{Span: concordat.Span{End: len(text)}, Kind: concordat.KindUndecided, Documents: 4, Of: 9,
			Holders: []concordat.Ref{ref}}},
		Passages: []concordat.Passage{{Span: concordat.Span{End: len(text)}, Source: ref, SourceSpan: concordat.Span{End: len(text)},
			Kind: concordat.KindVerbatim, Similarity: 1, Text: text, Wording: concordat.KindUndecided}}})
	const form = `action="/libraries/theses"`
	if page := olga.Get("/checks/one/passages/1", http.StatusOK); strings.Contains(page, form) {
		t.Errorf("an officer may decide for a library:\n%s", page)
	}
	if page := ada.Get("/checks/one/passages/1", http.StatusOK); !strings.Contains(page, form) {
		t.Fatalf("nothing to decide by in\n%s", page)
	}
	f := url.Values{"action": {"wording"}, "check": {"one"}, "name": {"gauges"}, "text": {text}, "counts": {"1"}}
	olga.Post("/libraries/theses", http.StatusForbidden, f)
	ada.Post("/libraries/theses", http.StatusOK, f)
	if page := ada.Get("/libraries/theses/settings", http.StatusOK); !strings.Contains(page, "gauges") || !strings.Contains(page, "counts,") {
		t.Errorf("the decision is not in the settings:\n%s", page)
	}
}
