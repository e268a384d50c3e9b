package reports_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
)

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
