package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/store"
)

// TestInboxGroups: a batch or an archive is one row in the list of checks and leads to its own list; users who see every report can
// sort and filter the list by what reports say, and its address keeps the choice.
func TestInboxGroups(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	olga, sue := d.signedIn(t, "olga", store.RoleOfficer), d.signedIn(t, "sue", store.RoleSubmitter)
	d.checkedBy(t, olga, "copied essay", folios)
	d.checkedBy(t, olga, "honest essay", keeper)
	call := olga.handBatch(http.StatusOK, url.Values{"title": {"spring call"}},
		"ann.txt", ledger+"One.", "bob.txt", ledger+"Two.", "cy.txt", keeper)
	d.awaitBatch(t, call)
	batch := strings.TrimPrefix(call, "/batches/")
	olga.upload(http.StatusOK, url.Values{}, "two essays.many", "x y")
	archive := string(d.await(t)["two essays.many"])

	rows := func(p *person, query string) (titles []string) {
		t.Helper()
		page := p.get("/checks?"+query, http.StatusOK)
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
	page := olga.get("/checks?sort=share&least=10", http.StatusOK)
	olga.wants(page, `<option value="share" selected>`, `<option value="10" selected>`,
		`href="/checks?in=`+batch+`&amp;least=10&amp;sort=share"`,
		"Batch: ", "3 documents", "1 to 2 of 2", "view=new")
	olga.wants(olga.get("/checks", http.StatusOK), "Archive: ", "2 documents", "1 to 4 of 4")
	olga.wants(olga.get("/checks?in="+batch, http.StatusOK), "<h1><bdi>spring call</bdi></h1>", `href="/batches/`+batch+`"`, "1 to 3 of 3")
	olga.get("/checks?in=nothing", http.StatusNotFound)
	sue.get("/checks?in="+batch, http.StatusNotFound)
	sue.get("/checks?in="+archive, http.StatusNotFound)
	// Users who may not see what reports say cannot learn it from sorting or filtering.
	d.checkedBy(t, sue, "a copy", folios)
	d.checkedBy(t, sue, "own words", keeper)
	if got := strings.Join(rows(sue, "sort=share&least=50"), ", "); got != "own words, a copy" {
		t.Errorf("a submitter's list: %s", got)
	}
	if page := sue.get("/checks", http.StatusOK); strings.Contains(page, `value="share"`) || strings.Contains(page, `id="least"`) {
		t.Error("a submitter can sort by the share")
	}
}
