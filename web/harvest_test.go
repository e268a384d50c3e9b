package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/site"
	"concordat/store"
)

// source adds a harvested repository with a few records.
func (d *testSite) source(t testing.TB, id string) {
	t.Helper()
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	h := d.store.Harvest
	if err := h.AddSource(t.Context(), store.HarvestSource{ID: id, Kind: "oai", URL: "https://repository.example/oai", Library: "theses",
		Every: 24 * time.Hour, Withdrawn: store.HarvestDelete, Next: at, Made: at}); err != nil {
		t.Fatal(err)
	}
	if err := h.ClaimSource(t.Context(), id, "w", time.Second); err != nil {
		t.Fatal(err)
	}
	records := []store.HarvestRecord{{ID: "oai:r:1", State: store.RecordKept, Documents: []concordat.DocumentID{"oai:r:1"},
		Work: concordat.Work{Title: "On <tides>", Creators: []concordat.Creator{{Name: "Roe, Jane"}},
			Page: "https://repository.example/1"}},
		{ID: "oai:r:2", State: store.RecordFailed, Detail: "thesis.pdf: it is damaged", Work: concordat.Work{Title: "Damaged",
			Page: "javascript:alert(1)"}},
		{ID: "oai:r:3", State: store.RecordEmbargoed, Due: at.AddDate(1, 0, 0)}}
	if err := h.KeepHarvest(t.Context(), id, "w", store.HarvestState{Repository: "Archive of Oslo", Ended: at, Listed: 3},
		records...); err != nil {
		t.Fatal(err)
	}
	if err := h.ReleaseSource(t.Context(), id, "w", store.HarvestState{Repository: "Archive of Oslo", Ended: at, Listed: 3},
		at); err != nil {
		t.Fatal(err)
	}
}

// TestHarvestPages: an administrator enters the address of a repository, sees what was harvested and what failed, and requests
// a run; an auditor can only look.
func TestHarvestPages(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	ada, una := d.signedIn(t, "ada", store.RoleAdministrator), d.signedIn(t, "una", store.RoleAuditor)
	form := url.Values{"url": {"https://repository.example"}, "library": {"theses"}, "every": {"24"}, "withdrawn": {"delete"}}
	if page := ada.post("/admin/harvest", http.StatusOK, form); !strings.Contains(page, "https://repository.example") ||
		!strings.Contains(page, "waiting for its first run") {
		t.Errorf("after adding:\n%s", page)
	}
	for field, wrong := range map[string]string{"url": "http://10.0.0.1/oai", "library": "nowhere", "every": "often", "set": "a b"} {
		f := url.Values{"url": {"https://other.example"}, "library": {"theses"}, "every": {"24"}, "withdrawn": {"delete"}}
		f.Set(field, wrong)
		if page := ada.post("/admin/harvest", http.StatusBadRequest, f); !strings.Contains(page, `class="problem"`) {
			t.Errorf("%s %s:\n%s", field, wrong, page)
		}
	}
	if page := ada.post("/admin/harvest", http.StatusBadRequest, form); !strings.Contains(page, "A source with this name already exists") {
		t.Errorf("twice:\n%s", page)
	}
	folder := url.Values{"url": {"file:///etc"}, "library": {"theses"}, "every": {"0"}}
	if page := ada.post("/admin/harvest", http.StatusBadRequest, folder); !strings.Contains(page, "concordat harvest add") {
		t.Errorf("a folder:\n%s", page)
	}
	d.source(t, "oslo")
	page := una.get("/admin/harvest/oslo", http.StatusOK)
	for _, want := range []string{"Archive of Oslo", "On &lt;tides&gt;", `href="https://repository.example/1"`, "it is damaged",
		"under embargo"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	for _, not := range []string{"javascript:", "ZgotmplZ", "Run now"} {
		if strings.Contains(page, not) {
			t.Errorf("%q in\n%s", not, page)
		}
	}
	if page = una.get("/admin/harvest/oslo?state=failed", http.StatusOK); strings.Contains(page, "tides") || !strings.Contains(page,
		"Damaged") {
		t.Errorf("failed ones:\n%s", page)
	}
	ada.post("/admin/harvest/oslo", http.StatusOK, url.Values{"action": {"whole"}})
	h, err := d.store.Harvest.Source(t.Context(), "oslo")
	if err != nil || h.State.Ask != "whole" || time.Since(h.Next) > time.Hour {
		t.Errorf("asked for: %+v, %v", h, err)
	}
	ada.post("/admin/harvest/oslo", http.StatusBadRequest, url.Values{"action": {"burn"}})
	una.post("/admin/harvest/oslo", http.StatusForbidden, url.Values{"action": {"remove"}})
	ada.post("/admin/harvest/oslo", http.StatusOK, url.Values{"action": {"remove"}})
	ada.get("/admin/harvest/oslo", http.StatusNotFound)
	if n := d.actions(t); n["harvest_added"] != 1 || n["harvest_asked"] != 1 || n["harvest_source_removed"] != 1 {
		t.Errorf("audit %v", n)
	}
}

// TestHarvestAPI: programs add, follow, run and remove sources.
func TestHarvestAPI(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	prog := d.signedIn(t, "ada", store.RoleAdministrator).program("documents")
	made := prog.exchange(http.MethodPost, "/harvests", `{"url":"https://repository.example/oai","library":"theses","every":24}`,
		http.StatusCreated)
	if made["id"] != "repository.example" || made["kind"] != "oai" || made["every"] != "24h0m0s" {
		t.Errorf("made %v", made)
	}
	prog.exchange(http.MethodPost, "/harvests", `{"url":"https://repository.example/oai","library":"theses"}`, http.StatusConflict)
	d.source(t, "oslo")
	if got := prog.exchange(http.MethodGet, "/harvests?limit=1", "", http.StatusOK); got["next"] == nil ||
		len(entries(got["harvests"])) != 1 {
		t.Errorf("list %v", got)
	}
	got := prog.exchange(http.MethodGet, "/harvests/oslo/records?limit=2", "", http.StatusOK)
	more := prog.exchange(http.MethodGet, "/harvests/oslo/records?limit=2&cursor="+got["next"].(string), "", http.StatusOK)
	if len(entries(got["records"])) != 2 || len(entries(more["records"])) != 1 || more["next"] != nil {
		t.Errorf("records %v, then %v", got, more)
	}
	prog.exchange(http.MethodPost, "/harvests/oslo/run?whole=true", "", http.StatusAccepted)
	prog.exchange(http.MethodDelete, "/harvests/oslo", "", http.StatusNoContent)
	prog.exchange(http.MethodGet, "/harvests/oslo", "", http.StatusNotFound)
	prog.exchange(http.MethodGet, "/harvests/oslo/records", "", http.StatusNotFound)
}

// TestWorks: a source is shown with the work of which it is a text, and the identifiers of the work are the only links; two
// texts of one work are reported as the same.
func TestWorks(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	ada := d.signedIn(t, "ada", store.RoleAdministrator)
	if err := d.store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "copies", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := d.site.Ingest(t.Context(), "copies", func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: "copy.txt", Title: "Folios again", Text: folios}, nil)
	}, func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
	doi := concordat.WorkID{Scheme: concordat.SchemeDOI, Value: "10.5072/f"}
	for lib, works := range map[concordat.LibraryID]map[concordat.DocumentID]concordat.Work{
		"theses": {"folios.txt": {Creators: []concordat.Creator{{Name: "Roe <Jane>", ORCID: "0000-0002-1825-0097"}}, Date: "2019-03",
			License: "https://creativecommons.org/licenses/by/4.0/", IDs: []concordat.WorkID{doi}, Page: "https://repository.example/7"}},
		"copies": {"copy.txt": {IDs: []concordat.WorkID{doi}, License: "all rights reserved", Page: "javascript:alert(1)"}}} {
		if err := d.store.Harvest.PutWorks(t.Context(), lib, works); err != nil {
			t.Fatal(err)
		}
	}
	id := d.checkedBy(t, ada, "essay", folios)
	page := ada.get("/checks/"+string(id), http.StatusOK)
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

// TestOwnWorkProposed: a source whose author has the ORCID iD of the submission's is proposed as the author's own. An officer
// dismisses the proposal, undoes that, and accepts it; each step is logged, and dismissing does not change a verdict.
func TestOwnWorkProposed(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	ada := d.signedIn(t, "ada", store.RoleAdministrator)
	roe := concordat.Creator{Name: "Roe, Jane", ORCID: "0000-0002-1825-0097"}
	if err := d.store.Harvest.PutWorks(t.Context(), "theses", map[concordat.DocumentID]concordat.Work{
		"folios.txt": {Creators: []concordat.Creator{roe}}}); err != nil {
		t.Fatal(err)
	}
	ada.upload(http.StatusOK, url.Values{"title": {"essay"}, "text": {folios}, "author": {"J. Roe (0000-0002-1825-0097)"}})
	id := d.await(t)["essay"]
	at := "/checks/" + string(id)
	shows := func(page string, proposed bool) {
		t.Helper()
		if got := strings.Contains(page, "Probably the author&#39;s own earlier work"); got != proposed ||
			strings.Contains(page, `value="dismiss-own-work"`) != proposed {
			t.Errorf("proposed %v, want %v:\n%s", got, proposed, page)
		}
	}
	shows(ada.get(at, http.StatusOK), true)
	ada.post(at+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"discuss"}, "text": {"read"}})
	rules := func(action string) string {
		return ada.post(at+"/rules", http.StatusOK, url.Values{"action": {action}, "site": {"here"}, "library": {"theses"},
			"document": {"folios.txt"}})
	}
	page := rules("dismiss-own-work")
	shows(page, false)
	if !strings.Contains(page, "not the author’s earlier work, although proposed") || strings.Contains(page, "given on other figures") {
		t.Errorf("dismissed:\n%s", page)
	}
	shows(ada.post(at+"/rules", http.StatusOK, url.Values{"action": {"undo"}}), true)
	rules("dismiss-own-work")
	page = rules("own-work")
	shows(page, false)
	if !strings.Contains(page, `value="not-own-work"`) {
		t.Errorf("accepted:\n%s", page)
	}
	shows(rules("not-own-work"), true)
}

func entries(v any) []any {
	l, _ := v.([]any)
	return l
}
