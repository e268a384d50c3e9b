package web_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat/people"
	"concordat/store"
	"concordat/web"
)

// evil would run if it were written as markup, and would be a formula in a spreadsheet.
const evil = `=cmd|' /C calc'!A0"><script>alert(1)</script><img src=x onerror=alert(1)>`

// TestStoredScript: names, titles and texts that are markup or formulas do no harm where they are shown.
func TestStoredScript(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	olga := d.signedIn(t, "olga", store.RoleOfficer)
	id := d.checkedBy(t, olga, evil, folios+" "+evil)
	olga.post("/checks/"+string(id)+"/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {evil}})
	olga.upload(http.StatusOK, nil, evil+".txt", folios)
	d.await(t)
	live := regexp.MustCompile(`<script>alert|<img src=x`)
	for _, path := range []string{"/checks", "/checks/" + string(id), "/checks/" + string(id) + "/report", "/checks/nothing" +
		url.PathEscape(evil), "/login?next=" + url.QueryEscape(evil)} {
		resp, err := olga.Get(d.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if text := body(t, resp); live.MatchString(text) {
			t.Errorf("%s: markup that somebody handed in is live", path)
		}
		if csp := resp.Header.Get("Content-Security-Policy"); csp == "" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: policy %q", path, csp)
		}
		resp.Body.Close()
	}
	resp, err := olga.Get(d.URL + "/checks/" + string(id) + "/report?format=csv")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Disposition"); strings.ContainsAny(got, "<>\"\r\n") {
		t.Errorf("disposition %q", got)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(body(t, resp), "\ufeff"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				if _, err := strconv.ParseFloat(cell, 64); err != nil {
					t.Errorf("row %d begins a formula: %q", i, cell)
				}
			}
		}
	}
}

// TestTraversal: no path in a request leaves the folders of the site.
func TestTraversal(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	adam := d.signedIn(t, "adam", store.RoleAdministrator)
	for _, path := range []string{"/static/..%2f..%2fweb.go", "/static/%2e%2e/%2e%2e/etc/passwd", "/checks/..%2f..%2fsite.db",
		"/checks/%2e%2e/report",
		"/deletions/..%2f..%2fsite.db", "/checks/a%00b", "/checks/" + strings.Repeat("a", 10_000)} {
		resp, err := adam.Get(d.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if text := body(t, resp); resp.StatusCode == http.StatusOK && !strings.Contains(text, "<main") ||
			strings.Contains(text, "SQLite format") || strings.Contains(text, "package web") || strings.Contains(text, "root:") {
			t.Errorf("%s: %d, %.100q", path, resp.StatusCode, text)
		}
		if resp.StatusCode >= 500 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
		resp.Body.Close()
	}
	adam.upload(http.StatusOK, nil, "../../../escape.txt", "text")
	if m, err := filepath.Glob(filepath.Join(d.dir, "..", "escape*")); err != nil || len(m) > 0 {
		t.Errorf("a file came out: %v, %v", m, err)
	}
}

// TestUploadBombs: too many parts and overlong fields and headers are refused and leave nothing behind.
func TestUploadBombs(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	p := d.signedIn(t, "olga", store.RoleOfficer)
	form := func(fill func(*multipart.Writer)) *http.Request {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		fill(m)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		r := p.request(http.MethodPost, "/checks", &b)
		r.Header.Set("Content-Type", m.FormDataContentType())
		return r
	}
	p.do(form(func(m *multipart.Writer) {
		for i := range 10_000 {
			w, err := m.CreateFormFile("file", fmt.Sprint(i, ".txt"))
			if err == nil {
				_, err = io.WriteString(w, "x")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}), http.StatusBadRequest)
	p.do(form(func(m *multipart.Writer) {
		for range 100_000 {
			if err := m.WriteField("library", "x"); err != nil {
				t.Fatal(err)
			}
		}
	}), http.StatusBadRequest)
	p.do(form(func(m *multipart.Writer) {
		if err := m.WriteField("text", strings.Repeat("x", 5<<20)); err != nil {
			t.Fatal(err)
		}
	}), http.StatusBadRequest)
	p.do(form(func(m *multipart.Writer) {
		h := map[string][]string{"Content-Disposition": {`form-data; name="file"; filename="` + strings.Repeat("x", 1<<20) + `"`}}
		w, err := m.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(w, "x")
		}
		if err != nil {
			t.Fatal(err)
		}
	}), http.StatusOK) // the name is cut
	r := p.request(http.MethodGet, "/checks", nil)
	r.Header.Set("X-Long", strings.Repeat("x", 2<<20))
	resp, err := p.Do(r)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a header of 2 MiB: %d", resp.StatusCode)
		}
	}
	r = p.request(http.MethodPost, "/checks", strings.NewReader("--x\r\nnonsense"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	p.do(r, http.StatusBadRequest)
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) > 1 {
		t.Errorf("%d checks came of it, %v", len(tasks), err)
	}
}

// TestForgedAndReplayed: links and keys work once, only for their purpose, and only from this site's own pages.
func TestForgedAndReplayed(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	link, err := d.web.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimPrefix(link, "/first?key=")
	form := url.Values{"key": {key}, "name": {"ada"}, "password": {"long enough it is"}, "again": {"long enough it is"}}
	p := d.person(t)
	p.post("/join", http.StatusNotFound, form) // a first link cannot be used to join
	p.post("/first", http.StatusOK, form)
	d.person(t).post("/first", http.StatusNotFound, form)
	d.person(t).get(link, http.StatusNotFound)
	for pattern, decision := range routeDecisions { // no page of another site makes a browser act here
		if !strings.HasPrefix(pattern, "POST ") || decision == "" {
			continue
		}
		method, path := filled(pattern, "none")
		r := p.request(method, path, strings.NewReader("x=y"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://evil.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		p.do(r, http.StatusForbidden)
	}
	// A token cannot serve as a session, nor a session as a token.
	prog := p.program("read")
	r := d.person(t).request(http.MethodGet, "/checks", nil)
	r.AddCookie(&http.Cookie{Name: "session", Value: prog.token})
	if page := d.person(t).do(r, http.StatusOK); !strings.Contains(page, "Sign in") {
		t.Error("a token signs in")
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	prog.token = p.Jar.Cookies(u)[0].Value
	prog.call(http.MethodGet, "/api/v1/checks", http.StatusUnauthorized, nil)
}

// TestFixation: a session prepared by an attacker is not adopted, and signing in ends the previous one.
func TestFixation(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	adam := d.signedIn(t, "adam", store.RoleAdministrator)
	page := adam.post("/people", http.StatusOK, url.Values{"name": {"bo"}, "role": {"submitter"}})
	link := regexp.MustCompile(`/join\?key=[A-Z2-7]+`).FindString(page)
	bo := d.person(t)
	bo.post("/join", http.StatusOK, url.Values{"key": {strings.TrimPrefix(link, "/join?key=")}, "password": {"long enough it is"},
		"again": {"long enough it is"}})
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	cookie := func() string { return bo.Jar.Cookies(u)[0].Value }
	first := cookie()
	bo.Jar.SetCookies(u, []*http.Cookie{{Name: "session", Value: "PREPARED", Path: "/"}})
	if page := bo.get("/checks", http.StatusOK); !strings.Contains(page, "Sign in") {
		t.Error("a session that nobody made signs in")
	}
	bo.post("/login", http.StatusOK, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	if cookie() == "PREPARED" {
		t.Fatal("the prepared session was taken over")
	}
	second := cookie()
	bo.post("/login", http.StatusOK, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	in := func(session string) bool {
		_, err := d.store.People.Token(t.Context(), session, store.PurposeSession)
		return err == nil
	}
	if in(second) || !in(cookie()) || !in(first) {
		t.Errorf("sessions: first %v, second %v, third %v", in(first), in(second), in(cookie()))
	}
}

// TestSessions lists sessions, ends one and then all others, and changes the password.
func TestSessions(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	adam := d.signedIn(t, "adam", store.RoleAdministrator)
	page := adam.post("/people", http.StatusOK, url.Values{"name": {"bo"}, "role": {"submitter"}})
	link := regexp.MustCompile(`/join\?key=[A-Z2-7]+`).FindString(page)
	one, two, three := d.person(t), d.person(t), d.person(t)
	one.post("/join", http.StatusOK, url.Values{"key": {strings.TrimPrefix(link, "/join?key=")}, "password": {"long enough it is"},
		"again": {"long enough it is"}})
	for _, p := range []*person{two, three} {
		p.post("/login", http.StatusOK, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	}
	in := func(p *person) bool { return !strings.Contains(p.get("/checks", http.StatusOK), "Sign in") }
	list := one.get("/account", http.StatusOK)
	ids := regexp.MustCompile(`name="end" value="([0-9a-f]{32})"`).FindAllStringSubmatch(list, -1)
	if len(ids) != 3 || strings.Count(list, "this one") != 1 {
		t.Fatalf("%d sessions in\n%s", len(ids), list)
	}
	adam.post("/account/sessions", http.StatusOK, url.Values{"end": {ids[0][1]}}) // not his: nothing happens
	if !in(one) || !in(two) || !in(three) {
		t.Error("somebody else ended a session")
	}
	two.post("/account/sessions", http.StatusOK, url.Values{"end": {"others"}})
	if in(one) || !in(two) || in(three) {
		t.Error("the others are not signed out")
	}
	two.post("/account/password", http.StatusForbidden, url.Values{"old": {"wrong"}, "password": {"another long one"},
		"again": {"another long one"}})
	two.post("/account/password", http.StatusBadRequest, url.Values{"old": {"long enough it is"}, "password": {"short"}, "again": {"short"}})
	three.post("/login", http.StatusOK, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	two.post("/account/password", http.StatusOK, url.Values{"old": {"long enough it is"}, "password": {"another long one"},
		"again": {"another long one"}})
	if !in(two) || in(three) {
		t.Error("a new password does not sign the others out, or this one")
	}
	three.post("/login", http.StatusForbidden, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	adam.post("/people/bo", http.StatusOK, url.Values{"action": {"role"}, "role": {"officer"}})
	if in(two) {
		t.Error("with another role and still in")
	}
	if a, err := d.store.People.Account(t.Context(), "bo"); err != nil || a.Role != store.RoleOfficer {
		t.Errorf("role %s, %v", a.Role, err)
	}
	adam.post("/people/adam", http.StatusBadRequest, url.Values{"action": {"role"}, "role": {"officer"}})
	adam.post("/people/bo", http.StatusBadRequest, url.Values{"action": {"role"}, "role": {"queen"}})
}

// TestPublic: on an open site anybody can create an account and submit within the quotas, and a refusal says when the
// next submission is allowed; a closed site has no such page.
func TestPublic(t *testing.T) {
	t.Parallel()
	closed := newTestSite(t, true)
	closed.person(t).get("/register", http.StatusNotFound)
	closed.person(t).post("/register", http.StatusNotFound, url.Values{"name": {"bo"}})

	d := newTestSiteOf(t, true, func(o *web.Options) {
		o.Policy = web.Policy{Public: true, Accounts: people.Policy{Registrations: 3, PublicQueue: 3,
			PublicQuota: people.Quota{Documents: 4, Bytes: 100_000, Characters: 1000, Open: 2}}}
	})
	join := func(name string) *person {
		t.Helper()
		p := d.person(t)
		page := p.post("/register", http.StatusOK, url.Values{"name": {name}})
		key := regexp.MustCompile(`/join\?key=([A-Z2-7]+)`).FindStringSubmatch(page)
		if key == nil || !strings.Contains(page, "~"+name) {
			t.Fatalf("no link in\n%s", page)
		}
		p.post("/join", http.StatusOK, url.Values{"key": {key[1]}, "password": {"long enough it is"}, "again": {"long enough it is"}})
		return p
	}
	anybody := d.person(t)
	anybody.post("/register", http.StatusBadRequest, url.Values{"name": {"Über <b>"}})
	bo := join("bo@example.org")
	a, err := d.store.People.Account(t.Context(), "~bo@example.org")
	if err != nil || !a.Public || a.Role != store.RoleSubmitter {
		t.Fatalf("account %+v, %v", a, err)
	}
	anybody.post("/register", http.StatusConflict, url.Values{"name": {"bo@example.org"}})
	eve := join("eve")
	page := anybody.post("/register", http.StatusTooManyRequests, url.Values{"name": {"more"}})
	if !strings.Contains(page, "new accounts in 24 hours: 0 of 3 left; this will fit again at 2") {
		t.Errorf("the quota is not explained:\n%s", page)
	}

	bo.upload(http.StatusForbidden, url.Values{"partner": {"SOUTH"}}, "one.txt", "one")
	bo.upload(http.StatusOK, nil, "one.txt", "one", "two.txt", "two")
	if page := bo.upload(http.StatusTooManyRequests, nil, "three.txt", "three"); !strings.Contains(page, "limit of waiting checks") {
		t.Errorf("open checks are not explained:\n%s", page)
	}
	eve.upload(http.StatusOK, nil, "one.txt", "one")
	if page := eve.upload(http.StatusTooManyRequests, nil, "two.txt", "two"); !strings.Contains(page, "queue for public accounts is full") {
		t.Errorf("the crowd is not explained:\n%s", page)
	}
	d.cancelAll(t)
	eve.upload(http.StatusOK, nil, "two.txt", "two")
	d.cancelAll(t)
	// Four documents came from this address: the other account's quota does not help.
	page = bo.upload(http.StatusTooManyRequests, nil, "three.txt", "three")
	if !strings.Contains(page, "documents in 24 hours: 0 of 4 left; this will fit again at 2") {
		t.Errorf("the quota is not explained:\n%s", page)
	}
	prog := bo.program("check")
	var said problem
	prog.call(http.MethodPost, "/api/v1/checks", http.StatusTooManyRequests, &said, func(r *http.Request) {
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	})
	if said.Type != "urn:concordat:problem:quota" {
		t.Errorf("problem %+v", said)
	}
	if page := bo.get("/account", http.StatusOK); !strings.Contains(page, "4 documents in 24 hours") {
		t.Errorf("the account page does not tell the quota:\n%s", page)
	}
}

// cancelAll ends every check.
func (d *testSite) cancelAll(t *testing.T) {
	t.Helper()
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tasks {
		if err := d.store.Checks.CancelTask(t.Context(), one.ID, store.Cause{Detail: "over"}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCharacters: text counts once it has been read, and a check beyond the quota ends with an explanation.
func TestCharacters(t *testing.T) {
	t.Parallel()
	d := newTestSiteOf(t, false, func(o *web.Options) {
		o.Policy = web.Policy{Accounts: people.Policy{Quota: people.Quota{Characters: 200}}}
	})
	p := d.signedIn(t, "ada", store.RoleSubmitter)
	p.upload(http.StatusOK, nil, "one.txt", folios)
	p.upload(http.StatusOK, nil, "two.txt", folios)
	ids := d.await(t)
	if page := p.get("/checks/"+string(ids["two.txt"]), http.StatusOK); !strings.Contains(page,
		"Quota of characters in 24 hours: 56 of 200 left; this will fit again at 2") {
		t.Errorf("no words about the quota:\n%s", page)
	}
}

// TestLostUploads: an upload that is refused after it was read still counts its bytes, so refused uploads cannot fill the disk.
func TestLostUploads(t *testing.T) {
	t.Parallel()
	d := newTestSiteOf(t, true, func(o *web.Options) {
		o.Policy = web.Policy{Accounts: people.Policy{Quota: people.Quota{Bytes: 100_000}}}
	})
	p := d.signedIn(t, "ada", store.RoleSubmitter)
	for i := range 2 {
		p.upload(http.StatusBadRequest, url.Values{"template": {"none such"}}, "one.txt", strings.Repeat(strconv.Itoa(i), 50_000))
	}
	p.upload(http.StatusTooManyRequests, nil, "one.txt", "one")
	d.signedIn(t, "bo", store.RoleSubmitter).upload(http.StatusOK, nil, "one.txt", "one")
}

// TestStreams: an account can follow only a bounded number of checks at once.
func TestStreams(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	p := d.signedIn(t, "ada", store.RoleSubmitter)
	p.upload(http.StatusOK, nil, "one.txt", "one")
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	path := "/checks/" + string(tasks[0].ID) + "/events"
	for range 20 {
		resp, err := p.Do(p.request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
	p.get(path, http.StatusTooManyRequests)
}

// TestArchives: the members of an archive count, and an archive with more members than may wait is refused.
func TestArchives(t *testing.T) {
	t.Parallel()
	d := newTestSiteOf(t, false, func(o *web.Options) {
		o.Policy = web.Policy{Accounts: people.Policy{Quota: people.Quota{Documents: 4, Open: 3}}}
	})
	p := d.signedIn(t, "ada", store.RoleSubmitter)
	p.upload(http.StatusOK, nil, "five.many", "a b c d e")
	if page := p.get("/checks/"+string(d.await(t)["five.many"]), http.StatusOK); !strings.Contains(page, "at most 3 checks at once") {
		t.Errorf("five members:\n%s", page)
	}
	p.upload(http.StatusOK, nil, "three.many", "a b c")
	d.await(t)
	d.await(t) // the members
	p.upload(http.StatusTooManyRequests, nil, "one.txt", "one")
}

// TestRates: whoever asks too often is told when to try again, and does not slow others down.
func TestRates(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := newTestSiteOf(t, true, func(o *web.Options) {
		o.Policy = web.Policy{Calls: 20, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		o.Now = func() time.Time { return now }
	})
	ada, bo := d.signedIn(t, "ada", store.RoleOfficer).program("read"), d.signedIn(t, "bo", store.RoleOfficer).program("read")
	for range 20 {
		ada.call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil)
	}
	var said problem
	ada.call(http.MethodGet, "/api/v1/libraries", http.StatusTooManyRequests, &said)
	if said.Type != "urn:concordat:problem:too_many" {
		t.Errorf("problem %+v", said)
	}
	bo.call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil)
	now = now.Add(time.Minute)
	ada.call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil)

	from := func(address string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Forwarded-For", "203.0.113.9, "+address) }
	}
	guess := &program{t, d.URL, "concordat_GUESS"}
	for range 2 {
		guess.call(http.MethodGet, "/api/v1/libraries", http.StatusUnauthorized, nil, from("198.51.100.1"))
	}
	guess.call(http.MethodGet, "/api/v1/libraries", http.StatusTooManyRequests, nil, from("198.51.100.1"))
	bo.call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil, from("198.51.100.1")) // a valid token never waits
	guess.call(http.MethodGet, "/api/v1/libraries", http.StatusUnauthorized, nil, from("2001:db8::1"))
	guess.call(http.MethodGet, "/api/v1/libraries", http.StatusUnauthorized, nil, from("2001:db8::2"))
	guess.call(http.MethodGet, "/api/v1/libraries", http.StatusTooManyRequests, nil, from("2001:db8::3")) // one network
	bo.call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil, from("192.0.2.1"))

	// Password guesses delay only the guesser.
	login := func(address, password string, want int) *http.Response {
		t.Helper()
		p := d.person(t)
		r := p.request(http.MethodPost, "/login", strings.NewReader(url.Values{"name": {"nobody"}, "password": {password}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		from(address)(r)
		resp, err := p.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("from %s: %d, want %d", address, resp.StatusCode, want)
		}
		return resp
	}
	for range 5 {
		login("198.51.100.7", "guess", http.StatusForbidden)
	}
	resp := login("198.51.100.7", "guess", http.StatusTooManyRequests)
	if got := resp.Header.Get("Retry-After"); got != "600" {
		t.Errorf("Retry-After %q", got)
	}
	login("198.51.100.8", "guess", http.StatusForbidden)
}

// TestDelete: an officer deletes a check from its page and an administrator deletes a document; only those entitled to
// a receipt can read it.
func TestDelete(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	olga, adam := d.signedIn(t, "olga", store.RoleOfficer), d.signedIn(t, "adam", store.RoleAdministrator)
	id := d.checkedBy(t, olga, "essay", folios)
	page := "/checks/" + string(id)
	if text := olga.get(page, http.StatusOK); !strings.Contains(text, page+"/delete") {
		t.Error("no way to delete")
	}
	olga.post(page+"/delete", http.StatusBadRequest, nil) // no reason
	olga.post(page+"/delete", http.StatusOK, url.Values{"reason": {"it is over"}})
	olga.get(page, http.StatusNotFound)
	adam.post("/deletions", http.StatusNotFound, url.Values{"library": {"theses"}, "document": {"none"}, "reason": {"x"}})
	text := adam.post("/deletions", http.StatusOK, url.Values{"library": {"theses"}, "document": {"folios.txt"},
		"reason": {"the author <b>asks</b>"}})
	receipts := regexp.MustCompile(`/deletions/([a-z2-7]+)"`).FindAllStringSubmatch(text, -1)
	if len(receipts) != 2 || strings.Contains(text, "<b>asks") || !strings.Contains(text, "the bytes are gone") {
		t.Fatalf("deletions:\n%s", text)
	}
	axel := d.signedIn(t, "axel", store.RoleAuditor)
	if r := axel.get("/deletions/"+receipts[0][1], http.StatusOK); !strings.Contains(r, `"library":"theses"`) ||
		strings.Contains(r, "folios.txt") {
		t.Errorf("receipt %s", r)
	}
	axel.get("/deletions/none", http.StatusNotFound)

	id = d.checkedBy(t, olga, "another", folios)
	var out struct {
		ID, State string
		Receipt   struct{ Done time.Time }
	}
	call := func(p *program, fields string, want int) {
		t.Helper()
		p.call(http.MethodPost, "/api/v1/deletions", want, &out, func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(fields))
			r.ContentLength = int64(len(fields))
			r.Header.Set("Content-Type", "application/json")
		})
	}
	call(olga.program("read"), `{"reason":"x","tasks":["`+string(id)+`"]}`, http.StatusForbidden)
	eraser := olga.program("erase")
	call(eraser, `{"reason":"x","library":"theses","documents":["folios.txt"]}`, http.StatusForbidden) // an administrator's
	call(eraser, `{"reason":"x","tasks":["`+string(id)+`"]}`, http.StatusOK)
	if out.State != "done" || out.Receipt.Done.IsZero() {
		t.Errorf("answer %+v", out)
	}
	call(eraser, `{"reason":"x","tasks":["`+string(id)+`"]}`, http.StatusNotFound)
}

// TestStrictTransport: a site that people reach by https tells browsers to stay with https; any other site does not.
func TestStrictTransport(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		d := newTestSiteOf(t, true, func(o *web.Options) { o.Secure = secure })
		resp, err := http.Get(d.URL + "/login")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Strict-Transport-Security"); (got != "") != secure {
			t.Errorf("secure %t: %q", secure, got)
		}
	}
}
