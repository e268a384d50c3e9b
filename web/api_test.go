package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/store"
)

// program makes a token on the account page and returns a program that uses it.
func (p *person) program(scopes ...string) *program {
	p.t.Helper()
	fields := url.Values{"name": {"portal <1>"}, "scope": scopes}
	if slices.Contains(scopes, "inbox") {
		fields.Set("origins", "https://repository.example")
	}
	return p.programOf(fields)
}

// programOf makes a token from the fields of a form.
func (p *person) programOf(fields url.Values) *program {
	p.t.Helper()
	page := p.post("/account/tokens", http.StatusOK, fields)
	token := regexp.MustCompile(`concordat_[A-Z2-7]+`).FindString(page)
	if token == "" || strings.Contains(page, "<1>") {
		p.t.Fatalf("no token, or markup, in\n%s", page)
	}
	return &program{p.t, p.base, token}
}

// program is a client of the HTTP interface.
type program struct {
	t           *testing.T
	base, token string
}

// call sends a request, expects a status and decodes the answer into out.
func (p *program) call(method, path string, want int, out any, change ...func(*http.Request)) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	for _, c := range change {
		c(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.StatusCode != want {
		p.t.Errorf("%s %s: %d, want %d: %s", method, path, resp.StatusCode, want, b)
	}
	described(p.t, p.base, r, resp, b)
	if want >= 400 && resp.Header.Get("Content-Type") != "application/problem+json" {
		p.t.Errorf("%s %s: a problem of type %s", method, path, resp.Header.Get("Content-Type"))
	}
	if out != nil {
		if err := json.Unmarshal(b, out); err != nil {
			p.t.Fatalf("%s %s: %v: %s", method, path, err, b)
		}
	}
}

type check struct {
	ID     concordat.TaskID
	State  concordat.State
	Title  string
	Owner  string
	Batch  string
	Report string
	Ahead  *int
}

type checks struct {
	Checks []check
	Next   string
}

type problem struct {
	Type, Detail string
	Status       int
}

// withFiles makes a request submit files, given as alternating names and contents.
func withFiles(key string, files ...string) func(*http.Request) {
	return func(r *http.Request) {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			f, err := m.CreateFormFile("file", files[i])
			if err == nil {
				_, err = io.WriteString(f, files[i+1])
			}
			if err != nil {
				panic(err) // cannot happen with a buffer
			}
		}
		if err := m.Close(); err != nil {
			panic(err)
		}
		r.Header.Set("Content-Type", m.FormDataContentType())
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		r.Body = io.NopCloser(&b)
	}
}

func TestAPI(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	ada := d.signedIn(t, "ada", store.RoleOfficer).program("read", "check")
	var libraries struct{ Libraries []struct{ ID, Title string } }
	ada.call("GET", "/api/v1/libraries", http.StatusOK, &libraries)
	if len(libraries.Libraries) != 1 || libraries.Libraries[0].Title != "All <theses>" {
		t.Errorf("got %+v", libraries)
	}
	var made, again checks
	ada.call("POST", "/api/v1/checks", http.StatusAccepted, &made, withFiles("one", "essay.txt", folios, "broken.bad", "x"))
	ada.call("POST", "/api/v1/checks", http.StatusAccepted, &again, withFiles("one", "essay.txt", folios, "broken.bad", "x"))
	if len(made.Checks) != 2 || made.Checks[0].ID != again.Checks[0].ID || made.Checks[0].Batch == "" || made.Checks[0].Owner != "ada" {
		t.Fatalf("got %+v and again %+v", made, again)
	}
	var p problem
	ada.call("POST", "/api/v1/checks", http.StatusUnprocessableEntity, &p, withFiles("one", "another.txt", folios))
	if p.Type != "urn:concordat:problem:idempotency_key" {
		t.Errorf("got %+v", p)
	}
	ada.call("POST", "/api/v1/checks", http.StatusBadRequest, &p, withFiles("two"))
	ada.call("POST", "/api/v1/checks", http.StatusAccepted, nil, withFiles("two", "now.txt", folios)) // a failed request can be repeated
	d.await(t)

	var list checks
	ada.call("GET", "/api/v1/checks?limit=2", http.StatusOK, &list)
	if len(list.Checks) != 2 || list.Next == "" || list.Checks[0].Title != "now.txt" {
		t.Errorf("got %+v", list)
	}
	ada.call("GET", "/api/v1/checks?limit=2&cursor="+list.Next, http.StatusOK, &list)
	if len(list.Checks) != 1 || list.Checks[0].Title != "essay.txt" {
		t.Errorf("got %+v", list)
	}
	ada.call("GET", "/api/v1/checks?cursor=!", http.StatusBadRequest, &p)
	var one check
	ada.call("GET", "/api/v1/checks/"+string(made.Checks[0].ID), http.StatusOK, &one)
	if one.State != concordat.TaskDone || one.Report == "" {
		t.Fatalf("got %+v", one)
	}
	var report struct {
		Coverage float64
		Evidence []any
	}
	ada.call("GET", one.Report, http.StatusOK, &report)
	if report.Coverage != 1 || len(report.Evidence) != 1 {
		t.Errorf("got %+v", report)
	}
	ada.call("GET", one.Report+"?format=csv", http.StatusOK, nil)
	for _, query := range []string{"?format=docx", "?format="} {
		ada.call("GET", one.Report+query, http.StatusBadRequest, &p)
	}
	ada.call("GET", "/api/v1/checks/"+string(made.Checks[1].ID), http.StatusOK, &one)
	if one.State != concordat.TaskFailed {
		t.Errorf("got %+v", one)
	}
	ada.call("GET", "/api/v1/checks/"+string(made.Checks[1].ID)+"/report", http.StatusNotFound, &p)
}

// TestAPIAccess: scopes, roles, and other people's checks.
func TestAPIAccess(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	officer := d.signedIn(t, "olga", store.RoleOfficer)
	all := officer.program("read", "check")
	reader := officer.program("read")
	sue := d.signedIn(t, "sue", store.RoleSubmitter).program("read", "check")
	auditor := d.signedIn(t, "axel", store.RoleAuditor).program("read", "check")
	var made checks
	all.call("POST", "/api/v1/checks", http.StatusAccepted, &made, withFiles("", "one.txt", "one"))
	id := "/api/v1/checks/" + string(made.Checks[0].ID)
	if made.Checks[0].Ahead == nil {
		t.Errorf("a queued check without a position: %+v", made)
	}
	nobody := &program{t, d.URL, "concordat_GUESS"}
	for _, path := range []string{"/api/v1/libraries", "/api/v1/checks", id, id + "/report"} {
		nobody.call("GET", path, http.StatusUnauthorized, &problem{})
	}
	nobody.call("POST", "/api/v1/checks", http.StatusUnauthorized, &problem{}, withFiles("", "x", "x"))
	nobody.call("GET", "/api/v1/libraries", http.StatusUnauthorized, nil, func(r *http.Request) { r.Header.Del("Authorization") })
	reader.call("GET", id, http.StatusOK, nil)
	reader.call("POST", "/api/v1/checks", http.StatusForbidden, &problem{}, withFiles("", "x", "x"))
	reader.call("POST", id+"/cancel", http.StatusForbidden, &problem{})
	auditor.call("GET", id, http.StatusOK, nil)
	auditor.call("POST", "/api/v1/checks", http.StatusForbidden, &problem{}, withFiles("", "x", "x"))
	sue.call("GET", id, http.StatusNotFound, &problem{})
	sue.call("GET", id+"/report", http.StatusNotFound, &problem{})
	sue.call("POST", id+"/cancel", http.StatusNotFound, &problem{})
	var list checks
	sue.call("GET", "/api/v1/checks", http.StatusOK, &list)
	if len(list.Checks) != 0 {
		t.Errorf("a submitter sees %+v", list)
	}
	var one check
	all.call("POST", id+"/cancel", http.StatusOK, &one)
	if one.State != concordat.TaskFailed {
		t.Errorf("got %+v", one)
	}
	page := officer.get("/account", http.StatusOK)
	for _, token := range regexp.MustCompile(`name="revoke" value="([0-9a-f]{32})"`).FindAllStringSubmatch(page, -1) {
		officer.post("/account/tokens", http.StatusOK, url.Values{"revoke": {token[1]}})
	}
	all.call("GET", id, http.StatusUnauthorized, &problem{})
}

// TestOtherMethods: an API path answers an unsupported method with a 405 problem that names the supported ones, and an unknown
// path with a 404 problem; neither answer is ever a page.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	prog := d.signedIn(t, "ada", store.RoleAdministrator).program("read")
	for _, c := range []struct {
		method, path, allow string
		status              int
	}{{"TRACE", "/checks/x", "GET", 405}, {"PATCH", "/checks/x/rules", "GET, PUT, POST", 405}, {"GET", "/checks/x/cancel", "POST", 405},
		{"DELETE", "/version", "GET", 405}, {"GET", "/nothing/here", "", 404}, {"POST", "/", "", 404}} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, d.URL+"/api/v1"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+prog.token)
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
	prog.call("GET", "/api/v1/checks?from=", http.StatusBadRequest, nil)
}
