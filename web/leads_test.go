package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"concordat"
	"concordat/client"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
)

const (
	leadHere  = "Nobody owned the river for a hundred years. Then two towns did, and each built a mill."
	leadThere = "一百年间，这条河不属于任何人。后来它归两座城所有，各建了一座磨坊。"
)

// led returns findings for a text that says in English what a source says in Chinese.
func led() *report.Findings {
	text := "Of rivers and mills, an essay.\n\n" + leadHere + "\n\n" + strings.Repeat("Nobody else has written about the gauges of this valley. ", 20)
	at := strings.Index(text, leadHere)
	pair := func(from, to, there, until int) report.LeadPair {
		source := concordat.Span{Start: there, End: until}
		return report.LeadPair{Span: concordat.Span{Start: at + from, End: at + to}, SourceSpan: source,
			SourcePoints: report.NewCounter(leadThere).Points(source), Similarity: 0.6, Text: source.In(leadThere)}
	}
	half, there := strings.Index(leadHere, " Then"), strings.Index(leadThere, "后来")
	all := concordat.Span{End: len(leadThere)}
	return &report.Findings{Version: report.Version, Submission: concordat.Document{Text: text, Title: "one"}, Threshold: 0.3,
		Passages: []concordat.Passage{},
		Leads: []report.Lead{{Span: concordat.Span{Start: at, End: at + len(leadHere)},
			Source: concordat.Ref{Site: "here", Library: "theses", Document: "river.txt"}, Title: "The river of two towns",
			SourceSpan: all, SourcePoints: report.NewCounter(leadThere).Points(all), Kind: report.LeadTranslation,
			Languages: [2]string{"en", "zh"}, Encoder: "table@0", Text: leadThere,
			Pairs: []report.LeadPair{pair(0, half, 0, there), pair(half+1, len(leadHere), there, len(leadThere))}}}}
}

// leadForm returns the form fields for an action on the only lead of led.
func leadForm(action, why string) url.Values {
	l := led().Leads[0]
	return url.Values{"action": {action}, "comment": {why}, "at": {"L1"},
		"start": {strconv.Itoa(l.Span.Start)}, "end": {strconv.Itoa(l.Span.End)}, "source_start": {strconv.Itoa(l.SourcePoints.Start)},
		"source_end": {strconv.Itoa(l.SourcePoints.End)}}
}

// TestLeadToOwnWork: the page of a check proposes that a lead points to the author's own earlier work, and an officer decides there;
// programs can read the proposal.
func TestLeadToOwnWork(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleOfficer)
	f := led()
	f.Authors = concordat.ParseCreators("Roe, Jane (0000-0002-1825-0097)")
	f.Works = []report.SourceWork{{Source: f.Leads[0].Source, Authors: f.Authors}}
	d.AddFinished(t, "one", "ada", f)
	shows := func(page string, proposed bool) {
		t.Helper()
		if strings.Contains(page, "Probably the author&#39;s own earlier work") != proposed ||
			strings.Contains(page, `value="dismiss-own-work"`) != proposed {
			t.Errorf("want a proposal %v:\n%s", proposed, page)
		}
	}
	shows(ada.Get("/checks/one", http.StatusOK), true)
	c := d.Client(t, "cleo", store.RoleOfficer, "read")
	got, err := c.Leads(t.Context(), "one", client.LeadFilter{})
	if err != nil || len(got.Leads) != 1 || got.Leads[0].Own == nil || *got.Leads[0].Own !=
		(client.OwnWork{By: "orcid", Author: "Roe, Jane", ORCID: "0000-0002-1825-0097"}) {
		t.Errorf("the client: %+v, %v", got.Leads, err)
	}
	decide := func(action string) string {
		return ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {action}, "at": {"leads"}, "site": {"here"},
			"library": {"theses"}, "document": {"river.txt"}})
	}
	shows(decide("dismiss-own-work"), false)
	shows(ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"undo"}}), true)
	if page := decide("own-work"); strings.Contains(page, "says the same thing in other words") {
		t.Errorf("a lead to the author's own work remains:\n%s", page)
	}
}

// TestDecideLead: an officer counts or dismisses a lead, with a reason, without JavaScript. The decision can be undone, is audited, is
// shown to another officer, is hidden from users who see no names, and can be made by programs too.
func TestDecideLead(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada, bo := d.SignedIn(t, "ada", store.RoleOfficer), d.SignedIn(t, "bo", store.RoleOfficer)
	axel := d.SignedIn(t, "axel", store.RoleAuditor)
	d.AddFinished(t, "one", "ada", led())
	var got struct {
		Coverage float64
		Scores   struct {
			Leads float64 `json:"counted_leads"`
		}
		Leads []struct{ State, By, Comment string }
	}
	read := func() string {
		t.Helper()
		got.Leads = nil
		if err := json.Unmarshal([]byte(ada.Get("/checks/one/report?format=json", http.StatusOK)), &got); err != nil || len(got.Leads) != 1 {
			t.Fatal(got, err)
		}
		return got.Leads[0].State
	}
	page := ada.Get("/checks/one", http.StatusOK)
	if !strings.Contains(page, "says the same thing in other words (English, from Chinese)") || !strings.Contains(page, `value="count-lead"`) {
		t.Errorf("nothing to decide by in\n%s", page)
	}
	if page := axel.Get("/checks/one", http.StatusOK); !strings.Contains(page, "river of two towns") || strings.Contains(page, "count-lead") {
		t.Errorf("an auditor reads, and decides nothing:\n%s", page)
	}
	if read() != "open" || got.Scores.Leads != 0 {
		t.Errorf("at first %+v", got)
	}
	change := func(want int, f url.Values) string {
		t.Helper()
		return ada.Post("/checks/one/rules", want, f)
	}
	change(http.StatusBadRequest, leadForm("count-lead", " "))
	change(http.StatusBadRequest, leadForm("count-lead", strings.Repeat("x", 10_001)))
	none := leadForm("count-lead", "x")
	none.Set("source_start", "1")
	change(http.StatusNotFound, none)
	axel.Post("/checks/one/rules", http.StatusForbidden, leadForm("count-lead", "x"))

	page = change(http.StatusOK, leadForm("count-lead", "sentence for sentence"))
	if read() != "counted" || got.Coverage != 0 || got.Scores.Leads == 0 || got.Leads[0].By != "ada" {
		t.Errorf("counted %+v", got)
	}
	for _, w := range []string{"Counted by ada", "sentence for sentence", "counted lead", `value="open-lead"`} {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
	if told := bo.Get("/checks/one/changes?after=0", http.StatusOK); !strings.Contains(told, "<strong>ada</strong>") ||
		!strings.Contains(told, "counted lead") || !strings.Contains(told, "L1: sentence for sentence") || !strings.Contains(told, "0% →") {
		t.Errorf("the other officer is told\n%s", told)
	}
	bo.Post("/checks/one/rules", http.StatusBadRequest, url.Values{"action": {"undo"}}) // it is not bo's
	change(http.StatusOK, url.Values{"action": {"undo"}})
	if read() != "open" || got.Scores.Leads != 0 {
		t.Errorf("undone %+v", got)
	}
	bo.Post("/checks/one/rules", http.StatusOK, leadForm("set-aside-lead", "two towns that everybody knows"))
	if read() != "set_aside" || got.Leads[0].By != "bo" {
		t.Errorf("set aside %+v", got)
	}
	if page := ada.Get("/checks/one", http.StatusOK); !strings.Contains(page, "Marked as not a lead by bo") ||
		strings.Contains(page, `value="count-lead"`) {
		t.Errorf("no reason in\n%s", page)
	}
	change(http.StatusOK, leadForm("count-lead", "it is")) // only one of the two applies
	if read() != "counted" || got.Leads[0].By != "ada" {
		t.Errorf("counted instead %+v", got)
	}
	change(http.StatusOK, leadForm("open-lead", ""))
	if read() != "open" {
		t.Errorf("opened again %+v", got)
	}
	lines, err := d.Store.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	audit := ""
	for _, l := range lines {
		audit += string(l.Detail) + "\n"
	}
	for _, w := range []string{"count-lead", "L1: sentence for sentence", "set-aside-lead", "open-lead"} {
		if !strings.Contains(audit, w) {
			t.Errorf("the audit has no %q:\n%s", w, audit)
		}
	}

	c := d.Client(t, "cleo", store.RoleOfficer, "read", "review")
	l := led().Leads[0]
	span := report.NewCounter(led().Submission.Text).Points(l.Span)
	_, err = c.DecideLead(t.Context(), "one", span, l.SourcePoints, "counted", "")
	webtest.WantKind(t, err, "invalid")
	_, err = c.DecideLead(t.Context(), "one", span, concordat.Span{Start: 1, End: 2}, "counted", "x")
	webtest.WantKind(t, err, "not_found")
	ruled, err := c.DecideLead(t.Context(), "one", span, l.SourcePoints, "counted", "by a program")
	if err != nil || len(ruled.Rules.CountLeads) != 1 ||
		ruled.Rules.CountLeads[0].By != "cleo" || ruled.Rules.CountLeads[0].Comment != "by a program" {
		t.Errorf("rules %+v, %v", ruled, err)
	}
	ruled.Rules.SetAsideLeads, ruled.Rules.CountLeads = []report.LeadRuling{{Span: span, Source: l.SourcePoints, Comment: "no"}}, nil
	ruled, err = c.SetRules(t.Context(), "one", ruled)
	if err != nil || read() != "set_aside" || got.Leads[0].Comment != "no" || len(ruled.Rules.SetAsideLeads) != 1 {
		t.Errorf("rules %+v, %v: %+v", ruled, err, got)
	}
}
