package requests_test

import (
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

// TestAskPartnerForLead: a partner's document that may say the same thing is shown on the page, without its text. An officer requests its
// places, waits, and sees the result of the comparison. Other users cannot request them.
func TestAskPartnerForLead(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.Partner.State.Store(concordat.DisclosurePending)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	f := webtest.AtPartner()
	f.Leads = []report.Lead{}
	f.PartnerLeads = []report.PartnerLead{{Number: "P1", Title: "Of mirrors", Job: strings.Repeat("02", 16),
		Source: concordat.Ref{Site: "SOUTH", Library: "theses", Document: concordat.DocumentID(strings.Repeat("09", 16))},
		Epoch:  concordat.Epoch{Federation: "f", Number: 1}, Near: 1, Spans: []concordat.Span{f.Passages[1].Span},
		Places: []concordat.Span{{Start: 3, End: 80}}}}
	d.AddFinished(t, "one", "sue", f)
	page := olga.Get("/checks/one", http.StatusOK)
	for _, want := range []string{`id="P1"`, "Of mirrors", "Its text has not been requested.", `name="lead" value="P1"`} {
		if !strings.Contains(page, want) {
			t.Fatalf("the page lacks %s:\n%s", want, page)
		}
	}
	ask := func(want int, lead, reason string) string {
		t.Helper()
		return olga.Post("/checks/one/ask", want, url.Values{"action": {"ask"}, "lead": {lead}, "level": {"passage"}, "reason": {reason},
			"contact": {"dean@north"}})
	}
	ask(http.StatusNotFound, "P2", "a case")
	ask(http.StatusBadRequest, "P1", "")
	olga.Program("read", "review").JSON("POST", "/api/v1/checks/one/requests",
		`{"start":0,"end":1,"lead":"P2","level":"passage","reason":"a case","contact":"dean@north"}`, http.StatusNotFound, nil)
	olga.Program("read", "review").JSON("POST", "/api/v1/checks/one/requests",
		`{"start":0,"end":1,"lead":"P1","level":"overlap","reason":"a case","contact":"dean@north"}`, http.StatusBadRequest, nil)
	if d.Partner.Asks.Load() != 0 {
		t.Fatal("the partner was asked")
	}
	c := d.Client(t, "cleo", store.RoleOfficer, "read", "review")
	got, err := c.Leads(t.Context(), "one", client.LeadFilter{Kind: "summary"})
	if err != nil || got.Total != 0 || len(got.Leads) != 0 || len(got.Partners) != 1 || got.Partners[0].Number != "P1" ||
		got.Partners[0].Source.Title != "Of mirrors" || got.Partners[0].Near != 1 || len(got.Partners[0].Spans) != 1 ||
		got.Partners[0].State != "" {
		t.Errorf("the client: %+v, %v", got, err)
	}
	_, err = c.AskForPlaces(t.Context(), "one", "P2", "a case", "dean@north")
	webtest.WantKind(t, err, "not_found")
	if page = ask(http.StatusOK, "P1", "a case"); !strings.Contains(page, "the partner has not decided") {
		t.Errorf("not waiting:\n%s", page)
	}
	if got, err = c.Leads(t.Context(), "one", client.LeadFilter{}); err != nil || got.Partners[0].State != concordat.DisclosurePending {
		t.Errorf("the client, once it was asked for: %+v, %v", got, err)
	}
	d.Partner.State.Store(concordat.DisclosureGranted)
	page = olga.Post("/checks/one/ask", http.StatusOK, url.Values{"action": {"refresh"}, "lead": {"P1"}})
	if !strings.Contains(page, "they are not a lead") || strings.Contains(page, "theirs theirs") {
		t.Errorf("compared:\n%s", page)
	}
	axel := d.SignedIn(t, "axel", store.RoleAuditor)
	if page := axel.Get("/checks/one", http.StatusOK); strings.Contains(page, `name="lead"`) {
		t.Error("an auditor can ask")
	}
}
