package accounts_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestFirst creates the first administrator with the link of the first start, signs out and signs in.
func TestFirst(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.Visitor(t)
	link, err := d.Web.Accounts.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Get("/first?key=guess", http.StatusNotFound)
	if page := p.Get(link, http.StatusOK); !strings.Contains(page, "works once") {
		t.Error("the page of the first administrator does not say so")
	}
	key := strings.TrimPrefix(link, "/first?key=")
	form := func(password, again string) url.Values {
		return url.Values{"key": {key}, "name": {"ada"}, "title": {"Ada"}, "password": {password}, "again": {again}}
	}
	p.Post("/first", http.StatusBadRequest, form("short", "short"))
	p.Post("/first", http.StatusBadRequest, form("long enough it is", "another"))
	if page := p.Post("/first", http.StatusOK, form("long enough it is", "long enough it is")); !strings.Contains(page,
		"Ada (administrator)") {
		t.Errorf("not signed in:\n%s", page)
	}
	d.Visitor(t).Post("/first", http.StatusNotFound, form("long enough it is", "long enough it is"))
	if again, err := d.Web.Accounts.FirstLink(t.Context()); again != "" || err != nil {
		t.Errorf("a second link: %q, %v", again, err)
	}
	p.Post("/logout", http.StatusOK, nil)
	if page := p.Get("/checks", http.StatusOK); !strings.Contains(page, "Sign in") {
		t.Error("signed out and still in")
	}
	p.Post("/login", http.StatusForbidden, url.Values{"name": {"ada"}, "password": {"wrong"}})
	p.Post("/login", http.StatusForbidden, url.Values{"name": {"eve"}, "password": {"wrong"}})
	if page := p.Post("/login", http.StatusOK, url.Values{"name": {"ada"}, "password": {"long enough it is"},
		"next": {"/libraries"}}); !strings.Contains(page, "All &lt;theses&gt;") {
		t.Errorf("not at the page that was wanted:\n%s", page)
	}
	for range 5 {
		p.Post("/login", http.StatusForbidden, url.Values{"name": {"ada"}, "password": {"wrong"}})
	}
	p.Post("/login", http.StatusTooManyRequests, url.Values{"name": {"ada"}, "password": {"long enough it is"}})
}

// TestNextStaysHere: the page after signing in is always on this site.
func TestNextStaysHere(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	p.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for next, want := range map[string]string{"/libraries?a=b": "/libraries?a=b", "": "/checks", "https://evil.example/": "/checks",
		"//evil.example/": "/checks", `/\evil.example`: "/checks", "javascript:alert(1)": "/checks"} {
		r := p.Request(http.MethodPost, "/language", strings.NewReader(url.Values{"language": {"en"}, "next": {next}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := p.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Location"); got != want {
			t.Errorf("next %q leads to %q, want %q", next, got, want)
		}
	}
}

// TestPeople adds a person, who sets a password with the link, and then disables the account.
func TestPeople(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	admin := d.SignedIn(t, "adam", store.RoleAdministrator)
	page := admin.Post("/people", http.StatusOK, url.Values{"name": {"bo <b>"}, "title": {"Bo"}, "role": {"submitter"}})
	admin.Post("/people", http.StatusConflict, url.Values{"name": {"bo <b>"}, "role": {"submitter"}})
	admin.Post("/people", http.StatusBadRequest, url.Values{"name": {"x"}, "role": {"queen"}})
	link := regexp.MustCompile(`/join\?key=[A-Z2-7]+`).FindString(page)
	if link == "" || strings.Contains(page, "<b>") {
		t.Fatalf("no link, or markup, in\n%s", page)
	}
	bo := d.Visitor(t)
	if page := bo.Get(link, http.StatusOK); !strings.Contains(page, "bo &lt;b&gt;") {
		t.Errorf("the page does not say whose password it is:\n%s", page)
	}
	choice := url.Values{"key": {strings.TrimPrefix(link, "/join?key=")}, "password": {"long enough it is"}, "again": {"long enough it is"}}
	if page := bo.Post("/join", http.StatusOK, choice); !strings.Contains(page, "(submitter)") {
		t.Errorf("not signed in:\n%s", page)
	}
	d.Visitor(t).Post("/join", http.StatusNotFound, choice)
	admin.Post("/people/bo%20%3Cb%3E", http.StatusOK, url.Values{"action": {"disable"}})
	if page := bo.Get("/checks", http.StatusOK); !strings.Contains(page, "Sign in") {
		t.Error("disabled and still in")
	}
	bo.Post("/login", http.StatusForbidden, url.Values{"name": {"bo <b>"}, "password": {"long enough it is"}})
	admin.Post("/people/adam", http.StatusBadRequest, url.Values{"action": {"disable"}})
}

// TestFirstPageNamesTheSite: the first page asks for the site's title, which appears on the next page and in the audit.
func TestFirstPageNamesTheSite(t *testing.T) {
	t.Parallel()
	s := &webtest.Settable{Values: map[string]string{"site.title": ""}}
	d := webtest.NewWith(t, true, s.Use)
	link, err := d.Web.Accounts.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := d.Visitor(t)
	if page := c.Get(link, http.StatusOK); !strings.Contains(page, `name="site"`) {
		t.Error("the first page does not ask for the title of the site")
	}
	key := strings.TrimPrefix(link, "/first?key=")
	f := url.Values{"key": {key}, "name": {"ada"}, "title": {"Ada"}, "site": {"Office of the North"},
		"password": {"short"}, "again": {"short"}}
	if page := c.Post("/first", http.StatusBadRequest, f); !strings.Contains(page, `value="Office of the North"`) {
		t.Error("what was typed is gone after a bad password")
	}
	f.Set("password", "a good long secret")
	f.Set("again", "a good long secret")
	if page := c.Post("/first", http.StatusOK, f); !strings.Contains(page, "Office of the North") {
		t.Error("the page after it has another title")
	}
	entries, err := d.Store.Audit.SearchAudit(t.Context(), store.AuditFilter{Action: "settings_changed"}, 0, 10)
	if err != nil || len(entries) != 1 || entries[0].Actor != "ada" {
		t.Errorf("the audit has %v, %v", entries, err)
	}
}
