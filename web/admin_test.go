package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestAdminTasks: a failed task can be restarted, filters restrict the list, and an auditor cannot change a task.
func TestAdminTasks(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	adam.Upload(http.StatusOK, nil, "one.txt", webtest.Folios)
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := "/admin/tasks/" + string(tasks[0].ID)
	adam.Post(path, http.StatusConflict, url.Values{"action": {"retry"}})
	adam.Post(path, http.StatusBadRequest, url.Values{"action": {"dance"}})
	if page := adam.Post(path, http.StatusOK, url.Values{"action": {"cancel"}}); !strings.Contains(page, "Cancelled by adam.") {
		t.Error("not cancelled")
	}
	if page := adam.Get("/admin/tasks?state=queued", http.StatusOK); strings.Contains(page, "one.txt") {
		t.Error("a failed task among the queued ones")
	}
	if page := adam.Get("/admin/tasks?state=failed&owner=adam", http.StatusOK); !strings.Contains(page, "one.txt") {
		t.Error("the failed task is not found")
	}
	d.SignedIn(t, "axel", store.RoleAuditor).Post(path, http.StatusForbidden, url.Values{"action": {"retry"}})
	adam.Post(path, http.StatusOK, url.Values{"action": {"retry"}})
	if now, err := d.Store.Checks.Task(t.Context(), tasks[0].ID); err != nil || now.State != concordat.TaskQueued {
		t.Errorf("after the retry %+v, %v", now, err)
	}
}

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
	adam.Post(path, http.StatusOK, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"counts"}}) // empty: no change
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
