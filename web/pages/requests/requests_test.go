package requests_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestIncomingRequests: an officer sees which partner requests which words of which document, and why, and decides.
func TestIncomingRequests(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	day := time.Now().Add(24 * time.Hour)
	d.AddRequest(t, "one", day)
	d.AddRequest(t, "second", day)
	d.AddRequest(t, "old", time.Now().Add(-time.Hour))
	list := olga.Get("/requests", http.StatusOK)
	for _, want := range []string{"South &lt;Site&gt; asks this site", "On folios", "a &lt;case&gt; of ours", "waiting", "expired"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	if page := olga.Get("/requests?state=expired", http.StatusOK); strings.Contains(page, `href="/requests/one"`) ||
		!strings.Contains(page, `href="/requests/old"`) {
		t.Errorf("the expired ones are\n%s", page)
	}
	page := olga.Get("/requests/one", http.StatusOK)
	for _, want := range []string{webtest.Folios[4:16], "dean@south", `value="approve"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "morning light") {
		t.Error("the page shows more of the document than was asked for")
	}
	decide := func(id, action, words string, want int) string {
		t.Helper()
		return olga.Post("/requests/"+id, want, url.Values{"action": {action}, "words": {words}})
	}
	decide("one", "refuse", " ", http.StatusBadRequest)
	decide("one", "burn", "x", http.StatusBadRequest)
	decide("none", "approve", "", http.StatusNotFound)
	decide("old", "approve", "", http.StatusBadRequest)
	if page := decide("one", "approve", "", http.StatusOK); !strings.Contains(page, "granted") || !strings.Contains(page, "olga") ||
		!strings.Contains(page, `value="withdraw"`) {
		t.Errorf("approved:\n%s", page)
	}
	decide("one", "approve", "", http.StatusBadRequest)
	if page := decide("one", "withdraw", "by mistake", http.StatusOK); !strings.Contains(page, "withdrawn") ||
		!strings.Contains(page, "by mistake") {
		t.Errorf("withdrawn:\n%s", page)
	}
	if page := decide("second", "refuse", "ask the author", http.StatusOK); !strings.Contains(page, "refused") ||
		strings.Contains(page, `name="action"`) {
		t.Errorf("refused:\n%s", page)
	}
	if n := d.Actions(t); n["request_decided"] != 3 || n["request_read"] < 4 {
		t.Errorf("audit %v", n)
	}
	for _, role := range []store.Role{store.RoleSubmitter, store.RoleAuditor} {
		other := d.SignedIn(t, "a-"+string(role), role)
		other.Get("/requests", http.StatusForbidden)
		other.Get("/requests/one", http.StatusForbidden)
		other.Post("/requests/one", http.StatusForbidden, url.Values{"action": {"approve"}})
	}
}

// TestAskPartner: an officer requests the words of a passage from a partner, waits, and reads them.
func TestAskPartner(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.Partner.State.Store(concordat.DisclosurePending)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	d.AddFinished(t, "one", "sue", webtest.AtPartner())
	page := olga.Get("/checks/one/passages/1", http.StatusOK)
	if !strings.Contains(page, "Ask the partner for the wording") {
		t.Fatalf("no way to ask:\n%s", page)
	}
	if page := olga.Get("/checks/one/passages/2", http.StatusOK); strings.Contains(page, "Ask the partner") {
		t.Errorf("a mirror can be asked:\n%s", page)
	}
	if page := olga.Get("/checks/one", http.StatusOK); !strings.Contains(page, "mirror of 2026-01-02") {
		t.Errorf("a mirror is not shown as one:\n%s", page)
	}
	ask := func(want int, level, reason, contact string) string {
		t.Helper()
		return olga.Post("/checks/one/ask", want, url.Values{"action": {"ask"}, "number": {"1"}, "start": {"0"},
			"end": {fmt.Sprint(len(webtest.Folios))}, "level": {level}, "reason": {reason}, "contact": {contact}})
	}
	ask(http.StatusBadRequest, "everything", "", "")
	ask(http.StatusBadRequest, "passage", "a case", "")
	if d.Partner.Asks.Load() != 0 {
		t.Fatal("the partner was asked")
	}
	if page := ask(http.StatusOK, "overlap", "", ""); !strings.Contains(page, "Only the words that both sides share") ||
		!strings.Contains(page, "Granted") {
		t.Errorf("the words in common:\n%s", page)
	}
	page = ask(http.StatusOK, "passage", "a case", "dean@north")
	if !strings.Contains(page, "Waiting") || !strings.Contains(page, `value="refresh"`) || !strings.Contains(page, "until") {
		t.Errorf("not waiting:\n%s", page)
	}
	n := d.Partner.Asks.Load()
	ask(http.StatusOK, "passage", "a case", "dean@north")
	if d.Partner.Asks.Load() != n {
		t.Error("what waits was asked for again")
	}
	if list := olga.Get("/requests", http.StatusOK); !strings.Contains(list, "This site asks South") || !strings.Contains(list, "a case") {
		t.Errorf("requests:\n%s", list)
	}
	d.Partner.State.Store(concordat.DisclosureGranted)
	page = olga.Post("/checks/one/ask", http.StatusOK, url.Values{"action": {"refresh"}, "number": {"1"}, "start": {"0"}, "end": {"1"}})
	if !strings.Contains(page, "theirs theirs") || strings.Contains(page, "waiting") {
		t.Errorf("granted:\n%s", page)
	}
	if n := d.Actions(t); n["passages_asked"] != 2 || n["passages_refreshed"] != 1 {
		t.Errorf("audit %v", n)
	}
	for _, role := range []store.Role{store.RoleSubmitter, store.RoleAuditor} {
		other := d.SignedIn(t, map[store.Role]string{store.RoleSubmitter: "sue", store.RoleAuditor: "axel"}[role], role)
		if page := other.Get("/checks/one/passages/1", http.StatusOK); strings.Contains(page, "Ask the partner") {
			t.Errorf("a %s can ask", role)
		}
		other.Post("/checks/one/ask", http.StatusForbidden, url.Values{"action": {"refresh"}, "start": {"0"}, "end": {"1"}})
	}
}
