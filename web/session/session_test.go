package session_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestFixation: the site does not adopt a session prepared by an attacker, and signing in ends the previous session.
func TestFixation(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	page := adam.Post("/people", http.StatusOK, url.Values{"name": {"bo"}, "role": {"submitter"}})
	link := regexp.MustCompile(`/join\?key=[A-Z2-7]+`).FindString(page)
	bo := d.Visitor(t)
	bo.Post("/join", http.StatusOK, url.Values{"key": {strings.TrimPrefix(link, "/join?key=")}, "password": {"long enough it is"},
		"again": {"long enough it is"}})
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	cookie := func() string { return bo.Jar.Cookies(u)[0].Value }
	first := cookie()
	bo.Jar.SetCookies(u, []*http.Cookie{{Name: "session", Value: "PREPARED", Path: "/"}})
	if page := bo.Get("/checks", http.StatusOK); !strings.Contains(page, "Sign in") {
		t.Error("a session that nobody made signs in")
	}
	bo.Post("/login", http.StatusOK, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	if cookie() == "PREPARED" {
		t.Fatal("the prepared session was taken over")
	}
	second := cookie()
	bo.Post("/login", http.StatusOK, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	in := func(session string) bool {
		_, err := d.Store.People.Token(t.Context(), session, store.PurposeSession)
		return err == nil
	}
	if in(second) || !in(cookie()) || !in(first) {
		t.Errorf("sessions: first %v, second %v, third %v", in(first), in(second), in(cookie()))
	}
}

// TestSessions lists sessions, ends one and then all others, and changes the password.
func TestSessions(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	page := adam.Post("/people", http.StatusOK, url.Values{"name": {"bo"}, "role": {"submitter"}})
	link := regexp.MustCompile(`/join\?key=[A-Z2-7]+`).FindString(page)
	one, two, three := d.Visitor(t), d.Visitor(t), d.Visitor(t)
	one.Post("/join", http.StatusOK, url.Values{"key": {strings.TrimPrefix(link, "/join?key=")}, "password": {"long enough it is"},
		"again": {"long enough it is"}})
	for _, p := range []*webtest.Person{two, three} {
		p.Post("/login", http.StatusOK, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	}
	in := func(p *webtest.Person) bool { return !strings.Contains(p.Get("/checks", http.StatusOK), "Sign in") }
	list := one.Get("/account", http.StatusOK)
	ids := regexp.MustCompile(`name="end" value="([0-9a-f]{32})"`).FindAllStringSubmatch(list, -1)
	if len(ids) != 3 || strings.Count(list, "this one") != 1 {
		t.Fatalf("%d sessions in\n%s", len(ids), list)
	}
	adam.Post("/account/sessions", http.StatusOK, url.Values{"end": {ids[0][1]}}) // not his, so nothing happens
	if !in(one) || !in(two) || !in(three) {
		t.Error("somebody else ended a session")
	}
	two.Post("/account/sessions", http.StatusOK, url.Values{"end": {"others"}})
	if in(one) || !in(two) || in(three) {
		t.Error("the others are not signed out")
	}
	two.Post("/account/password", http.StatusForbidden, url.Values{"old": {"wrong"}, "password": {"another long one"},
		"again": {"another long one"}})
	two.Post("/account/password", http.StatusBadRequest, url.Values{"old": {"long enough it is"}, "password": {"short"}, "again": {"short"}})
	three.Post("/login", http.StatusOK, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	two.Post("/account/password", http.StatusOK, url.Values{"old": {"long enough it is"}, "password": {"another long one"},
		"again": {"another long one"}})
	if !in(two) || in(three) {
		t.Error("a new password does not sign the others out, or this one")
	}
	three.Post("/login", http.StatusForbidden, url.Values{"name": {"bo"}, "password": {"long enough it is"}})
	adam.Post("/people/bo", http.StatusOK, url.Values{"action": {"role"}, "role": {"officer"}})
	if in(two) {
		t.Error("with another role and still in")
	}
	if a, err := d.Store.People.Account(t.Context(), "bo"); err != nil || a.Role != store.RoleOfficer {
		t.Errorf("role %s, %v", a.Role, err)
	}
	adam.Post("/people/adam", http.StatusBadRequest, url.Values{"action": {"role"}, "role": {"officer"}})
	adam.Post("/people/bo", http.StatusBadRequest, url.Values{"action": {"role"}, "role": {"queen"}})
}
