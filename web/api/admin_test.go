package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestAdminAPI: programs of administrators and auditors can read what the pages show.
func TestAdminAPI(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.SignedIn(t, "adam", store.RoleAdministrator).Upload(http.StatusOK, nil, "one.txt", webtest.Folios)
	d.SignedIn(t, "sue", store.RoleSubmitter)
	d.SignedIn(t, "axel", store.RoleAuditor)
	token := func(who string) string {
		secret := "api-of-" + who
		if err := d.Store.People.PutToken(t.Context(), secret, store.Token{Purpose: store.PurposeAPI, Account: who, Name: "t",
			Scopes: []string{"read", "check", "documents", "erase"}, Made: time.Now(), Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	adam, sue, axel := token("adam"), token("sue"), token("axel")
	ask := func(token, method, path, body string, want int) string {
		t.Helper()
		p := d.Visitor(t)
		r := p.Request(method, "/api/v1/admin"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		return p.Send(r, want)
	}
	for path, want := range map[string]string{"/health": `"ok":false`, "/storage": `"free_bytes":5368709120`, "/schemes": `"keyed":true`,
		"/settings":           `"hidden":true`,
		"/tasks?state=queued": `"title":"one.txt"`, "/tasks?state=failed": `"tasks":[]`, "/partners": `"partners":[]`,
		"/audit?actor=adam": `"check_submitted"`} {
		for _, who := range []string{adam, axel} {
			if got := ask(who, http.MethodGet, path, "", http.StatusOK); !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
				t.Errorf("%s: %s", path, got)
			}
		}
		ask(sue, http.MethodGet, path, "", http.StatusForbidden)
	}
	ask(adam, http.MethodGet, "/tasks?cursor=-", "", http.StatusBadRequest)
	ask(adam, http.MethodGet, "/partners/NONE/exposure", "", http.StatusNotFound)
	if got := ask(axel, http.MethodPost, "/audit/verify", "", http.StatusOK); !strings.Contains(got, `"entries":`) {
		t.Errorf("verify: %s", got)
	}
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	ask(adam, http.MethodPost, "/tasks/"+string(tasks[0].ID)+"/retry", "", http.StatusConflict)
	if err := d.Store.Checks.CancelTask(t.Context(), tasks[0].ID, store.Cause{Detail: "no"}); err != nil {
		t.Fatal(err)
	}
	ask(sue, http.MethodPost, "/tasks/"+string(tasks[0].ID)+"/retry", "", http.StatusForbidden)
	if got := ask(adam, http.MethodPost, "/tasks/"+string(tasks[0].ID)+"/retry", "", http.StatusOK); !strings.Contains(got,
		`"state":"queued"`) {
		t.Errorf("retry: %s", got)
	}
	ask(sue, http.MethodPost, "/libraries", `{"id":"mine"}`, http.StatusForbidden)
	ask(adam, http.MethodPost, "/libraries", `{"id":"more","title":"More"}`, http.StatusOK)
	ask(adam, http.MethodDelete, "/libraries/more", "", http.StatusNoContent)
	ask(adam, http.MethodDelete, "/libraries/more", "", http.StatusNotFound)
}
