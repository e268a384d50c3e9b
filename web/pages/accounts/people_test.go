package accounts_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/client"
	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
	"concordat/web/message"
)

// peopleWay changes accounts through the pages or the API, and returns the status.
type peopleWay struct {
	add    func(name, title, role string) int
	change func(name, action, role string) int
	token  func(name string, scopes ...string) int
}

// pageWay changes accounts through the pages. On success, a page redirects, or shows a link only once.
func pageWay(p *webtest.Person) peopleWay {
	post := func(path string, fields url.Values) int {
		r := p.Request(http.MethodPost, path, strings.NewReader(fields.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := p.Do(r)
		if err != nil {
			p.T.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	return peopleWay{
		add: func(name, title, role string) int {
			return post("/people", url.Values{"name": {name}, "title": {title}, "role": {role}})
		},
		change: func(name, action, role string) int {
			return post("/people/"+url.PathEscape(name), url.Values{"action": {action}, "role": {role}})
		},
		token: func(name string, scopes ...string) int {
			return post("/account/tokens", url.Values{"name": {name}, "scope": scopes})
		},
	}
}

// apiWay changes accounts through the API.
func apiWay(t *testing.T, c *client.Client) peopleWay {
	status := func(err error) int {
		var p *client.Problem
		switch {
		case err == nil:
			return http.StatusOK
		case !errors.As(err, &p):
			t.Fatal(err)
		case p.Status == http.StatusUnprocessableEntity: // rejected by the schema
			return http.StatusBadRequest
		}
		return p.Status
	}
	ctx := t.Context()
	return peopleWay{
		add: func(name, title, role string) int {
			_, err := c.AddPerson(ctx, client.Person{Name: name, Title: title, Role: role})
			return status(err)
		},
		change: func(name, action, role string) int {
			var err error
			switch action {
			case "link":
				_, err = c.NewLink(ctx, name)
			case "role":
				_, err = c.SetRole(ctx, name, role)
			default:
				_, err = c.DisablePerson(ctx, name, action == "disable")
			}
			return status(err)
		},
		token: func(name string, scopes ...string) int {
			_, err := c.MakeToken(ctx, name, 0, scopes...)
			return status(err)
		},
	}
}

// TestPeopleWays: the pages and the API accept and refuse the same changes to accounts and tokens, with the same status, and result in
// the same accounts, tokens and audit entries.
func TestPeopleWays(t *testing.T) {
	t.Parallel()
	type outcome struct {
		Status   []int
		Accounts []store.Account
		Tokens   []store.Token
		Audit    []string
	}
	run := func(t *testing.T, way func(d *webtest.Site) peopleWay) (out outcome) {
		d := webtest.New(t, true)
		w := way(d)
		head, err := d.Store.Audit.AuditHead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		do := func(status int) { out.Status = append(out.Status, status) }
		for _, c := range [][3]string{
			{"", "", "officer"}, {"  ", "", "officer"}, {strings.Repeat("x", people.MaxName+1), "", "officer"},
			{strings.Repeat("文", people.MaxName), "", "officer"}, {" bo ", "  Bo  ", "submitter"}, {"bo", "", "officer"},
			{"cy", strings.Repeat("x", people.MaxTitle+1), "officer"}, {"cy", strings.Repeat("文", people.MaxTitle/3+1), "officer"},
			{"cy", strings.Repeat("文", people.MaxTitle/3), "officer"}, {"dee", "", "king"}, {"dee", "", "auditor"},
		} {
			do(w.add(c[0], c[1], c[2]))
		}
		for _, c := range [][3]string{
			{"bo", "disable", ""}, {"bo", "enable", ""}, {"bo", "role", "officer"}, {"bo", "role", "king"}, {"bo", "link", ""},
			{"root", "disable", ""}, {"root", "role", "officer"}, {"root", "enable", ""},
			{"nobody", "disable", ""}, {"nobody", "role", "officer"}, {"nobody", "link", ""},
		} {
			do(w.change(c[0], c[1], c[2]))
		}
		do(w.token(" mine ", "read", "check"))
		do(w.token("  ", "read"))
		do(w.token(strings.Repeat("文", people.MaxTokenName), "read"))
		do(w.token(strings.Repeat("x", people.MaxTokenName+1), "read"))
		do(w.token("none"))
		do(w.token("all", "everything"))
		if out.Accounts, err = d.Store.People.Accounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range out.Accounts {
			out.Accounts[i].Created = time.Time{}
		}
		_, tokens, err := d.Store.People.Tokens(t.Context(), "root", store.PurposeAPI)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range tokens {
			if one.Name != "portal <1>" { // the token that calls the API
				out.Tokens = append(out.Tokens, store.Token{Name: one.Name, Scopes: one.Scopes, Expires: one.Expires.Truncate(24 * time.Hour)})
			}
		}
		es, err := d.Store.Audit.Audit(t.Context(), head.Seq, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			out.Audit = append(out.Audit, e.Actor+" "+e.Action+" "+string(e.Detail))
		}
		return out
	}
	var page, api outcome
	t.Run("page", func(t *testing.T) {
		page = run(t, func(d *webtest.Site) peopleWay { return pageWay(d.SignedIn(t, "root", store.RoleAdministrator)) })
	})
	t.Run("api", func(t *testing.T) {
		api = run(t, func(d *webtest.Site) peopleWay { return apiWay(t, d.Client(t, "root", store.RoleAdministrator)) })
	})
	if d := cmp.Diff(page, api); d != "" {
		t.Errorf("page (-) and API (+) differ: %s", d)
	}
	if len(page.Accounts) != 5 || len(page.Audit) < 10 || len(page.Tokens) != 2 {
		t.Errorf("got %+v", page)
	}
	// The English description of a rule is the same everywhere.
	for _, r := range []people.Rule{people.RuleTitle, people.RuleOwn, people.RuleToken, people.RuleOrigins} {
		var err error = &people.RuleError{Rule: r}
		if !errors.Is(err, concordat.ErrInvalid) || err.Error() != message.English.Rule(r) {
			t.Errorf("%s: %q, in the table of words %q", r, err, message.English.Rule(r))
		}
	}
}
