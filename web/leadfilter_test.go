package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"concordat"
	"concordat/client"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
)

// fourLeads returns findings with a translation, two rewordings and a summary. Three have likelihoods of 3, 12 and 25, and the fourth was
// not measured.
func fourLeads() *report.Findings {
	f := led()
	first := f.Leads[0]
	first.Likelihood = 3
	f.Leads = []report.Lead{first}
	text := f.Submission.Text
	for i, kind := range []report.LeadKind{report.LeadRewording, report.LeadRewording, report.LeadSummary} {
		at := len(text)
		said := fmt.Sprintf("The %s mill was sold to a weaver who had no use for water.", []string{"upper", "middle", "lower"}[i])
		text += "\n\n" + said
		span, source := concordat.Span{Start: at + 2, End: at + 2 + len(said)}, concordat.Span{Start: 10 * i, End: 10*i + 5}
		f.Leads = append(f.Leads, report.Lead{Span: span, Source: concordat.Ref{Site: "here", Library: "theses",
			Document: concordat.DocumentID(fmt.Sprint("mill", i))}, Title: fmt.Sprint("Of mill ", i), SourceSpan: source, SourcePoints: source,
			Kind: kind, Languages: [2]string{"en", "en"}, Encoder: "table@0", Likelihood: []float64{12, 25, 0}[i],
			Pairs: []report.LeadPair{{Span: span, SourceSpan: source, SourcePoints: source, Similarity: 0.5}}})
	}
	f.Submission.Text = text
	return f
}

var (
	leadOnPage = regexp.MustCompile(`<article class="lead [a-z_]*" id="(L\d)"`)
	leadChip   = regexp.MustCompile(`<a class="chip" href="([^"]*)"( aria-current="true")?>([^<]*) <span class="hint">(\d+)</span>`)
)

// TestFilterLeads: a page offers lead filters as links, each with the number of remaining leads, and each link preserves the other
// filters. The page states what is hidden and how to show it, a decision preserves the filters, and programs can use them too.
func TestFilterLeads(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", fourLeads())
	const at = "/checks/one"
	shown := func(page string) string {
		var out []string
		for _, m := range leadOnPage.FindAllStringSubmatch(page, -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, " ")
	}
	// chip returns the link of a filter and the number of remaining leads.
	chip := func(page, label string) (link, count string, on bool) {
		t.Helper()
		for _, m := range leadChip.FindAllStringSubmatch(page, -1) {
			if m[3] == label {
				return strings.ReplaceAll(m[1], "&amp;", "&"), m[4], m[2] != ""
			}
		}
		t.Fatalf("no filter %q in %v", label, leadChip.FindAllString(page, -1))
		return "", "", false
	}
	page := ada.Get(at, http.StatusOK)
	if got := shown(page); got != "L1 L2 L3 L4" || strings.Contains(page, "leads are shown") {
		t.Errorf("without a filter: %s", got)
	}
	for label, want := range map[string]string{"rewording": "2", "summary": "1", "translation": "1", "English": "3",
		"English, from Chinese": "1", "5 to 1 or more": "2", "20 to 1 or more": "1"} {
		if _, count, on := chip(page, label); count != want || on {
			t.Errorf("%s leaves %s, want %s; in force: %v", label, count, want, on)
		}
	}
	if strings.Contains(page, "lead-state=") {
		t.Error("a filter is offered that leaves all")
	}
	link, _, _ := chip(page, "rewording")
	page = ada.Get(strings.TrimSuffix(link, "#leads"), http.StatusOK)
	if got := shown(page); got != "L2 L3" || !strings.Contains(page, "2 of 4 leads are shown.") ||
		!strings.Contains(page, `href="/checks/one#leads"`) {
		t.Errorf("rewordings: %s", got)
	}
	if back, _, on := chip(page, "rewording"); !on || back != at+"#leads" {
		t.Errorf("the filter in force leads to %s", back)
	}
	ada.Wants(page, `href="/checks/one#L1"`, `href="#L2"`) // in the text
	link, count, _ := chip(page, "20 to 1 or more")
	if page = ada.Get(strings.TrimSuffix(link, "#leads"), http.StatusOK); count != "1" || shown(page) != "L3" {
		t.Errorf("likely rewordings: %s of %s", shown(page), count)
	}
	page = ada.Get(at+"?lead-kind=summary&lead-languages=en-zh", http.StatusOK)
	if got := shown(page); got != "" || !strings.Contains(page, "0 of 4 leads match: summary, English, from Chinese.") ||
		!strings.Contains(page, "Show all leads") {
		t.Errorf("none: %s", got)
	}
	nonsense := "?lead-kind=poem&lead-likelihood=NaN&lead-state=x&lead-languages=" + strings.Repeat("x", 99)
	if got := shown(ada.Get(at+nonsense, http.StatusOK)); got != "L1 L2 L3 L4" {
		t.Errorf("nonsense: %s", got)
	}

	form := leadForm("count-lead", "sentence for sentence")
	form.Set("lead-state", "open")
	form.Set("at", "leads")
	page = ada.Post(at+"/rules", http.StatusOK, form)
	if got := shown(page); got != "L2 L3 L4" || !strings.Contains(page, "3 of 4 leads are shown.") {
		t.Errorf("after a decision among open ones: %s", got)
	}
	ada.Wants(page, `name="lead-state" value="open"`)
	page = ada.Get(at+"?lead-state=counted", http.StatusOK)
	if got := shown(page); got != "L1" {
		t.Errorf("counted: %s", got)
	}

	program := ada.Program("read")
	for query, want := range map[string]string{"": "L1 L2 L3 L4", "?state=open": "L2 L3 L4", "?state=counted": "L1",
		"?kind=rewording": "L2 L3", "?languages=en-zh": "L1", "?likelihood=12": "L2 L3", "?kind=summary&likelihood=1": ""} {
		var got struct {
			Asked bool
			Total int
			Leads []struct{ Number string }
		}
		program.Call("GET", "/api/v1"+at+"/leads"+query, http.StatusOK, &got)
		var numbers []string
		for _, l := range got.Leads {
			numbers = append(numbers, l.Number)
		}
		if s := strings.Join(numbers, " "); s != want || got.Total != 4 || !got.Asked {
			t.Errorf("%q: %s, want %s: %+v", query, s, want, got)
		}
	}
	for _, bad := range []string{"state=x", "kind=poem", "likelihood=-1", "likelihood=1001", "languages=en",
		"languages=" + url.QueryEscape("en-zh'")} {
		program.Call("GET", "/api/v1"+at+"/leads?"+bad, http.StatusUnprocessableEntity, nil)
	}

	c := d.Client(t, "cleo", store.RoleOfficer, "read")
	got, err := c.Leads(t.Context(), "one", client.LeadFilter{Kind: "rewording", Languages: "en-en", State: "open", Likelihood: 20})
	if err != nil || !got.Asked || got.Total != 4 || len(got.Leads) != 1 || len(got.Partners) != 0 {
		t.Fatalf("the client: %+v, %v", got, err)
	}
	l := got.Leads[0]
	if l.Number != "L3" || l.Source.Document != "mill1" || l.Source.Title != "Of mill 1" || l.Likelihood == nil || *l.Likelihood != 25 ||
		len(l.Pairs) != 1 || l.State != "open" {
		t.Errorf("the client: %+v", l)
	}
	_, err = c.Leads(t.Context(), "one", client.LeadFilter{Kind: "poem"})
	webtest.WantKind(t, err, "invalid")
}
