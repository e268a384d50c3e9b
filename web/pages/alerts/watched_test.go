package alerts_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/site"
	"concordat/store"
)

// Two texts that a later document can contain.
const (
	ledger = "Three surveyors measured the valley from end to end and wrote the height of every hill into a ledger bound in green leather. "
	keeper = "Nobody had asked the lighthouse keeper what he thought about the new timetable of the ferries that crossed the sound at night. "
)

// addLater adds a document to the library.
func addLater(t *testing.T, d *webtest.Site, id concordat.DocumentID, text string) {
	t.Helper()
	if err := d.Site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: id, Text: text}, nil)
	}, func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestWatching: a watched check raises an alert for a later document that matches; a check that is not watched, or no longer watched,
// does not.
func TestWatching(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga, sue := d.SignedIn(t, "olga", store.RoleOfficer), d.SignedIn(t, "sue", store.RoleSubmitter)
	prog := olga.Program("read", "review")
	olga.Wants(olga.Get("/alerts", http.StatusOK), "Only watched checks raise alerts", `href="/rechecks"`)
	olga.Wants(olga.Get("/checks/new", http.StatusOK), `name="standing"`)
	if strings.Contains(sue.Get("/checks/new", http.StatusOK), `name="standing"`) {
		t.Error("a submitter is offered to watch")
	}
	sue.Upload(http.StatusForbidden, url.Values{"text": {ledger}, "title": {"hers"}, "standing": {"yes"}})
	olga.Upload(http.StatusBadRequest, url.Values{"text": {ledger}, "title": {"lost"}, "standing": {"yes"}, "no_store": {"yes"}})
	olga.Upload(http.StatusOK, url.Values{"text": {ledger}, "title": {"watched"}, "standing": {"yes"}})
	watched := string(d.Await(t)["watched"])
	plain := string(d.CheckedBy(t, olga, "plain", ledger+keeper))
	alerts := func() (titles []string) {
		t.Helper()
		all, err := d.Store.Alerts.FilterAlerts(t.Context(), store.AlertFilter{}, 0, 0)
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
	addLater(t, d, "innocent", keeper)
	want(0, "")
	addLater(t, d, "copy", "Of old days. "+ledger+" So it was told.")
	want(1, watched+" copy")
	page := olga.Get("/alerts", http.StatusOK)
	olga.Wants(page, "Watched checks", "<bdi>watched</bdi>", "this site", `action="/checks/`+watched+`/watch"`)
	if strings.Contains(page, "<bdi>plain</bdi>") {
		t.Error("a check that nobody watches is in the list")
	}
	olga.Wants(olga.Get("/checks/"+watched, http.StatusOK), "Stop watching")
	// A finished check is watched from now on.
	olga.Wants(olga.Get("/checks/"+plain, http.StatusOK), "Keep watching")
	sue.Post("/checks/"+plain+"/watch", http.StatusForbidden, url.Values{"action": {"watch"}})
	olga.Post("/checks/"+plain+"/watch", http.StatusOK, url.Values{"action": {"watch"}})
	olga.Post("/checks/"+plain+"/watch", http.StatusBadRequest, url.Values{"action": {"burn"}})
	addLater(t, d, "timetable", "In the harbour they say: "+keeper+" And he never told.")
	want(2, plain+" timetable")
	olga.Wants(olga.Post("/checks/"+plain+"/watch", http.StatusOK, url.Values{"action": {"stop"}}), "<bdi>watched</bdi>")
	olga.Post("/checks/"+plain+"/watch", http.StatusNotFound, url.Values{"action": {"stop"}})
	addLater(t, d, "again", "Once more they say: "+keeper)
	want(2, plain+" timetable")
	// Programs can do the same.
	var list struct {
		Watched []struct{ Check, Title string }
	}
	prog.Call("GET", "/api/v1/watched", http.StatusOK, &list)
	if len(list.Watched) != 1 || list.Watched[0].Check != watched || list.Watched[0].Title != "watched" {
		t.Errorf("watched: %+v", list)
	}
	prog.Exchange(http.MethodPut, "/checks/"+plain+"/watch", "", http.StatusNoContent)
	prog.Exchange(http.MethodDelete, "/checks/"+plain+"/watch", "", http.StatusNoContent)
	prog.Exchange(http.MethodDelete, "/checks/"+plain+"/watch", "", http.StatusNotFound)
	addLater(t, d, "last", "For the last time: "+ledger)
	want(3, watched+" last")
	if n := d.Actions(t); n["check_watched"] != 2 || n["watch_ended"] != 2 {
		t.Errorf("audit %v", n)
	}
	// A check without its text cannot be watched.
	olga.Upload(http.StatusOK, url.Values{"text": {ledger}, "title": {"dropped"}, "no_store": {"yes"}})
	dropped := string(d.Await(t)["dropped"])
	olga.Wants(olga.Post("/checks/"+dropped+"/watch", http.StatusConflict, url.Values{"action": {"watch"}}), "is not kept")
}
