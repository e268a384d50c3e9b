package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
)

// TestWebhooksOfOthers: for accounts that do not own it, a webhook does not exist in any request; in particular, its secret is neither
// changed nor revealed. Only administrators have access to other people's webhooks.
func TestWebhooksOfOthers(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.SignedIn(t, "ada", store.RoleOfficer)
	h, err := d.Store.Webhooks.CreateHook(t.Context(), store.Hook{Account: "ada", URL: "https://ada.example/",
		Kinds: []store.EventKind{store.EventCheckDone}})
	if err == nil {
		err = d.Store.Webhooks.PingHook(t.Context(), h.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	state := func() (store.Hook, []store.Delivery) {
		t.Helper()
		now, err := d.Store.Webhooks.Hook(t.Context(), h.ID)
		if err != nil {
			t.Fatal(err)
		}
		ds, err := d.Store.Webhooks.Deliveries(t.Context(), h.ID, "", 0, 0)
		if err != nil || len(ds) != 1 {
			t.Fatalf("%d deliveries, %v", len(ds), err)
		}
		return now, ds
	}
	hook, deliveries := state()
	eve := d.SignedIn(t, "eve", store.RoleOfficer).Program(people.Scopes...)
	one := fmt.Sprintf("/deliveries/%d", deliveries[0].Seq)
	for _, x := range []struct{ method, path, body string }{
		{"GET", "", ""}, {"PATCH", "", `{"title":"mine"}`}, {"DELETE", "", ""}, {"POST", "/rotate", ""}, {"POST", "/ping", ""},
		{"GET", "/deliveries", ""}, {"GET", one, ""}, {"POST", one + "/replay", ""}, {"POST", "/replay", `{"state":"dead"}`},
	} {
		eve.JSON(x.method, "/api/v1/webhooks/"+string(h.ID)+x.path, x.body, http.StatusNotFound, nil)
		now, ds := state()
		if diff := cmp.Diff(hook, now) + cmp.Diff(deliveries, ds); diff != "" {
			t.Errorf("%s %s changed it: %s", x.method, x.path, diff)
		}
	}
	var turned struct{ Secret string }
	root := d.SignedIn(t, "root", store.RoleAdministrator).Program(people.Scopes...)
	if root.JSON("POST", "/api/v1/webhooks/"+string(h.ID)+"/rotate", "", http.StatusOK, &turned); turned.Secret == "" {
		t.Error("an administrator is not told the new secret")
	}
}

// TestCursors: every paginated list rejects an invalid cursor and a cursor of another list.
func TestCursors(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.AddFinished(t, "one", "sue", webtest.Thesis(t, 20_000, 10, 5))
	ada := d.SignedIn(t, "ada", store.RoleAdministrator).Program(people.Scopes...)
	for i := range 2 {
		ada.JSON("POST", "/api/v1/checks/one/comments", fmt.Sprintf(`{"text":"comment %d"}`, i), http.StatusOK, nil)
		ada.JSON("POST", "/api/v1/checks/one/rules", fmt.Sprintf(`{"action":"set","set":{"min_characters":%d}}`, i+1), http.StatusOK, nil)
	}
	lists := []string{"/checks/one/notes", "/checks/one/rules/history", "/libraries/theses/documents", "/checks"}
	next := map[string]string{}
	for _, list := range lists {
		var page struct{ Next string }
		ada.JSON("GET", "/api/v1"+list+"?limit=1", "", http.StatusOK, &page)
		next[list] = page.Next
	}
	if next[lists[0]] == "" || next[lists[1]] == "" {
		t.Fatalf("the lists have no second page: %q", next)
	}
	for _, list := range lists {
		ada.JSON("GET", "/api/v1"+list+"?cursor=!", "", http.StatusBadRequest, nil)
		for other, cursor := range next {
			want := http.StatusOK
			if other != list {
				want = http.StatusBadRequest
			}
			if cursor != "" {
				ada.JSON("GET", "/api/v1"+list+"?limit=1&cursor="+cursor, "", want, nil)
			}
		}
	}
}

// TestNothingToDecide: a check without a report has no current or past rules, and an unreadable verdict is not shown as an empty one.
func TestNothingToDecide(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleOfficer).Program("read", "check", "review")
	if err := d.Store.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: "later", Title: "later", Made: time.Now()},
		Owner: "ada"}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/rules", "/rules/history"} {
		ada.JSON("GET", "/api/v1/checks/later"+path, "", http.StatusNotFound, nil)
	}
	d.AddFinished(t, "one", "sue", webtest.Thesis(t, 20_000, 10, 5))
	ada.JSON("GET", "/api/v1/checks/one/verdict", "", http.StatusNotFound, nil)
	ada.JSON("POST", "/api/v1/checks/one/verdict", `{"verdict":"clear","text":"nothing"}`, http.StatusOK, nil)
	d.SQL(t, `UPDATE review SET data = '5' WHERE kind = 'verdict'`)
	ada.JSON("GET", "/api/v1/checks/one/verdict", "", http.StatusInternalServerError, nil)
}
