package libraries_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestLibraryPages: a library is created, filled, changed, shared and deleted through the pages.
func TestLibraryPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	if err := d.Store.Partners.AddPartner(t.Context(), store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card")}); err != nil {
		t.Fatal(err)
	}
	adam, olga, sue := d.SignedIn(t, "adam", store.RoleAdministrator), d.SignedIn(t, "olga", store.RoleOfficer),
		d.SignedIn(t, "sue", store.RoleSubmitter)
	sue.Post("/libraries", http.StatusForbidden, url.Values{"name": {"mine"}})
	olga.Post("/libraries", http.StatusBadRequest, url.Values{"name": {"a/b"}})
	olga.Post("/libraries", http.StatusBadRequest, url.Values{"name": {"new & old!"}})
	olga.Post("/libraries", http.StatusConflict, url.Values{"name": {"theses"}})
	if page := olga.Post("/libraries", http.StatusOK, url.Values{"name": {"new-old"}, "title": {"Papers"}}); !strings.Contains(page,
		"The library is empty") {
		t.Errorf("no page of the empty library:\n%s", page)
	}
	const path = "/libraries/new-old"
	sue.Get(path, http.StatusForbidden)
	got := olga.SendScript(path+"/documents", "k", http.StatusOK, nil, "essay.txt", webtest.Folios)
	if len(got.Checks) != 1 {
		t.Fatalf("got %+v", got)
	}
	olga.SendScript(path+"/documents", "l", http.StatusOK, nil, "broken.bad", "x")
	d.Await(t)
	page := olga.Get(path, http.StatusOK)
	for _, want := range []string{"1 added, <strong", "1 failed", "The file is damaged", `<bdi>essay.txt</bdi></th>`, "1 document<",
		"1 to 1 of 1"} {
		if !strings.Contains(page, want) {
			t.Errorf("the library does not say %q", want)
		}
	}
	olga.Post(path, http.StatusForbidden, url.Values{"action": {"policy"}})
	adam.Post(path, http.StatusBadRequest, url.Values{"action": {"policy"}, "expires": {"soon"}})
	adam.Post(path, http.StatusOK, url.Values{"action": {"policy"}, "title": {"All papers"}, "expires": {"2099-01-02"}, "forward": {"none"},
		"template": {"thesis"}})
	adam.Post(path, http.StatusBadRequest, url.Values{"action": {"share"}, "partner": {"NONE"}, "level": {"counts"}})
	adam.Post(path, http.StatusBadRequest, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"all"}})
	adam.Post(path, http.StatusOK, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"counts"}})
	adam.Post(path, http.StatusBadRequest, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"counts"}, "sentences": {"0"}})
	adam.Post(path, http.StatusOK, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"counts"}, "sentences": {"7000"},
		"purposes": {"thesis, appeal"}, "ship": {"yes"}, "expires": {"2098-01-02"}})
	adam.Post(path, http.StatusOK, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"counts"}}) // empty, so nothing changes
	if x, err := d.Store.Answers.Share(t.Context(), "new-old", "SOUTH"); err != nil || x.Rule.Limits.Sentences != 7000 ||
		len(x.Rule.Purposes) != 2 || !x.Rule.Ship || x.Rule.Expires.IsZero() {
		t.Errorf("share %+v, %v", x, err)
	}
	adam.Post(path, http.StatusOK, url.Values{"action": {"wording"}, "name": {"cover"}, "text": {"I declare that this is mine."}})
	page = adam.Get(path+"/settings", http.StatusOK)
	for _, want := range []string{"All papers", "2099-01-02", `value="none" selected`, "how much matches</td>", "cover <span"} {
		if !strings.Contains(page, want) {
			t.Errorf("the library does not say %q", want)
		}
	}
	if l, err := d.Store.Catalogue.Library(t.Context(), "new-old"); err != nil ||
		l.Policy.Expires.In(time.Local).Format(time.DateOnly) != "2099-01-02" || l.Policy.Template != "thesis" {
		t.Errorf("library %+v, %v", l, err)
	}
	adam.Post(path, http.StatusOK, url.Values{"action": {"unshare"}, "partner": {"SOUTH"}})
	adam.Post(path, http.StatusOK, url.Values{"action": {"unword"}, "name": {"cover"}})
	olga.Post(path+"/documents/delete", http.StatusOK, url.Values{"document": {"essay.txt"}, "reason": {"handed in twice"}})
	if es, err := d.Store.Retention.Erasures(t.Context(), 0, 10); err != nil || len(es) != 1 || es[0].Reason != "handed in twice" ||
		es[0].Receipt == nil {
		t.Errorf("receipts %v: %v", es, err)
	}
	olga.Post(path+"/documents/delete", http.StatusNotFound, url.Values{"document": {"none.txt"}, "reason": {"x"}})
	olga.Post(path+"/documents/delete", http.StatusNotFound, url.Values{"document": {"essay.txt"}})
	adam.Post(path, http.StatusBadRequest, url.Values{"action": {"delete"}, "confirm": {"theses"}})
	adam.Post(path, http.StatusBadRequest, url.Values{"action": {"delete"}, "confirm": {"new-old"}}) // without a reason
	if page := adam.Post(path, http.StatusOK, url.Values{"action": {"delete"}, "confirm": {"new-old"},
		"reason": {"licence ended"}}); !strings.Contains(page, "licence ended") {
		t.Errorf("no receipt:\n%s", page)
	}
	adam.Get(path, http.StatusNotFound)
}

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
	olga.Wants(page, "3 added, <strong", "1 failed", "broken.bad", "The file is damaged", "Retry all failed additions", "same text as",
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

// TestLibraryNames: the permanent name of a library can be used unchanged in addresses and commands, while people see its title.
func TestLibraryNames(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	for _, name := range []string{"My Théses 2024!", "a/b", "..", "a b", ""} {
		page := ada.Post("/libraries", http.StatusBadRequest, url.Values{"name": {name}, "title": {"My Théses 2024!"}})
		ada.Wants(page, "letters, digits, hyphens, dots and underscores", `value="My Théses 2024!"`)
	}
	page := ada.Post("/libraries", http.StatusOK, url.Values{"name": {"theses-2024"}, "title": {"My Théses 2024!"}})
	ada.Wants(page, "<h1>My Théses 2024!")
}
