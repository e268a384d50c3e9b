package alerts_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat"
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

// TestLaterInReport: for officers only, the report of a watched check lists the documents found later, on its page and in every format,
// and states who has read and handled them.
func TestLaterInReport(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga, sue := d.SignedIn(t, "olga", store.RoleOfficer), d.SignedIn(t, "sue", store.RoleSubmitter)
	task := d.CheckedBy(t, sue, "essay", webtest.Folios)
	page := "/checks/" + string(task)
	if got := olga.Get(page, http.StatusOK); strings.Contains(got, "Found since then") {
		t.Errorf("before any alert:\n%s", got)
	}
	found, _, _ := d.AddAlerts(t, task)
	alert := "/alerts/" + strconv.FormatInt(found, 10)
	if got := olga.Get(page, http.StatusOK); !strings.Contains(got, "Found since then") || !strings.Contains(got, `href="`+alert+`"`) ||
		!strings.Contains(got, "A &lt;late&gt; one") || !strings.Contains(got, ">Unread<") {
		t.Errorf("the page:\n%s", got)
	}
	olga.Post(alert, http.StatusOK, url.Values{"action": {"handle"}})
	for format, want := range map[string]string{"html": "A &lt;late&gt; one, from All &lt;theses&gt;", "json": `"later": [`} {
		got := olga.Get(page+"/report?format="+format, http.StatusOK)
		words := strings.Join(strings.Fields(got), " ")
		if !strings.Contains(words, want) || format != "json" && !strings.Contains(words, "Handled by olga on ") ||
			format == "json" && !strings.Contains(words, `"handled": { "by": "olga",`) {
			t.Errorf("%s:\n%s", format, got)
		}
		if got := sue.Get(page+"/report?format="+format, http.StatusOK); strings.Contains(got, `"later"`) || strings.Contains(got, "since then") {
			t.Errorf("a submitter's %s:\n%s", format, got)
		}
	}
	if got := sue.Get(page, http.StatusOK); strings.Contains(got, "Found since then") {
		t.Errorf("a submitter's page:\n%s", got)
	}
}

// TestLaterByTheSameAuthor: a document found later can be the author's own, for example a thesis published after its check. The report
// states this on its page and in each file, based on the authors named by the repository, the file or a partner.
func TestLaterByTheSameAuthor(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	olga.Upload(http.StatusOK, url.Values{"title": {"essay"}, "text": {webtest.Folios}, "author": {"Jane Roe (0000-0002-1825-0097)"}})
	task := d.Await(t)["essay"]
	d.AddAlerts(t, task)
	for _, a := range []store.Alert{
		{Task: task, Source: concordat.Ref{Site: "SOUTH", Library: "theses", Document: "f00d"}, Title: "Another", Author: "J. Roe",
			Level: concordat.ShowMetadata},
		{Task: task, Source: concordat.Ref{Site: "SOUTH", Library: "theses", Document: "beef"}, Title: "A third", Author: "Ann Poe",
			Level: concordat.ShowMetadata}} {
		a.At = time.Now()
		if _, err := d.Store.Alerts.PutAlert(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	const same, named = "Probably by the same author: the ORCID iD of Jane Roe (0000-0002-1825-0097) is the same.",
		"Possibly by the same author: one of its authors is also called Jane Roe."
	page := "/checks/" + string(task)
	count := func(address string, words string, want int) {
		t.Helper()
		got := strings.Join(strings.Fields(olga.Get(address, http.StatusOK)), " ")
		if n := strings.Count(got, words); n != want {
			t.Errorf("%s: %q %d times, want %d:\n%s", address, words, n, want, got)
		}
	}
	count(page, named, 1)
	count(page, same, 0)
	err := d.Store.Harvest.PutWorks(t.Context(), "theses", map[concordat.DocumentID]concordat.Work{"folios.txt": {
		Creators: concordat.ParseCreators("Roe, J. (0000-0002-1825-0097)")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{page, page + "/report?format=html", page + "/report?format=text"} {
		count(address, same, 1)
		count(address, named, 1)
	}
	count(page+"/report?format=json", `"same_author": { "by": "orcid", "author": "Jane Roe", "orcid": "0000-0002-1825-0097" }`, 1)
	count(page+"/report?format=json", `"same_author"`, 2)
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
