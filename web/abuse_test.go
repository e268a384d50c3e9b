package web_test

import (
	"encoding/csv"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
	"concordat/web"
)

// evil would run if it were inserted as markup, and would be a formula in a spreadsheet.
const evil = `=cmd|' /C calc'!A0"><script>alert(1)</script><img src=x onerror=alert(1)>`

// TestStoredScript: names, titles and texts that contain markup or formulas are harmless where they are shown.
func TestStoredScript(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	id := d.CheckedBy(t, olga, evil, webtest.Folios+" "+evil)
	olga.Post("/checks/"+string(id)+"/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {evil}})
	olga.Upload(http.StatusOK, nil, evil+".txt", webtest.Folios)
	d.Await(t)
	live := regexp.MustCompile(`<script>alert|<img src=x`)
	for _, path := range []string{"/checks", "/checks/" + string(id), "/checks/" + string(id) + "/report", "/checks/nothing" +
		url.PathEscape(evil), "/login?next=" + url.QueryEscape(evil)} {
		resp, err := olga.Client.Get(d.URL + path)
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
	resp, err := olga.Client.Get(d.URL + "/checks/" + string(id) + "/report?format=csv")
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
	d := webtest.New(t, true)
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	for _, path := range []string{"/static/..%2f..%2fweb.go", "/static/%2e%2e/%2e%2e/etc/passwd", "/checks/..%2f..%2fsite.db",
		"/checks/%2e%2e/report",
		"/deletions/..%2f..%2fsite.db", "/checks/a%00b", "/checks/" + strings.Repeat("a", 10_000)} {
		resp, err := adam.Client.Get(d.URL + path)
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
	adam.Upload(http.StatusOK, nil, "../../../escape.txt", "text")
	if m, err := filepath.Glob(filepath.Join(d.Dir, "..", "escape*")); err != nil || len(m) > 0 {
		t.Errorf("a file came out: %v, %v", m, err)
	}
}

// TestForgedAndReplayed: links and keys work only once, only for their purpose, and only from this site's own pages.
func TestForgedAndReplayed(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	link, err := d.Web.Accounts.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimPrefix(link, "/first?key=")
	form := url.Values{"key": {key}, "name": {"ada"}, "password": {"long enough it is"}, "again": {"long enough it is"}}
	p := d.Visitor(t)
	p.Post("/join", http.StatusNotFound, form) // a first link cannot be used to join
	p.Post("/first", http.StatusOK, form)
	d.Visitor(t).Post("/first", http.StatusNotFound, form)
	d.Visitor(t).Get(link, http.StatusNotFound)
	for pattern, decision := range routeDecisions { // another site's page cannot make a browser act here
		if !strings.HasPrefix(pattern, "POST ") || decision == "" {
			continue
		}
		method, path := filled(pattern, "none")
		r := p.Request(method, path, strings.NewReader("x=y"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://evil.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		p.Send(r, http.StatusForbidden)
	}
	// A token cannot serve as a session, nor a session as a token.
	prog := p.Program("read")
	r := d.Visitor(t).Request(http.MethodGet, "/checks", nil)
	r.AddCookie(&http.Cookie{Name: "session", Value: prog.Token})
	if page := d.Visitor(t).Send(r, http.StatusOK); !strings.Contains(page, "Sign in") {
		t.Error("a token signs in")
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	prog.Token = p.Jar.Cookies(u)[0].Value
	prog.Call(http.MethodGet, "/api/v1/checks", http.StatusUnauthorized, nil)
}

// TestPublic: on an open site anyone can create an account and submit within the quotas, and a refusal states when the next submission is
// allowed; a closed site has no such page.
func TestPublic(t *testing.T) {
	t.Parallel()
	closed := webtest.New(t, true)
	closed.Visitor(t).Get("/register", http.StatusNotFound)
	closed.Visitor(t).Post("/register", http.StatusNotFound, url.Values{"name": {"bo"}})

	d := webtest.NewWith(t, true, func(o *web.Options) {
		o.Policy = web.Policy{Public: true, Accounts: people.Policy{Registrations: 3, PublicQueue: 3,
			PublicQuota: people.Quota{Documents: 4, Bytes: 100_000, Characters: 1000, Open: 2}}}
	})
	join := func(name string) *webtest.Person {
		t.Helper()
		p := d.Visitor(t)
		page := p.Post("/register", http.StatusOK, url.Values{"name": {name}})
		key := regexp.MustCompile(`/join\?key=([A-Z2-7]+)`).FindStringSubmatch(page)
		if key == nil || !strings.Contains(page, "~"+name) {
			t.Fatalf("no link in\n%s", page)
		}
		p.Post("/join", http.StatusOK, url.Values{"key": {key[1]}, "password": {"long enough it is"}, "again": {"long enough it is"}})
		return p
	}
	anybody := d.Visitor(t)
	anybody.Post("/register", http.StatusBadRequest, url.Values{"name": {"Über <b>"}})
	bo := join("bo@example.org")
	a, err := d.Store.People.Account(t.Context(), "~bo@example.org")
	if err != nil || !a.Public || a.Role != store.RoleSubmitter {
		t.Fatalf("account %+v, %v", a, err)
	}
	anybody.Post("/register", http.StatusConflict, url.Values{"name": {"bo@example.org"}})
	eve := join("eve")
	page := anybody.Post("/register", http.StatusTooManyRequests, url.Values{"name": {"more"}})
	if !strings.Contains(page, "new accounts in 24 hours: 0 of 3 left; try again at 2") {
		t.Errorf("the quota is not explained:\n%s", page)
	}

	bo.Upload(http.StatusForbidden, url.Values{"partner": {"SOUTH"}}, "one.txt", "one")
	bo.Upload(http.StatusOK, nil, "one.txt", "one", "two.txt", "two")
	if page := bo.Upload(http.StatusTooManyRequests, nil, "three.txt", "three"); !strings.Contains(page, "limit on waiting checks") {
		t.Errorf("open checks are not explained:\n%s", page)
	}
	eve.Upload(http.StatusOK, nil, "one.txt", "one")
	if page := eve.Upload(http.StatusTooManyRequests, nil, "two.txt", "two"); !strings.Contains(page, "queue for public accounts is full") {
		t.Errorf("the crowd is not explained:\n%s", page)
	}
	cancelAll(t, d)
	eve.Upload(http.StatusOK, nil, "two.txt", "two")
	cancelAll(t, d)
	// This address has submitted four documents, so the other account's quota does not help.
	page = bo.Upload(http.StatusTooManyRequests, nil, "three.txt", "three")
	if !strings.Contains(page, "documents in 24 hours: 0 of 4 left; try again at 2") {
		t.Errorf("the quota is not explained:\n%s", page)
	}
	prog := bo.Program("check")
	var said webtest.Problem
	prog.Call(http.MethodPost, "/api/v1/checks", http.StatusTooManyRequests, &said, func(r *http.Request) {
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	})
	if said.Type != "urn:concordat:problem:quota" {
		t.Errorf("problem %+v", said)
	}
	if page := bo.Get("/account", http.StatusOK); !strings.Contains(page, "4 documents in 24 hours") {
		t.Errorf("the account page does not tell the quota:\n%s", page)
	}
}

// cancelAll cancels every check.
func cancelAll(t *testing.T, d *webtest.Site) {
	t.Helper()
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tasks {
		if err := d.Store.Checks.CancelTask(t.Context(), one.ID, store.Cause{Detail: "over"}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStreams: an account can follow only a bounded number of checks at a time.
func TestStreams(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleSubmitter)
	p.Upload(http.StatusOK, nil, "one.txt", "one")
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	path := "/checks/" + string(tasks[0].ID) + "/events"
	for range 20 {
		resp, err := p.Do(p.Request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
	p.Get(path, http.StatusTooManyRequests)
}

// TestRates: a caller that asks too often is told when to try again, and does not slow others down.
func TestRates(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := webtest.NewWith(t, true, func(o *web.Options) {
		o.Policy = web.Policy{Calls: 20, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		o.Now = func() time.Time { return now }
	})
	ada, bo := d.SignedIn(t, "ada", store.RoleOfficer).Program("read"), d.SignedIn(t, "bo", store.RoleOfficer).Program("read")
	for range 20 {
		ada.Call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil)
	}
	var said webtest.Problem
	ada.Call(http.MethodGet, "/api/v1/libraries", http.StatusTooManyRequests, &said)
	if said.Type != "urn:concordat:problem:too_many" {
		t.Errorf("problem %+v", said)
	}
	bo.Call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil)
	now = now.Add(time.Minute)
	ada.Call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil)

	from := func(address string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Forwarded-For", "203.0.113.9, "+address) }
	}
	guess := &webtest.Program{T: t, Base: d.URL, Token: "concordat_GUESS"}
	for range 2 {
		guess.Call(http.MethodGet, "/api/v1/libraries", http.StatusUnauthorized, nil, from("198.51.100.1"))
	}
	guess.Call(http.MethodGet, "/api/v1/libraries", http.StatusTooManyRequests, nil, from("198.51.100.1"))
	bo.Call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil, from("198.51.100.1")) // a valid token never waits
	guess.Call(http.MethodGet, "/api/v1/libraries", http.StatusUnauthorized, nil, from("2001:db8::1"))
	guess.Call(http.MethodGet, "/api/v1/libraries", http.StatusUnauthorized, nil, from("2001:db8::2"))
	guess.Call(http.MethodGet, "/api/v1/libraries", http.StatusTooManyRequests, nil, from("2001:db8::3")) // the same network
	bo.Call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil, from("192.0.2.1"))

	// Password guesses delay only the guesser.
	login := func(address, password string, want int) *http.Response {
		t.Helper()
		p := d.Visitor(t)
		r := p.Request(http.MethodPost, "/login", strings.NewReader(url.Values{"name": {"nobody"}, "password": {password}}.Encode()))
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

// TestStrictTransport: only a site that people reach over https tells browsers to insist on https.
func TestStrictTransport(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		d := webtest.NewWith(t, true, func(o *web.Options) { o.Secure = secure })
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
