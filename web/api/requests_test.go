package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
)

// TestRequestsByProgram lists requests, decides on them and asks partners through the API.
func TestRequestsByProgram(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.Partner.State.Store(concordat.DisclosureRefused)
	d.AddRequest(t, "one", time.Now().Add(time.Hour))
	d.AddFinished(t, "check", "sue", webtest.AtPartner())
	job := concordat.JobID([]byte(strings.Repeat("\x01", 16)))
	if err := d.Store.Asks.PutAsk(t.Context(), store.Ask{Job: job, Task: "check", Site: "SOUTH",
		Epoch: concordat.Epoch{Federation: "f", Number: 1}, Made: time.Now()}); err != nil {
		t.Fatal(err)
	}
	officer := d.SignedIn(t, "olga", store.RoleOfficer).Program("read", "check", "review")
	sue := d.SignedIn(t, "sue", store.RoleSubmitter).Program("read", "check", "review")
	type one struct {
		ID, Direction, State, Words, Title, Check string
		Passages                                  []string
	}
	var list struct{ Requests []one }
	officer.JSON("GET", "/api/v1/requests", "", http.StatusOK, &list)
	if len(list.Requests) != 1 || list.Requests[0].Direction != "in" || list.Requests[0].Title != "On folios" ||
		list.Requests[0].Passages != nil {
		t.Errorf("requests %+v", list)
	}
	d.AddRequest(t, "two", time.Now().Add(time.Hour))
	var paged struct {
		Requests []one
		Next     string
	}
	officer.JSON("GET", "/api/v1/requests?limit=1", "", http.StatusOK, &paged)
	if len(paged.Requests) != 1 || paged.Requests[0].ID != "two" || paged.Next != "two" {
		t.Errorf("first page %+v", paged)
	}
	paged.Next, paged.Requests = "", nil
	officer.JSON("GET", "/api/v1/requests?limit=5&cursor=two", "", http.StatusOK, &paged)
	if len(paged.Requests) != 1 || paged.Requests[0].ID != "one" || paged.Next != "" {
		t.Errorf("second page %+v", paged)
	}
	var got one
	officer.JSON("GET", "/api/v1/requests/one", "", http.StatusOK, &got)
	if len(got.Passages) != 1 || got.Passages[0] != webtest.Folios[4:16] {
		t.Errorf("request %+v", got)
	}
	officer.JSON("POST", "/api/v1/requests/one/decision", `{"action":"refuse"}`, http.StatusBadRequest, nil)
	officer.JSON("POST", "/api/v1/requests/one/decision", `{"action":"refuse","words":"no"}`, http.StatusOK, &got)
	if got.State != "refused" || got.Words != "no" {
		t.Errorf("decided %+v", got)
	}
	officer.JSON("POST", "/api/v1/requests/none/decision", `{"action":"approve"}`, http.StatusNotFound, nil)
	var asked struct{ Requests []report.Disclosure }
	officer.JSON("POST", "/api/v1/checks/check/requests", `{"start":0,"end":20,"level":"passage","reason":"a case","contact":"dean"}`,
		http.StatusOK, &asked)
	if len(asked.Requests) != 1 || asked.Requests[0].State != concordat.DisclosureRefused {
		t.Errorf("asked %+v", asked)
	}
	list.Requests = nil
	officer.JSON("GET", "/api/v1/requests?state=refused", "", http.StatusOK, &list)
	if len(list.Requests) != 2 || list.Requests[0].Check != "check" {
		t.Errorf("requests %+v", list)
	}
	for _, path := range []string{"/api/v1/requests", "/api/v1/requests/one"} {
		sue.JSON("GET", path, "", http.StatusForbidden, nil)
	}
	sue.JSON("POST", "/api/v1/requests/one/decision", `{"action":"approve"}`, http.StatusForbidden, nil)
	sue.JSON("POST", "/api/v1/checks/check/requests", `{"start":0,"end":20,"level":"overlap"}`, http.StatusForbidden, nil)
}
