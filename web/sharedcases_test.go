package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

// sharedCase stores a case: a partner was told about folios.txt, and has confirmed it.
func (d *testSite) sharedCase(t testing.TB) concordat.CaseID {
	t.Helper()
	x := store.SharedCase{ID: concordat.CaseID{1}, Side: store.AlertTold, Partner: "SOUTH", Job: concordat.JobID{10, 11},
		Handle: concordat.Handle{1}, Source: concordat.Ref{Site: "here", Library: "theses", Document: "folios.txt"}, Title: "On <folios>",
		Level: concordat.ShowMetadata, Sentences: 2, Opened: time.Now()}
	if err := d.store.Cases.Open(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	said := x
	said.Theirs = store.CasePosition{State: concordat.CaseConfirmed, Words: "two <chapters>", Contact: "dean@south.example", At: time.Now()}
	if err := d.store.Cases.Keep(t.Context(), x, said, "partner"); err != nil {
		t.Fatal(err)
	}
	return x.ID
}

// TestSharedCasePages: an officer sees the partner's view of a case, answers, and decides; the API offers the same.
func TestSharedCasePages(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	olga := d.signedIn(t, "olga", store.RoleOfficer)
	if page := olga.get("/cases", http.StatusOK); !strings.Contains(page, "No shared cases here") {
		t.Errorf("no cases:\n%s", page)
	}
	id := d.sharedCase(t)
	path := "/cases/" + id.String()
	if page := olga.get("/cases", http.StatusOK); !strings.Contains(page, path) || !strings.Contains(page, "South &lt;Site&gt;") ||
		!strings.Contains(page, "On &lt;folios&gt;") {
		t.Errorf("list:\n%s", page)
	}
	page := olga.get(path, http.StatusOK)
	for _, want := range []string{"two &lt;chapters&gt;", "dean@south.example", "Has said nothing.", "fingerprints of its document"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	olga.post(path, http.StatusBadRequest, url.Values{"state": {"guilty"}})
	page = olga.post(path, http.StatusOK, url.Values{"state": {"confirmed"}, "words": {"we agree"}, "contact": {"olga@here.example"}})
	if !strings.Contains(page, "we agree") || strings.Contains(page, "Has said nothing.") {
		t.Errorf("confirmed:\n%s", page)
	}
	out, err := d.store.Partners.Outbox(t.Context(), 0)
	if err != nil || len(out) != 1 || out[0].Partner != "SOUTH" || out[0].Notice.Case == nil ||
		out[0].Notice.Case.Contact != "olga@here.example" || out[0].Notice.Answer != nil {
		t.Fatalf("outbox %+v, %v", out, err)
	}
	if page = olga.get("/cases", http.StatusOK); strings.Contains(page, path) {
		t.Errorf("it is settled:\n%s", page)
	}
	if page = olga.get("/cases?all=yes", http.StatusOK); !strings.Contains(page, path) {
		t.Errorf("with those settled:\n%s", page)
	}
	page = olga.post(path, http.StatusOK, url.Values{"decision": {"rejected"}})
	if !strings.Contains(page, "Rejected") || strings.Contains(page, `id="decide"`) || !strings.Contains(page, `href="/deletions"`) {
		t.Errorf("decided:\n%s", page)
	}
	if open, err := d.store.Retention.OpenErasures(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("deletions %+v, %v", open, err)
	}
	for _, no := range []string{"/cases/" + strings.Repeat("9", 32), "/cases/x"} {
		olga.get(no, http.StatusNotFound)
	}
	d.signedIn(t, "sue", store.RoleSubmitter).get(path, http.StatusForbidden)
	if n := d.actions(t); n["case_moved"] != 2 {
		t.Errorf("audit %v", n)
	}
}

// TestSharedCaseAPI: programs can see and move cases as people can.
func TestSharedCaseAPI(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	olga := d.signedIn(t, "olga", store.RoleOfficer)
	path := "/api/v1/cases/" + d.sharedCase(t).String()
	p := olga.program("read", "review")
	var all struct {
		Cases []struct {
			ID, State   string
			Own, Theirs struct{ State, Words string }
			Shown       []struct{ By, What string }
		}
	}
	if p.json("GET", "/api/v1/cases?open=true", "", http.StatusOK, &all); len(all.Cases) != 1 || all.Cases[0].Theirs.State != "confirmed" ||
		len(all.Cases[0].Shown) != 2 || all.Cases[0].Shown[0].By != "partner" || all.Cases[0].Shown[1].By != "own" {
		t.Fatalf("got %+v", all)
	}
	var one struct{ State string }
	if p.json("POST", path, `{"state":"confirmed","words":"x"}`, http.StatusOK, &one); one.State != "confirmed" {
		t.Errorf("got %+v", one)
	}
	p.json("POST", path, `{"state":"guilty"}`, http.StatusUnprocessableEntity, nil)
	p.json("POST", path, `{}`, http.StatusBadRequest, nil)
	p.json("GET", "/api/v1/cases/"+strings.Repeat("9", 32), "", http.StatusNotFound, nil)
	olga.program("read").json("POST", path, `{"state":"cleared"}`, http.StatusForbidden, nil)
	all.Cases = nil
	if p.json("GET", "/api/v1/cases?open=true", "", http.StatusOK, &all); len(all.Cases) != 0 {
		t.Errorf("settled: %+v", all)
	}
}
