package checks_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat"
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
	d.CheckedBy(t, olga, "honest essay", webtest.Keeper)
	call := olga.HandBatch(http.StatusOK, url.Values{"title": {"spring call"}},
		"ann.txt", webtest.Ledger+"One.", "bob.txt", webtest.Ledger+"Two.", "cy.txt", webtest.Keeper)
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
	d.CheckedBy(t, sue, "own words", webtest.Keeper)
	if got := strings.Join(rows(sue, "sort=share&least=50"), ", "); got != "own words, a copy" {
		t.Errorf("a submitter's list: %s", got)
	}
	if page := sue.Get("/checks", http.StatusOK); strings.Contains(page, `value="share"`) || strings.Contains(page, `id="least"`) {
		t.Error("a submitter can sort by the share")
	}
}

// TestInboxUnderway: a batch in progress is named above the list of checks, which does not contain its documents yet, to users who may see
// it, and only above the unfiltered list.
func TestInboxUnderway(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	sue, sam := d.SignedIn(t, "sue", store.RoleSubmitter), d.SignedIn(t, "sam", store.RoleSubmitter)
	call := store.Batch{ID: "call", Title: "spring call", Owner: "sue", Runner: "another"}
	if err := d.Store.Batches.CreateBatch(t.Context(), call, nil); err != nil {
		t.Fatal(err)
	}
	const row = `Batch: <a href="/batches/call"><bdi>spring call</bdi></a> <span class="state queued">`
	for i, c := range []struct {
		by    *webtest.Person
		query string
		want  bool
	}{{olga, "", true}, {sue, "", true}, {sam, "", false}, {olga, "?q=spring", false}} {
		if got := strings.Contains(c.by.Get("/checks"+c.query, http.StatusOK), row); got != c.want {
			t.Errorf("case %d: the batch is named %v, want %v", i, got, c.want)
		}
	}
	if err := d.Store.Batches.FinishBatch(t.Context(), "call", concordat.TaskDone, store.Cause{}, nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(olga.Get("/checks", http.StatusOK), "spring call") {
		t.Error("a batch that is done is still named")
	}
}
