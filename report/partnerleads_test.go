package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// TestPartnerLeads: if a partner's document appears to say the same, it is reported with the sentences of the submission and the state of
// the request for it, and does not count. Anything outside the text, or not requested, is omitted.
func TestPartnerLeads(t *testing.T) {
	const text = "The council closed the bridge. Nobody knew why it had done so."
	ref := concordat.Ref{Site: "north", Library: "theses", Document: "0a"}
	f := &report.Findings{Submission: concordat.Document{ID: "essay", Text: text}, Checked: []concordat.Span{{End: len(text)}},
		Leads: []report.Lead{}, PartnerLeads: []report.PartnerLead{
			{Number: "P1", Source: ref, Title: "Of bridges", Spans: []concordat.Span{{Start: 31, End: len(text)}}, Near: 1,
				Places: []concordat.Span{{Start: 5, End: 90}}},
			{Number: "P2", Source: ref, Spans: []concordat.Span{{Start: 31, End: len(text) + 1}}, Places: []concordat.Span{{End: 9}}},
		}}
	written := func() string {
		t.Helper()
		var b bytes.Buffer
		r := report.Build(f, report.Rules{})
		if err := report.WriteText(&b, r); err != nil {
			t.Fatal(err)
		}
		if r.Scores.Covered != 0 || r.Scores.Leads != 0 || len(r.Leads) != 0 {
			t.Errorf("scores %+v, leads %+v", r.Scores, r.Leads)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	if s := written(); !strings.Contains(s, "[P1]") || strings.Contains(s, "[P2]") || !strings.Contains(s, "text has not been requested.") ||
		!strings.Contains(s, "1 sentence, 1 of them near") {
		t.Errorf("in text: %s", s)
	}
	f.Disclosures = []report.Disclosure{{Source: ref, Lead: true, Level: concordat.ShowPassage, State: concordat.DisclosurePending}}
	if s := written(); !strings.Contains(s, "the partner has not decided") {
		t.Errorf("asked for: %s", s)
	}
	f.PartnerLeads[0].Outcome = report.PartnerLeadNone
	var b bytes.Buffer
	rep := report.Build(f, report.Rules{})
	if err := report.WriteJSON(&b, rep); err != nil {
		t.Fatal(err)
	}
	if err := check(schema(t), schema(t), parse(t, rep), "report"); err != nil {
		t.Error(err)
	}
	var got struct {
		PartnerLeads []struct {
			Number, Outcome, State string
			Spans                  []concordat.Span
		} `json:"partner_leads"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || len(got.PartnerLeads) != 1 || got.PartnerLeads[0].Outcome != "none" ||
		got.PartnerLeads[0].Spans[0] != (concordat.Span{Start: 31, End: len(text)}) {
		t.Errorf("in JSON: %+v, %v", got, err)
	}
	f.Leads = nil
	if s := written(); strings.Contains(s, "[P1]") {
		t.Errorf("not asked for: %s", s)
	}
}
