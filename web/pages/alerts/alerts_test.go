package alerts_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/site"
	"concordat/store"
)

// TestAlertPages: an officer sees the later matches on both sides, reads an alert, and marks it as handled.
func TestAlertPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	if page := olga.Get("/alerts", http.StatusOK); !strings.Contains(page, "No alerts here") || strings.Contains(page, "badge") {
		t.Errorf("no alerts:\n%s", page)
	}
	found, told, untold := d.AddAlerts(t, d.CheckedBy(t, olga, "essay", webtest.Folios))
	list := olga.Get("/alerts", http.StatusOK)
	for _, want := range []string{"A &lt;late&gt; one", "South &lt;Site&gt; was notified of a document at this site", "On folios", "Not disclosed",
		`<span class="badge">3<`} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	path := func(n int64) string { return "/alerts/" + strconv.FormatInt(n, 10) }
	page := olga.Get(path(told), http.StatusOK)
	for _, want := range []string{webtest.Folios[4:16], "0a0b", "thesis", "Read</span> olga", `value="handle"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if page = olga.Get(path(untold), http.StatusOK); strings.Contains(page, "folios") || strings.Contains(page, "blockquote") {
		t.Errorf("what was not told is shown:\n%s", page)
	}
	if page = olga.Get(path(found), http.StatusOK); !strings.Contains(page, "<blockquote") || !strings.Contains(page, `href="/checks/`) {
		t.Errorf("found:\n%s", page)
	}
	olga.Post(path(told), http.StatusBadRequest, url.Values{"action": {"burn"}})
	if page = olga.Post(path(told), http.StatusOK, url.Values{"action": {"handle"}}); !strings.Contains(page, "Handled</span> olga") {
		t.Errorf("handled:\n%s", page)
	}
	if list = olga.Get("/alerts", http.StatusOK); strings.Contains(list, "On folios") || strings.Contains(list, "badge") {
		t.Errorf("after all is read and one handled:\n%s", list)
	}
	if list = olga.Get("/alerts?all=yes", http.StatusOK); !strings.Contains(list, "On folios") {
		t.Errorf("with those handled:\n%s", list)
	}
	if page = olga.Post(path(told), http.StatusOK, url.Values{"action": {"reopen"}}); !strings.Contains(page, `value="handle"`) {
		t.Errorf("opened again:\n%s", page)
	}
	for _, no := range []string{"/alerts/99", "/alerts/x", "/alerts/-1"} {
		olga.Get(no, http.StatusNotFound)
	}
	if n := d.Actions(t); n["alert_read"] != 3 || n["alert_handle"] != 1 || n["alert_reopen"] != 1 {
		t.Errorf("audit %v", n)
	}
	d.SignedIn(t, "sue", store.RoleSubmitter).Get(path(told), http.StatusForbidden)
	// No passages are shown if the document's text differs from the alert's.
	if err := d.Site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: "folios.txt", Text: "Quite another text stands here by now, and it says nothing of leaves."}, nil)
	}, func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
	page = olga.Get(path(told), http.StatusOK)
	if strings.Contains(page, "<blockquote") || !strings.Contains(page, "The text has been deleted") {
		t.Errorf("of another text:\n%s", page)
	}
}

// TestAlertAPI: programs see and mark alerts as people do.
func TestAlertAPI(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	found, told, untold := d.AddAlerts(t, d.CheckedBy(t, olga, "essay", webtest.Folios))
	p := olga.Program("read", "review")
	var all struct {
		Alerts []struct {
			Number            int64
			Document, Partner string
			Read, Handled     *struct{ By string }
		}
		Next string
	}
	list := func(query string, want ...int64) {
		t.Helper()
		all.Alerts, all.Next = nil, ""
		p.JSON("GET", "/api/v1/alerts"+query, "", http.StatusOK, &all)
		if len(all.Alerts) != len(want) {
			t.Fatalf("%s: %+v", query, all)
		}
		for i, n := range want {
			if all.Alerts[i].Number != n {
				t.Errorf("%s: %+v", query, all)
			}
		}
	}
	list("", untold, told, found)
	list("?side=told", untold, told)
	list("?limit=2", untold, told)
	list("?limit=2&cursor="+url.QueryEscape(all.Next), found)
	one := "/api/v1/alerts/" + strconv.FormatInt(told, 10)
	var changed struct{ Passages []string }
	if p.JSON("POST", one, `{"action":"handle"}`, http.StatusOK, &changed); len(changed.Passages) != 1 ||
		changed.Passages[0] != webtest.Folios[4:16] {
		t.Errorf("handled %+v", changed)
	}
	p.JSON("POST", one, `{"action":"burn"}`, http.StatusUnprocessableEntity, nil)
	p.JSON("GET", "/api/v1/alerts/99", "", http.StatusNotFound, nil)
	p.JSON("GET", "/api/v1/alerts?cursor=x", "", http.StatusBadRequest, nil)
	list("?open=true", untold, found)
	list("?side=told", untold, told)
	if a := all.Alerts[1]; a.Handled == nil || a.Read == nil || a.Partner != "SOUTH" || a.Document != "folios.txt" {
		t.Errorf("handled %+v", a)
	}
	if a := all.Alerts[0]; a.Document != "" || a.Read != nil {
		t.Errorf("without its document %+v", a)
	}
}
