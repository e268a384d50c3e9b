package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat"
	"concordat/site"
	"concordat/store"
)

// later adds a document to the library.
func (d *testSite) later(t *testing.T, id concordat.DocumentID, text string) {
	t.Helper()
	if err := d.site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: id, Text: text}, nil)
	}, func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestWatching: a check that an officer watches raises an alert for a later document that matches; one that is not watched, or no
// longer watched, does not.
func TestWatching(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	olga, sue := d.signedIn(t, "olga", store.RoleOfficer), d.signedIn(t, "sue", store.RoleSubmitter)
	prog := olga.program("read", "review")
	olga.wants(olga.get("/alerts", http.StatusOK), "Only watched checks raise alerts", `href="/rechecks"`)
	olga.wants(olga.get("/checks/new", http.StatusOK), `name="standing"`)
	if strings.Contains(sue.get("/checks/new", http.StatusOK), `name="standing"`) {
		t.Error("a submitter is offered to watch")
	}
	sue.upload(http.StatusForbidden, url.Values{"text": {ledger}, "title": {"hers"}, "standing": {"yes"}})
	olga.upload(http.StatusBadRequest, url.Values{"text": {ledger}, "title": {"lost"}, "standing": {"yes"}, "no_store": {"yes"}})
	olga.upload(http.StatusOK, url.Values{"text": {ledger}, "title": {"watched"}, "standing": {"yes"}})
	watched := string(d.await(t)["watched"])
	plain := string(d.checkedBy(t, olga, "plain", ledger+keeper))
	alerts := func() (titles []string) {
		t.Helper()
		all, err := d.store.Alerts.FilterAlerts(t.Context(), store.AlertFilter{}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			titles = append(titles, string(a.Task)+" "+string(a.Source.Document))
		}
		return titles
	}
	want := func(n int, latest string) {
		t.Helper()
		if got := alerts(); len(got) != n || n > 0 && got[0] != latest {
			t.Errorf("alerts %q, want %d, the latest %q", got, n, latest)
		}
	}
	d.later(t, "innocent", keeper)
	want(0, "")
	d.later(t, "copy", "Of old days. "+ledger+" So it was told.")
	want(1, watched+" copy")
	page := olga.get("/alerts", http.StatusOK)
	olga.wants(page, "Watched checks", "<bdi>watched</bdi>", "this site", `action="/checks/`+watched+`/watch"`)
	if strings.Contains(page, "<bdi>plain</bdi>") {
		t.Error("a check that nobody watches is in the list")
	}
	olga.wants(olga.get("/checks/"+watched, http.StatusOK), "Stop watching")
	// A finished check is watched from then on.
	olga.wants(olga.get("/checks/"+plain, http.StatusOK), "Keep watching")
	sue.post("/checks/"+plain+"/watch", http.StatusForbidden, url.Values{"action": {"watch"}})
	olga.post("/checks/"+plain+"/watch", http.StatusOK, url.Values{"action": {"watch"}})
	olga.post("/checks/"+plain+"/watch", http.StatusBadRequest, url.Values{"action": {"burn"}})
	d.later(t, "timetable", "In the harbour they say: "+keeper+" And he never told.")
	want(2, plain+" timetable")
	olga.wants(olga.post("/checks/"+plain+"/watch", http.StatusOK, url.Values{"action": {"stop"}}), "<bdi>watched</bdi>")
	olga.post("/checks/"+plain+"/watch", http.StatusNotFound, url.Values{"action": {"stop"}})
	d.later(t, "again", "Once more they say: "+keeper)
	want(2, plain+" timetable")
	// Programs can do the same.
	var list struct {
		Watched []struct{ Check, Title string }
	}
	prog.call("GET", "/api/v1/watched", http.StatusOK, &list)
	if len(list.Watched) != 1 || list.Watched[0].Check != watched || list.Watched[0].Title != "watched" {
		t.Errorf("watched: %+v", list)
	}
	prog.exchange(http.MethodPut, "/checks/"+plain+"/watch", "", http.StatusNoContent)
	prog.exchange(http.MethodDelete, "/checks/"+plain+"/watch", "", http.StatusNoContent)
	prog.exchange(http.MethodDelete, "/checks/"+plain+"/watch", "", http.StatusNotFound)
	d.later(t, "last", "For the last time: "+ledger)
	want(3, watched+" last")
	if n := d.actions(t); n["check_watched"] != 2 || n["watch_ended"] != 2 {
		t.Errorf("audit %v", n)
	}
	// Without its text there is nothing to compare.
	olga.upload(http.StatusOK, url.Values{"text": {ledger}, "title": {"dropped"}, "no_store": {"yes"}})
	dropped := string(d.await(t)["dropped"])
	olga.wants(olga.post("/checks/"+dropped+"/watch", http.StatusConflict, url.Values{"action": {"watch"}}), "is not kept")
}
