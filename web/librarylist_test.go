package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages"
)

// TestFailuresFirst: a library states how many files of a day were added and how many failed, lists each failed file with the reason at
// the top, and retries it on request; other libraries are not affected.
func TestFailuresFirst(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga, aud := d.SignedIn(t, "olga", store.RoleOfficer), d.SignedIn(t, "aud", store.RoleAuditor)
	olga.SendScript("/libraries/theses/documents", "a", http.StatusOK, nil, "good.txt", webtest.Folios+" More.", "same.txt",
		webtest.Folios+" More.",
		"broken.bad", "x", "x\u202egnp.txt", "override "+webtest.Folios)
	d.Await(t)
	page := olga.Get("/libraries/theses", http.StatusOK)
	olga.Wants(page, "3 added, <strong", "1 failed", "broken.bad", "The file is damaged", "Retry all that failed", "same text as",
		"x\ufffdgnp.txt")
	if strings.Contains(page, "\u202e") {
		t.Error("a name turns the order of letters")
	}
	if i, j := strings.Index(page, "broken.bad"), strings.Index(page, "good.txt"); i > j {
		t.Error("what failed is not said first")
	}
	failed, err := d.Store.Checks.FilterTasks(t.Context(), store.TaskFilter{States: []concordat.State{concordat.TaskFailed}}, 0, 0)
	if err != nil || len(failed) != 1 {
		t.Fatalf("failed %v: %v", failed, err)
	}
	id := url.Values{"task": {string(failed[0].ID)}}
	aud.Post("/libraries/theses/additions", http.StatusForbidden, id)
	if err := d.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "other"}); err != nil {
		t.Fatal(err)
	}
	olga.Post("/libraries/other/additions", http.StatusNotFound, id)
	olga.Post("/libraries/theses/additions", http.StatusOK, id)
	olga.Post("/libraries/theses/additions", http.StatusOK, nil) // all of them; there may be none
	d.Await(t)
	if again, err := d.Store.Checks.Task(t.Context(), failed[0].ID); err != nil || again.Attempts < 2 {
		t.Errorf("it was not begun again: %+v, %v", again, err)
	}
	olga.Wants(olga.Get("/libraries/theses/additions?state=failed", http.StatusOK), "broken.bad")
	if strings.Contains(olga.Get("/libraries/theses/additions?state=failed", http.StatusOK), "good.txt") {
		t.Error("the list of what failed has what did not")
	}
}

// TestFindDocuments: documents of a library can be found by name, title and author, in the requested order; several can be deleted at
// once, or none if one does not exist.
func TestFindDocuments(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	olga.SendScript("/libraries/theses/documents", "a", http.StatusOK, nil, "anna.txt", webtest.Folios+" One.", "50%_b.txt",
		webtest.Folios+" One two three.")
	d.Await(t)
	for q, want := range map[string][]string{"q=ANNA": {"anna.txt"}, "q=%25_": {"50%_b.txt"}, "q=": {"50%_b.txt", "anna.txt", "folios.txt"},
		"sort=nonsense&page=-4": {"50%_b.txt", "anna.txt", "folios.txt"}, "q=nothing": nil, "page=7": nil} {
		page := olga.Get("/libraries/theses?"+q, http.StatusOK)
		var got []string
		for _, name := range []string{"50%_b.txt", "anna.txt", "folios.txt"} {
			if strings.Contains(page, `name="document" value="`+name+`"`) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %q, want %q", q, got, want)
		}
	}
	remove := func(code int, names ...string) {
		olga.Post("/libraries/theses/documents/delete", code, url.Values{"document": names, "reason": {"twice"}})
	}
	remove(http.StatusBadRequest)
	remove(http.StatusNotFound, "anna.txt", "none.txt")
	remove(http.StatusOK, "anna.txt", "50%_b.txt")
	if ds, err := d.Store.Catalogue.Documents(t.Context(), "theses", "", 0); err != nil || len(ds) != 1 {
		t.Errorf("left are %v, %v", ds, err)
	}
}

// TestSessionEnded: a user who submits after the session has ended learns of this and where to sign in; a text keeps its own name.
func TestSessionEnded(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	for _, path := range []string{"/checks", "/libraries/theses/documents"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL+path, strings.NewReader("text=some"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Problem, SignIn string }
		err = json.NewDecoder(answer.Body).Decode(&got)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusUnauthorized || got.SignIn != "/login?next=/checks" ||
			!strings.Contains(got.Problem, "session has ended") {
			t.Errorf("%s: %s, %+v, %v", path, answer.Status, got, err)
		}
	}
}

// TestTooLarge: the API reports that a file is larger than the site accepts, and rejects no other file of the same request.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	prog := olga.Program("check")
	large := strings.Repeat("many words ", 1<<17)
	for _, c := range []struct {
		status int
		files  []string
	}{{http.StatusRequestEntityTooLarge, []string{"large.txt", large}},
		{http.StatusAccepted, []string{"large.txt", large, "small.txt", webtest.Folios}},
		{http.StatusBadRequest, []string{"empty.txt", ""}}} {
		r := olga.Form("/api/v1/checks", nil, c.files...)
		r.Header.Set("Authorization", "Bearer "+prog.Token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%q: %s, want %d", c.files[0], answer.Status, c.status)
		}
	}
}

// TestPurposes: a purpose is selected from those for which partners open libraries, and a check for a purpose without open libraries is
// rejected before it begins.
func TestPurposes(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, true, func(o *web.Options) {
		o.Partners = func(context.Context) ([]pages.Partner, error) {
			return []pages.Partner{{Site: "SOUTH", Name: "South", Libraries: []concordat.OpenLibrary{{ID: "theses", Purposes: []string{"thesis"}},
				{ID: "calls", Purposes: []string{"grant", "appeal"}}}}, {Site: "WEST", Name: "West"}}, nil
		}
	})
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	page := olga.Get("/checks/new", http.StatusOK)
	olga.Wants(page, `<select id="purpose"`, "<option>appeal</option>", "<option>grant</option>", "<option>thesis</option>")
	for _, c := range []struct {
		partner, purpose string
		status           int
	}{{"SOUTH", "", 400}, {"SOUTH", "grant", 200}, {"SOUTH/theses", "grant", 400}, {"SOUTH/theses", "thesis", 200}, {"WEST", "", 200}} {
		got := olga.Upload(c.status, url.Values{"partner": {c.partner}, "purpose": {c.purpose}}, "essay.txt", webtest.Folios)
		if c.status == 400 && !strings.Contains(got, "opens nothing for this purpose") {
			t.Errorf("%s for %q is refused without the reason", c.partner, c.purpose)
		}
	}
}

// TestLibraryPageGoesOn: while a file is being added, the page of a library always either lists its document or reloads.
func TestLibraryPageGoesOn(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	for i := range 20 {
		name := fmt.Sprintf("file-%02d.txt", i)
		olga.SendScript("/libraries/theses/documents", name, http.StatusOK, nil, name, webtest.Folios+name)
		for {
			page := olga.Get("/libraries/theses", http.StatusOK)
			if strings.Contains(page, "data-refresh") {
				continue
			}
			if _, list, _ := strings.Cut(page, `id="library-documents"`); !strings.Contains(list, "<bdi>"+name) {
				t.Fatalf("the page lists no %s, and is not read again", name)
			}
			break
		}
	}
}
