package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"concordat/store"
)

// TestCases: the list of checks shows them by how far people are, by who reviews and by title, and several are assigned and
// given a day at once; who does not decide about checks cannot.
func TestCases(t *testing.T) {
	d := newDesk(t, false)
	olga, sue := d.signedIn(t, "olga", store.RoleOfficer), d.signedIn(t, "sue", store.RoleSubmitter)
	otto := d.signedIn(t, "otto", store.RoleOfficer)
	a, b := string(d.checkedBy(t, olga, "first essay", folios)), string(d.checkedBy(t, olga, "second essay", folios+" More."))
	has := func(view string, want ...string) {
		t.Helper()
		page := olga.get("/checks?"+view, http.StatusOK)
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
	sue.post("/checks/cases", http.StatusForbidden, both)
	olga.post("/checks/cases", http.StatusOK, both)
	has("view=review", "first essay", "second essay")
	has("view=new")
	has("mine=yes")
	olga.post("/checks/cases", http.StatusOK, url.Values{"check": {a}, "action": {"assign"}, "assignee": {"olga"}})
	has("mine=yes", "first essay")
	olga.post("/checks/cases", http.StatusBadRequest, url.Values{"check": {a}, "action": {"assign"}, "assignee": {"sue"}})
	olga.post("/checks/cases", http.StatusBadRequest, url.Values{"action": {"assign"}, "assignee": {"olga"}})
	olga.post("/checks/cases", http.StatusNotFound, url.Values{"check": {a, "none"}, "action": {"assign"}, "assignee": {"otto"}})
	olga.post("/checks/cases", http.StatusBadRequest, url.Values{"check": {a}, "action": {"due"}, "due": {"soon"}})
	yesterday := time.Now().AddDate(0, 0, -1).Format(time.DateOnly)
	page := olga.post("/checks/cases", http.StatusOK, url.Values{"check": {a}, "action": {"due"}, "due": {yesterday}, "list": {"mine=yes"}})
	olga.wants(page, yesterday, "overdue")
	has("mine=yes", "first essay") // nothing of what was refused was done
	olga.post("/checks/"+a+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"clear"}, "text": {"quoted"}})
	has("view=decided", "first essay")
	has("view=review", "second essay")
	otto.post("/checks/"+a+"/notes", http.StatusOK, url.Values{"kind": {"signoff"}})
	has("view=signed", "first essay")
	has("view=decided")
	if strings.Contains(olga.get("/checks?view=signed", http.StatusOK), "overdue") {
		t.Error("what is decided is overdue")
	}
	if page := sue.get("/checks", http.StatusOK); strings.Contains(page, "view=signed") || strings.Contains(page, "assignee") {
		t.Error("a submitter sees how far the people of the site are")
	}
}
