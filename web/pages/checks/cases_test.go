package checks_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestCases: the list of checks can be filtered by progress, reviewer and title, and several checks can be assigned and given a due date
// at once, but only by users who decide on checks.
func TestCases(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga, sue := d.SignedIn(t, "olga", store.RoleOfficer), d.SignedIn(t, "sue", store.RoleSubmitter)
	otto := d.SignedIn(t, "otto", store.RoleOfficer)
	a, b := string(d.CheckedBy(t, olga, "first essay", webtest.Folios)), string(d.CheckedBy(t, olga, "second essay", webtest.Folios+" More."))
	has := func(view string, want ...string) {
		t.Helper()
		page := olga.Get("/checks?"+view, http.StatusOK)
		for _, title := range []string{"first essay", "second essay"} {
			if got := strings.Contains(page, "<bdi>"+title+"</bdi>"); got != strings.Contains(strings.Join(want, " "), title) {
				t.Errorf("%s: %s is there: %t", view, title, got)
			}
		}
	}
	has("view=new", "first essay", "second essay")
	has("view=new&q=SECOND", "second essay")
	has("view=decided")
	both := url.Values{"check": {a, b}, "action": {"assign"}, "assignee": {"otto"}}
	sue.Post("/checks/cases", http.StatusForbidden, both)
	olga.Post("/checks/cases", http.StatusOK, both)
	has("view=review", "first essay", "second essay")
	has("view=new")
	has("mine=yes")
	olga.Post("/checks/cases", http.StatusOK, url.Values{"check": {a}, "action": {"assign"}, "assignee": {"olga"}})
	has("mine=yes", "first essay")
	olga.Post("/checks/cases", http.StatusBadRequest, url.Values{"check": {a}, "action": {"assign"}, "assignee": {"sue"}})
	olga.Post("/checks/cases", http.StatusBadRequest, url.Values{"action": {"assign"}, "assignee": {"olga"}})
	olga.Post("/checks/cases", http.StatusNotFound, url.Values{"check": {a, "none"}, "action": {"assign"}, "assignee": {"otto"}})
	olga.Post("/checks/cases", http.StatusBadRequest, url.Values{"check": {a}, "action": {"due"}, "due": {"soon"}})
	yesterday := time.Now().AddDate(0, 0, -1).Format(time.DateOnly)
	page := olga.Post("/checks/cases", http.StatusOK, url.Values{"check": {a}, "action": {"due"}, "due": {yesterday}, "list": {"mine=yes"}})
	olga.Wants(page, yesterday, "overdue")
	has("mine=yes", "first essay") // the refused requests changed nothing
	olga.Post("/checks/"+a+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"clear"}, "text": {"quoted"}})
	has("view=decided", "first essay")
	has("view=review", "second essay")
	otto.Post("/checks/"+a+"/notes", http.StatusOK, url.Values{"kind": {"signoff"}})
	has("view=signed", "first essay")
	has("view=decided")
	if strings.Contains(olga.Get("/checks?view=signed", http.StatusOK), "overdue") {
		t.Error("what is decided is overdue")
	}
	testNamed(t, d, olga, a)
	if page := sue.Get("/checks", http.StatusOK); strings.Contains(page, "view=signed") || strings.Contains(page, "assignee") {
		t.Error("a submitter sees how far the people of the site are")
	}
}

// testNamed: pages and reports show the names that people gave, and add the accounts of two people with the same name.
func testNamed(t *testing.T, d *webtest.Site, olga *webtest.Person, id string) {
	t.Helper()
	name := func(account, title string) {
		t.Helper()
		a, err := d.Store.People.Account(t.Context(), account)
		if a.Title = title; err == nil {
			err = d.Store.People.UpdateAccount(t.Context(), a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	name("olga", "Olga Officer\u202e")
	name("otto", "Otto Senior")
	olga.Wants(olga.Get("/checks/"+id, http.StatusOK), "<span class=\"as\">Olga Officer\ufffd", "(Olga Officer, ", "signed off by Otto Senior")
	olga.Wants(olga.Get("/checks?view=signed", http.StatusOK), `<option value="otto">Otto Senior</option>`, ">Olga Officer</td>")
	olga.Wants(olga.Get("/checks/"+id+"/report", http.StatusOK), "given by Olga Officer on", "Signed off by Otto Senior on")
	olga.Wants(olga.Get("/checks/"+id+"/report?format=csv", http.StatusOK), "Olga Officer", "Otto Senior")
	olga.Wants(olga.Get("/checks/"+id+"/report?format=json", http.StatusOK), `"by": "olga"`, `"olga": "Olga Officer"`)
	name("otto", "Olga Officer")
	olga.Wants(olga.Get("/checks/"+id, http.StatusOK), "Olga Officer (olga)", "Olga Officer (otto)")
}
