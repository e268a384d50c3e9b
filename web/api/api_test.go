package api_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
)

type checks struct {
	Checks []webtest.Check
	Next   string
}

func TestAPI(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ada := d.SignedIn(t, "ada", store.RoleOfficer).Program("read", "check")
	var libraries struct{ Libraries []struct{ ID, Title string } }
	ada.Call("GET", "/api/v1/libraries", http.StatusOK, &libraries)
	if len(libraries.Libraries) != 1 || libraries.Libraries[0].Title != "All <theses>" {
		t.Errorf("got %+v", libraries)
	}
	var made, again checks
	ada.Call("POST", "/api/v1/checks", http.StatusAccepted, &made, webtest.WithFiles("one", "essay.txt", webtest.Folios, "broken.bad", "x"))
	ada.Call("POST", "/api/v1/checks", http.StatusAccepted, &again, webtest.WithFiles("one", "essay.txt", webtest.Folios, "broken.bad", "x"))
	if len(made.Checks) != 2 || made.Checks[0].ID != again.Checks[0].ID || made.Checks[0].Batch == "" || made.Checks[0].Owner != "ada" {
		t.Fatalf("got %+v and again %+v", made, again)
	}
	var p webtest.Problem
	ada.Call("POST", "/api/v1/checks", http.StatusUnprocessableEntity, &p, webtest.WithFiles("one", "another.txt", webtest.Folios))
	if p.Type != "urn:concordat:problem:idempotency_key" {
		t.Errorf("got %+v", p)
	}
	ada.Call("POST", "/api/v1/checks", http.StatusBadRequest, &p, webtest.WithFiles("two"))
	ada.Call("POST", "/api/v1/checks", http.StatusAccepted, nil, webtest.WithFiles("two", "now.txt",
		webtest.Folios)) // a failed request can be repeated
	d.Await(t)

	var list checks
	ada.Call("GET", "/api/v1/checks?limit=2", http.StatusOK, &list)
	if len(list.Checks) != 2 || list.Next == "" || list.Checks[0].Title != "now.txt" {
		t.Errorf("got %+v", list)
	}
	ada.Call("GET", "/api/v1/checks?limit=2&cursor="+list.Next, http.StatusOK, &list)
	if len(list.Checks) != 1 || list.Checks[0].Title != "essay.txt" {
		t.Errorf("got %+v", list)
	}
	ada.Call("GET", "/api/v1/checks?cursor=!", http.StatusBadRequest, &p)
	var one webtest.Check
	ada.Call("GET", "/api/v1/checks/"+string(made.Checks[0].ID), http.StatusOK, &one)
	if one.State != concordat.TaskDone || one.Report == "" {
		t.Fatalf("got %+v", one)
	}
	var report struct {
		Coverage float64
		Evidence []any
	}
	ada.Call("GET", one.Report, http.StatusOK, &report)
	if report.Coverage != 1 || len(report.Evidence) != 1 {
		t.Errorf("got %+v", report)
	}
	ada.Call("GET", one.Report+"?format=csv", http.StatusOK, nil)
	for _, query := range []string{"?format=docx", "?format="} {
		ada.Call("GET", one.Report+query, http.StatusBadRequest, &p)
	}
	ada.Call("GET", "/api/v1/checks/"+string(made.Checks[1].ID), http.StatusOK, &one)
	if one.State != concordat.TaskFailed {
		t.Errorf("got %+v", one)
	}
	ada.Call("GET", "/api/v1/checks/"+string(made.Checks[1].ID)+"/report", http.StatusNotFound, &p)
}

// TestAPIAccess: scopes, roles and ownership limit access to the API.
func TestAPIAccess(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	officer := d.SignedIn(t, "olga", store.RoleOfficer)
	all := officer.Program("read", "check")
	reader := officer.Program("read")
	sue := d.SignedIn(t, "sue", store.RoleSubmitter).Program("read", "check")
	auditor := d.SignedIn(t, "axel", store.RoleAuditor).Program("read", "check")
	var made checks
	all.Call("POST", "/api/v1/checks", http.StatusAccepted, &made, webtest.WithFiles("", "one.txt", "one"))
	id := "/api/v1/checks/" + string(made.Checks[0].ID)
	if made.Checks[0].Ahead == nil {
		t.Errorf("a queued check without a position: %+v", made)
	}
	nobody := &webtest.Program{T: t, Base: d.URL, Token: "concordat_GUESS"}
	for _, path := range []string{"/api/v1/libraries", "/api/v1/checks", id, id + "/report"} {
		nobody.Call("GET", path, http.StatusUnauthorized, &webtest.Problem{})
	}
	nobody.Call("POST", "/api/v1/checks", http.StatusUnauthorized, &webtest.Problem{}, webtest.WithFiles("", "x", "x"))
	nobody.Call("GET", "/api/v1/libraries", http.StatusUnauthorized, nil, func(r *http.Request) { r.Header.Del("Authorization") })
	reader.Call("GET", id, http.StatusOK, nil)
	reader.Call("POST", "/api/v1/checks", http.StatusForbidden, &webtest.Problem{}, webtest.WithFiles("", "x", "x"))
	reader.Call("POST", id+"/cancel", http.StatusForbidden, &webtest.Problem{})
	auditor.Call("GET", id, http.StatusOK, nil)
	auditor.Call("POST", "/api/v1/checks", http.StatusForbidden, &webtest.Problem{}, webtest.WithFiles("", "x", "x"))
	sue.Call("GET", id, http.StatusNotFound, &webtest.Problem{})
	sue.Call("GET", id+"/report", http.StatusNotFound, &webtest.Problem{})
	sue.Call("POST", id+"/cancel", http.StatusNotFound, &webtest.Problem{})
	var list checks
	sue.Call("GET", "/api/v1/checks", http.StatusOK, &list)
	if len(list.Checks) != 0 {
		t.Errorf("a submitter sees %+v", list)
	}
	var one webtest.Check
	all.Call("POST", id+"/cancel", http.StatusOK, &one)
	if one.State != concordat.TaskFailed {
		t.Errorf("got %+v", one)
	}
	page := officer.Get("/account", http.StatusOK)
	for _, token := range regexp.MustCompile(`name="revoke" value="([0-9a-f]{32})"`).FindAllStringSubmatch(page, -1) {
		officer.Post("/account/tokens", http.StatusOK, url.Values{"revoke": {token[1]}})
	}
	all.Call("GET", id, http.StatusUnauthorized, &webtest.Problem{})
}

// TestOtherMethods: an API path answers an unsupported method with a 405 problem that lists the supported methods, and an unknown path
// gets a 404 problem; neither answer is a page.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	prog := d.SignedIn(t, "ada", store.RoleAdministrator).Program("read")
	for _, c := range []struct {
		method, path, allow string
		status              int
	}{{"TRACE", "/checks/x", "GET", 405}, {"PATCH", "/checks/x/rules", "GET, PUT, POST", 405}, {"GET", "/checks/x/cancel", "POST", 405},
		{"DELETE", "/version", "GET", 405}, {"GET", "/nothing/here", "", 404}, {"POST", "/", "", 404}} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, d.URL+"/api/v1"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+prog.Token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status || answer.Header.Get("Allow") != c.allow ||
			answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %s, Allow %q, %s", c.method, c.path, answer.Status, answer.Header.Get("Allow"), answer.Header.Get("Content-Type"))
		}
	}
	prog.Call("GET", "/api/v1/checks?from=", http.StatusBadRequest, nil)
}
