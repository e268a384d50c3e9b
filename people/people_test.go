package people_test

import (
	gocmp "cmp"
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/people"
	"concordat/store"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newRegistry returns a registry, its store, and the path of the store.
func newRegistry(t *testing.T, p people.Policy) (*people.Registry, *store.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "site.db")
	now := func() time.Time { return start }
	db, err := store.Options{Now: now}.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return people.New(people.Options{Store: db, Now: now, Policy: p}), db, path
}

// actions returns the actor, action and detail of each audit entry.
func actions(t *testing.T, db *store.DB) (out []string) {
	t.Helper()
	es, err := db.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		out = append(out, e.Actor+" "+e.Action+" "+string(e.Detail))
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// changes contains all functions that add an audit entry, each called at a site with the accounts root and ada, a link "link" for ada,
// and one of her sessions and tokens.
var changes = map[string]func(ctx context.Context, r *people.Registry, db *store.DB) error{
	"add": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		_, _, err := r.Add(ctx, "root", store.Account{Name: "new", Role: store.RoleOfficer})
		return err
	},
	"change": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		role, yes := store.RoleAuditor, true
		_, err := r.Change(ctx, "root", "ada", people.Change{Role: &role, Disabled: &yes})
		return err
	},
	"link": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		_, _, err := r.NewLink(ctx, "root", "ada")
		return err
	},
	"join": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		_, err := r.Join(ctx, "link", "hash")
		return err
	},
	"register": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		_, err := r.Register(ctx, "~new", "192.0.2.1", time.Hour)
		return err
	},
	"token": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		_, _, err := r.MakeToken(ctx, "ada", people.NewToken{Name: "x", Scopes: []string{"read"}, Lasts: time.Hour})
		return err
	},
	"revoke": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		return r.RevokeToken(ctx, "ada", store.SecretID("token"))
	},
	"end": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		return r.EndSessions(ctx, "ada", people.Others, "")
	},
	"password": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		return r.SetPassword(ctx, "ada", "hash", true)
	},
	"recognize": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		_, err := r.Recognize(ctx, people.Person{Issuer: "i", Subject: "s", Role: store.RoleAuditor}, "ada", true)
		return err
	},
	"connect": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		_, err := r.Connect(ctx, people.Person{Issuer: "other", Subject: "s"}, "ada")
		return err
	},
	"person": func(ctx context.Context, r *people.Registry, _ *store.DB) error {
		_, err := r.AddPerson(ctx, people.Person{Issuer: "other", Subject: "s", Role: store.RoleOfficer}, "new")
		return err
	},
}

// state contains everything that the functions can change.
type state struct {
	Accounts   []store.Account
	Tokens     []store.Token
	Identities []store.Identity
	Audit      []string
}

func stateOf(t *testing.T, db *store.DB) (s state) {
	t.Helper()
	ctx := t.Context()
	var err error
	s.Accounts, err = db.People.Accounts(ctx)
	must(t, err)
	for _, a := range s.Accounts {
		for _, p := range []store.Purpose{store.PurposeAPI, store.PurposeSession, store.PurposeJoin} {
			_, all, err := db.People.Tokens(ctx, a.Name, p)
			must(t, err)
			s.Tokens = append(s.Tokens, all...)
		}
	}
	slices.SortFunc(s.Tokens, func(a, b store.Token) int {
		return gocmp.Or(strings.Compare(string(a.Purpose), string(b.Purpose)), strings.Compare(a.Name, b.Name), a.Expires.Compare(b.Expires))
	})
	s.Identities, err = db.People.Identities(ctx, "")
	must(t, err)
	s.Audit = actions(t, db)
	return s
}

// prepared returns a registry for changes, its store, and a connection to the store that can set triggers.
func prepared(t *testing.T) (*people.Registry, *store.DB, *sql.DB) {
	t.Helper()
	ctx := t.Context()
	r, db, path := newRegistry(t, people.Policy{})
	must(t, db.People.CreateAccount(ctx, store.Account{Name: "root", Role: store.RoleAdministrator, Created: start}))
	must(t, db.People.CreateLinked(ctx, store.Account{Name: "ada", Role: store.RoleOfficer, Password: "old", Created: start},
		store.Identity{Issuer: "i", Subject: "s", Made: start}))
	for secret, p := range map[string]store.Purpose{"link": store.PurposeJoin, "session": store.PurposeSession,
		"token": store.PurposeAPI} {
		must(t, db.People.PutToken(ctx, secret, store.Token{Purpose: p, Account: "ada", Made: start, Expires: start.Add(time.Hour)}))
	}
	raw, err := sql.Open("sqlite3", path)
	must(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	return r, db, raw
}

// refuse makes the store refuse an operation on a table.
func refuse(t *testing.T, raw *sql.DB, operation, table string) {
	t.Helper()
	_, err := raw.ExecContext(t.Context(), "CREATE TRIGGER no BEFORE "+operation+" ON "+table+" BEGIN SELECT RAISE(ABORT, 'no'); END")
	must(t, err)
}

// TestAudited: a change and its audit entry are stored together, or, if the entry cannot be written, not at all.
func TestAudited(t *testing.T) {
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			r, db, raw := prepared(t)
			before := stateOf(t, db)
			refuse(t, raw, "INSERT", "audit")
			if err := change(ctx, r, db); err == nil {
				t.Error("a change without its entry succeeded")
			}
			if d := cmp.Diff(before, stateOf(t, db)); d != "" {
				t.Errorf("a change without its entry left something: %s", d)
			}
			_, err := raw.ExecContext(ctx, `DROP TRIGGER no`)
			must(t, err)
			must(t, change(ctx, r, db))
			after := stateOf(t, db)
			if len(after.Audit) == 0 {
				t.Error("no entry was written")
			}
			after.Audit = nil
			if cmp.Equal(before, after) {
				t.Error("nothing was changed")
			}
		})
	}
}

// TestWritesAreTold: if the store refuses any part of a change, the change fails and leaves everything unchanged.
func TestWritesAreTold(t *testing.T) {
	failed := 0
	for name, change := range changes {
		r, db, _ := prepared(t)
		must(t, change(t.Context(), r, db))
		want := stateOf(t, db)
		var raw *sql.DB // nil if the store was changed
		for _, table := range []string{"account", "token", "identity"} {
			for _, operation := range []string{"INSERT", "UPDATE", "DELETE"} {
				if raw == nil {
					r, db, raw = prepared(t)
				}
				before := stateOf(t, db)
				refuse(t, raw, operation, table)
				err := change(t.Context(), r, db)
				_, undo := raw.ExecContext(t.Context(), `DROP TRIGGER no`)
				must(t, undo)
				if err != nil {
					failed++
					if d := cmp.Diff(before, stateOf(t, db)); d != "" {
						t.Errorf("%s without %s of %s failed (%v) and left something: %s", name, operation, table, err, d)
					}
					continue
				}
				if d := cmp.Diff(want, stateOf(t, db)); d != "" {
					t.Errorf("%s without %s of %s succeeded with less: %s", name, operation, table, d)
				}
				raw = nil
			}
		}
	}
	if failed < len(changes) {
		t.Errorf("%d of %d changes failed", failed, len(changes))
	}
}

func rule(err error) people.Rule {
	var r *people.RuleError
	if errors.As(err, &r) && errors.Is(err, concordat.ErrInvalid) {
		return r.Rule
	}
	return ""
}

// TestRules checks which names, titles and tokens are allowed, and who may change whom.
func TestRules(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	for _, c := range []struct {
		name, title string
		want        people.Rule
	}{
		{"", "", people.RuleName}, {" \t", "", people.RuleName}, {strings.Repeat("é", people.MaxName+1), "", people.RuleName},
		{"eve", strings.Repeat("x", people.MaxTitle+1), people.RuleTitle}, {strings.Repeat("é", people.MaxName), "", ""},
		{" ada ", " " + strings.Repeat("x", people.MaxTitle) + " ", ""},
	} {
		_, link, err := r.Add(ctx, "root", store.Account{Name: c.name, Title: c.title, Role: store.RoleOfficer})
		if rule(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%q, title of %d bytes: got %v, want %q", c.name, len(c.title), err, c.want)
		}
		if err == nil && !link.Expires.Equal(start.Add(people.JoinTime)) {
			t.Errorf("the link ends at %s", link.Expires)
		}
	}
	if a, err := db.People.Account(ctx, "ada"); err != nil || len(a.Title) != people.MaxTitle {
		t.Errorf("got %+v, %v, want a name and a title without white space around them", a, err)
	}
	if got, err := r.First(ctx, "k", store.Account{Name: strings.Repeat("x", people.MaxName+1)}); rule(err) != people.RuleName {
		t.Errorf("got %+v, %v", got, err)
	}

	yes, no, role, king := true, false, store.RoleAuditor, store.Role("king")
	for _, c := range []struct {
		by   string
		what people.Change
		want people.Rule
		is   error
	}{
		{"ada", people.Change{Disabled: &yes}, people.RuleOwn, concordat.ErrInvalid},
		{"ada", people.Change{Role: &role}, people.RuleOwn, concordat.ErrInvalid},
		{"ada", people.Change{Disabled: &no}, "", nil},
		{"root", people.Change{}, "", concordat.ErrInvalid},
		{"root", people.Change{Role: &king}, "", concordat.ErrInvalid},
		{"root", people.Change{Role: &role, Disabled: &yes}, "", nil},
	} {
		if _, err := r.Change(ctx, c.by, "ada", c.what); rule(err) != c.want || !errors.Is(err, c.is) {
			t.Errorf("%+v: got %v, want %q, %v", c, err, c.want, c.is)
		}
	}
	if _, err := r.Change(ctx, "root", "nobody", people.Change{Role: &role}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("got %v", err)
	}

	for _, c := range []struct {
		n    people.NewToken
		want people.Rule
	}{
		{people.NewToken{Name: " ", Scopes: []string{"read"}}, people.RuleToken},
		{people.NewToken{Name: strings.Repeat("é", people.MaxTokenName+1), Scopes: []string{"read"}}, people.RuleToken},
		{people.NewToken{Name: "x"}, people.RuleToken},
		{people.NewToken{Name: "x", Scopes: []string{"everything"}}, people.RuleToken},
		{people.NewToken{Name: strings.Repeat("é", people.MaxTokenName), Scopes: []string{"read", "check", "read"}, Lasts: 1e18}, ""},
	} {
		_, got, err := r.MakeToken(ctx, "ada", c.n)
		if rule(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%+v: got %v, want %q", c.n, err, c.want)
		}
		if err == nil && (!cmp.Equal(got.Scopes, []string{"read", "check"}) || !got.Expires.Equal(start.Add(people.TokenTime))) {
			t.Errorf("got %+v", got)
		}
	}
	_, _, err := r.MakeToken(ctx, "ada", people.NewToken{Name: "x", Scopes: []string{"check"}, Within: []string{"read"}})
	if !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("a token made another that may do more: %v", err)
	}
}
