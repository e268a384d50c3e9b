package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestInboxGroups: a batch or an archive is one row in the list of checks and leads to its own list. Users who see every report can sort
// and filter the list by figures from the reports, and its address contains the selection.
func TestInboxGroups(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga, sue := d.SignedIn(t, "olga", store.RoleOfficer), d.SignedIn(t, "sue", store.RoleSubmitter)
	d.CheckedBy(t, olga, "copied essay", webtest.Folios)
	d.CheckedBy(t, olga, "honest essay", keeper)
	call := olga.HandBatch(http.StatusOK, url.Values{"title": {"spring call"}},
		"ann.txt", ledger+"One.", "bob.txt", ledger+"Two.", "cy.txt", keeper)
	d.AwaitBatch(t, call)
	batch := strings.TrimPrefix(call, "/batches/")
	olga.Upload(http.StatusOK, url.Values{}, "two essays.many", "x y")
	archive := string(d.Await(t)["two essays.many"])

	rows := func(p *webtest.Person, query string) (titles []string) {
		t.Helper()
		page := p.Get("/checks?"+query, http.StatusOK)
		for _, part := range strings.Split(page, `<th scope="row">`)[1:] {
			_, title, _ := strings.Cut(part, "<bdi>")
			title, _, _ = strings.Cut(title, "</bdi>")
			titles = append(titles, title)
		}
		return titles
	}
	for query, want := range map[string]string{
		"":                                      "two essays.many, spring call, honest essay, copied essay",
		"sort=title":                            "copied essay, honest essay, spring call, two essays.many",
		"sort=share":                            "spring call, copied essay, honest essay, two essays.many",
		"least=50":                              "spring call, copied essay",
		"in=" + batch + "&sort=title":           "ann.txt, bob.txt, cy.txt",
		"in=" + batch + "&least=101&sort=title": "ann.txt, bob.txt, cy.txt",
		"in=" + archive + "&sort=title":         "x, y",
		"in=" + archive + "&least=50":           "",
		"from=3":                                "copied essay",
	} {
		if got := strings.Join(rows(olga, query), ", "); got != want {
			t.Errorf("%q: %s; want %s", query, got, want)
		}
	}
	page := olga.Get("/checks?sort=share&least=10", http.StatusOK)
	olga.Wants(page, `<option value="share" selected>`, `<option value="10" selected>`,
		`href="/checks?in=`+batch+`&amp;least=10&amp;sort=share"`,
		"Batch: ", "3 documents", "1 to 2 of 2", "view=new")
	olga.Wants(olga.Get("/checks", http.StatusOK), "Archive: ", "2 documents", "1 to 4 of 4")
	olga.Wants(olga.Get("/checks?in="+batch, http.StatusOK), "<h1><bdi>spring call</bdi></h1>", `href="/batches/`+batch+`"`, "1 to 3 of 3")
	olga.Get("/checks?in=nothing", http.StatusNotFound)
	sue.Get("/checks?in="+batch, http.StatusNotFound)
	sue.Get("/checks?in="+archive, http.StatusNotFound)
	// Sorting and filtering reveals nothing to users who may not see the figures.
	d.CheckedBy(t, sue, "a copy", webtest.Folios)
	d.CheckedBy(t, sue, "own words", keeper)
	if got := strings.Join(rows(sue, "sort=share&least=50"), ", "); got != "own words, a copy" {
		t.Errorf("a submitter's list: %s", got)
	}
	if page := sue.Get("/checks", http.StatusOK); strings.Contains(page, `value="share"`) || strings.Contains(page, `id="least"`) {
		t.Error("a submitter can sort by the share")
	}
}
