package reports_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/site"
	"concordat/store"
)

// TestWorks: a source is shown with the work to which its text belongs, and the work's identifiers are the only links; two texts of one
// work are reported as the same.
func TestWorks(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	if err := d.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "copies", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := d.Site.Ingest(t.Context(), "copies", func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: "copy.txt", Title: "Folios again", Text: webtest.Folios}, nil)
	}, func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
	doi := concordat.WorkID{Scheme: concordat.SchemeDOI, Value: "10.5072/f"}
	for lib, works := range map[concordat.LibraryID]map[concordat.DocumentID]concordat.Work{
		"theses": {"folios.txt": {Creators: []concordat.Creator{{Name: "Roe <Jane>", ORCID: "0000-0002-1825-0097"}}, Date: "2019-03",
			License: "https://creativecommons.org/licenses/by/4.0/", IDs: []concordat.WorkID{doi}, Page: "https://repository.example/7"}},
		"copies": {"copy.txt": {IDs: []concordat.WorkID{doi}, License: "all rights reserved", Page: "javascript:alert(1)"}}} {
		if err := d.Store.Harvest.PutWorks(t.Context(), lib, works); err != nil {
			t.Fatal(err)
		}
	}
	id := d.CheckedBy(t, ada, "essay", webtest.Folios)
	page := ada.Get("/checks/"+string(id), http.StatusOK)
	for _, want := range []string{`href="https://doi.org/10.5072/f"`, `href="https://orcid.org/0000-0002-1825-0097"`, "Roe &lt;Jane&gt;",
		"(2019-03)",
		`href="https://creativecommons.org/licenses/by/4.0/"`, `href="https://repository.example/7"`, "The same work, also in "} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "javascript:") || strings.Contains(page, "ZgotmplZ") {
		t.Errorf("a link to something else:\n%s", page)
	}
	if n := strings.Count(page, `<li id="s`); n != 1 {
		t.Errorf("one work in two libraries is shown as %d sources", n)
	}
}

// TestOwnWorkProposed: a source whose author has the same ORCID iD as the submission's author is proposed as the author's own work. An
// officer dismisses the proposal, undoes that, and accepts it. Each step is logged, and dismissing it does not change a verdict.
func TestOwnWorkProposed(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	roe := concordat.Creator{Name: "Roe, Jane", ORCID: "0000-0002-1825-0097"}
	if err := d.Store.Harvest.PutWorks(t.Context(), "theses", map[concordat.DocumentID]concordat.Work{
		"folios.txt": {Creators: []concordat.Creator{roe}}}); err != nil {
		t.Fatal(err)
	}
	ada.Upload(http.StatusOK, url.Values{"title": {"essay"}, "text": {webtest.Folios}, "author": {"J. Roe (0000-0002-1825-0097)"}})
	id := d.Await(t)["essay"]
	at := "/checks/" + string(id)
	shows := func(page string, proposed bool) {
		t.Helper()
		if got := strings.Contains(page, "Probably the author&#39;s own earlier work"); got != proposed ||
			strings.Contains(page, `value="dismiss-own-work"`) != proposed {
			t.Errorf("proposed %v, want %v:\n%s", got, proposed, page)
		}
	}
	shows(ada.Get(at, http.StatusOK), true)
	ada.Post(at+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"discuss"}, "text": {"read"}})
	rules := func(action string) string {
		return ada.Post(at+"/rules", http.StatusOK, url.Values{"action": {action}, "site": {"here"}, "library": {"theses"},
			"document": {"folios.txt"}})
	}
	page := rules("dismiss-own-work")
	shows(page, false)
	if !strings.Contains(page, "dismissed as the author’s earlier work:") || strings.Contains(page, "given on other figures") {
		t.Errorf("dismissed:\n%s", page)
	}
	shows(ada.Post(at+"/rules", http.StatusOK, url.Values{"action": {"undo"}}), true)
	rules("dismiss-own-work")
	page = rules("own-work")
	shows(page, false)
	if !strings.Contains(page, `value="not-own-work"`) {
		t.Errorf("accepted:\n%s", page)
	}
	shows(rules("not-own-work"), true)
}
