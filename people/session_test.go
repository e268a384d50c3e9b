package people_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/people"
	"concordat/store"
)

// names returns the sorted names of an account's tokens for a purpose.
func names(t *testing.T, db *store.DB, account string, p store.Purpose) (out []string) {
	t.Helper()
	_, all, err := db.People.Tokens(t.Context(), account, p)
	must(t, err)
	for _, one := range all {
		out = append(out, one.Name)
	}
	slices.Sort(out)
	return out
}

// TestSessions: signing in ends only the browser's previous session. A session is ended by its ID, all others are ended on request, and
// any other value ends none.
func TestSessions(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	must(t, db.People.CreateAccount(ctx, store.Account{Name: "ada", Role: store.RoleOfficer, Created: start}))
	secrets := map[string]string{}
	begin := func(former, agent string) {
		t.Helper()
		s, err := r.Begin(ctx, "ada", former, agent)
		must(t, err)
		secrets[agent] = s
	}
	want := func(all ...string) {
		t.Helper()
		if got := names(t, db, "ada", store.PurposeSession); !slices.Equal(got, all) {
			t.Errorf("sessions %v, want %v", got, all)
		}
	}
	begin("", "a")
	begin("", "b")
	begin(secrets["a"], "c")
	begin("", "d")
	want("b", "c", "d")
	for _, id := range []store.TokenID{"", "other", store.TokenID(strings.Repeat("x", 31)), store.TokenID(strings.Repeat("x", 33))} {
		if err := r.EndSessions(ctx, "ada", id, ""); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("session %q: %v", id, err)
		}
	}
	want("b", "c", "d")
	must(t, r.EndSessions(ctx, "ada", store.SecretID(secrets["b"]), store.SecretID(secrets["d"])))
	want("c", "d")
	must(t, r.EndSessions(ctx, "ada", people.Others, store.SecretID(secrets["d"])))
	want("d")
	must(t, r.End(ctx, secrets["d"]))
	want()
	must(t, r.End(ctx, secrets["d"]))

	begin("", strings.Repeat("ß", 150)+"\xff")
	if got := names(t, db, "ada", store.PurposeSession); got[0] != strings.Repeat("ß", 100) {
		t.Errorf("%d bytes are kept of what a browser says", len(got[0]))
	}
}

// TestSetPassword: a new password ends sessions and links; it revokes programs' tokens only on request, and then all of them.
func TestSetPassword(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	for _, name := range []string{"ada", "bob"} {
		must(t, db.People.CreateAccount(ctx, store.Account{Name: name, Role: store.RoleOfficer, Created: start}))
		for _, p := range []store.Purpose{store.PurposeJoin, store.PurposeSession, store.PurposeAPI} {
			for _, n := range []string{"1", "2"} {
				must(t, db.People.PutToken(ctx, name+n+string(p), store.Token{Purpose: p, Account: name, Name: n, Made: start,
					Expires: start.Add(time.Hour)}))
			}
		}
	}
	want := func(account string, sessions, links, tokens int) {
		t.Helper()
		got := []int{len(names(t, db, account, store.PurposeSession)), len(names(t, db, account, store.PurposeJoin)),
			len(names(t, db, account, store.PurposeAPI))}
		if d := cmp.Diff([]int{sessions, links, tokens}, got); d != "" {
			t.Errorf("sessions, links and tokens of %s: %s", account, d)
		}
	}
	must(t, r.SetPassword(ctx, "ada", "new", false))
	want("ada", 0, 0, 2)
	must(t, r.SetPassword(ctx, "ada", "newer", true))
	want("ada", 0, 0, 0)
	want("bob", 2, 2, 2)
	if err := r.SetPassword(ctx, "nobody", "new", true); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestRecognize: a person identified by a provider gets the role named by the provider, if the site allows it, and no role through a
// disabled or deleted account.
func TestRecognize(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	must(t, db.People.CreateLinked(ctx, store.Account{Name: "ada", Role: store.RoleOfficer, Created: start},
		store.Identity{Issuer: "i", Subject: "s", Made: start}))
	must(t, db.People.CreateLinked(ctx, store.Account{Name: "bob", Role: store.RoleOfficer, Created: start, Disabled: true},
		store.Identity{Issuer: "i", Subject: "b", Made: start}))
	for i, c := range []struct {
		account string
		role    store.Role
		update  bool
		want    store.Role
		is      error
	}{
		{"ada", store.RoleAuditor, false, store.RoleOfficer, nil},
		{"ada", "", false, store.RoleOfficer, nil},
		{"ada", "", true, "", concordat.ErrRefused},
		{"ada", store.RoleAuditor, true, store.RoleAuditor, nil},
		{"bob", store.RoleOfficer, false, "", concordat.ErrRefused},
		{"gone", store.RoleOfficer, false, "", concordat.ErrNotFound},
	} {
		a, err := r.Recognize(ctx, people.Person{Issuer: "i", Subject: "s", Role: c.role}, c.account, c.update)
		if !errors.Is(err, c.is) || err == nil && a.Role != c.want {
			t.Errorf("%d: got %s, %v, want %s, %v", i, a.Role, err, c.want, c.is)
		}
	}
	if got := actions(t, db); len(got) != 1 || !strings.Contains(got[0], "account_role") {
		t.Errorf("the audit has %q, want the one change of a role", got)
	}
}

// TestConnect: an account is linked by the name vouched for by a provider only if it is not linked yet; an administrator's account is
// never linked in this way.
func TestConnect(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	for name, a := range map[string]store.Account{"ada": {}, "off": {Disabled: true}, "root": {Role: store.RoleAdministrator}, "eve": {}} {
		a.Name, a.Created = name, start
		if a.Role == "" {
			a.Role = store.RoleOfficer
		}
		must(t, db.People.CreateAccount(ctx, a))
	}
	for i, c := range []struct {
		issuer, subject, account string
		is                       error
	}{
		{"i", "1", "root", concordat.ErrRefused},
		{"i", "1", "off", concordat.ErrRefused},
		{"i", "1", "gone", concordat.ErrNotFound},
		{"i", "1", "ada", nil},
		{"i", "2", "ada", concordat.ErrRefused}, // another person at the same provider
		{"j", "2", "ada", nil},
	} {
		a, err := r.Connect(ctx, people.Person{Issuer: c.issuer, Subject: c.subject}, c.account)
		if !errors.Is(err, c.is) || err == nil && a.Name != c.account {
			t.Errorf("%d: got %q, %v, want %v", i, a.Name, err, c.is)
		}
	}
	for account, want := range map[string]int{"ada": 2, "root": 0, "off": 0} {
		if ids, err := db.People.Identities(ctx, account); err != nil || len(ids) != want {
			t.Errorf("%s has %d identities, %v, want %d", account, len(ids), err, want)
		}
	}
}

// TestChange: changing the role of an account or disabling it ends the account's sessions and tokens; a new role also ends its status as
// self-registered. Each change has an audit entry, and both together have two; nothing else changes.
func TestChange(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	must(t, db.People.CreateAccount(ctx, store.Account{Name: "eve", Title: "Eve", Role: store.RoleSubmitter, Password: "hash", Created: start,
		Public: true}))
	role, yes, no := store.RoleAuditor, true, false
	want := store.Account{Name: "eve", Title: "Eve", Role: store.RoleSubmitter, Password: "hash", Created: start, Public: true}
	seen := 0
	for i, c := range []struct {
		what  people.Change
		want  func()
		audit []string
	}{
		{people.Change{Disabled: &yes}, func() { want.Disabled = true }, []string{"account_disable"}},
		{people.Change{Disabled: &no}, func() { want.Disabled = false }, []string{"account_enable"}},
		{people.Change{Role: &role}, func() { want.Role, want.Public = role, false }, []string{"account_role"}},
		{people.Change{Role: &role, Disabled: &yes}, func() { want.Disabled = true }, []string{"account_role", "account_disable"}},
	} {
		c.want()
		must(t, db.People.PutToken(ctx, "token", store.Token{Purpose: store.PurposeAPI, Account: "eve", Made: start,
			Expires: start.Add(time.Hour)}))
		got, err := r.Change(ctx, "root", "eve", c.what)
		must(t, err)
		kept, err := db.People.Account(ctx, "eve")
		must(t, err)
		if d := cmp.Diff(want, got) + cmp.Diff(want, kept); d != "" {
			t.Errorf("%d: %s", i, d)
		}
		if left := len(names(t, db, "eve", store.PurposeAPI)); (left > 0) != (i == 1) {
			t.Errorf("%d: %d tokens are left", i, left)
		}
		lines := actions(t, db)
		for j, action := range c.audit {
			if seen+j >= len(lines) || !strings.HasPrefix(lines[seen+j], "root "+action+" ") {
				t.Errorf("%d: the audit has %q, want %q", i, lines[seen:], c.audit)
			}
		}
		if seen += len(c.audit); len(lines) != seen {
			t.Errorf("%d: the audit has %d lines, want %d", i, len(lines), seen)
		}
		must(t, db.People.RevokeToken(ctx, "eve", store.SecretID("token")))
	}
	if _, err := r.Change(ctx, "root", "gone", people.Change{Disabled: &no}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("an account that does not exist: %v", err)
	}
}

// TestAddKeeps: for an account created on someone's behalf, only name, title and role are used; everything else in the request is
// ignored.
func TestAddKeeps(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	said := store.Account{Name: "ada", Title: "Ada", Role: store.RoleOfficer, Password: "hash", Disabled: true, Public: true,
		Created: start.Add(-time.Hour)}
	_, _, err := r.Add(ctx, "root", said)
	must(t, err)
	want := store.Account{Name: "ada", Title: "Ada", Role: store.RoleOfficer, Created: start}
	if got, err := db.People.Account(ctx, "ada"); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	link, err := r.FirstLink(ctx)
	if err != nil || link.Key != "" {
		t.Errorf("a link of the first administrator beside an account: %v, %v", link, err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := r.FirstLink(gone); err == nil {
		t.Error("accounts that could not be read were taken for none to be made")
	}
}

// TestFirst: the first account is an administrator's, whatever else is requested, and is created with a single-use link.
func TestFirst(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	link, err := r.FirstLink(ctx)
	must(t, err)
	if !link.Expires.Equal(start.Add(people.FirstTime)) {
		t.Errorf("it ends at %s", link.Expires)
	}
	said := store.Account{Name: " ada ", Role: store.RoleSubmitter, Password: "hash", Disabled: true, Public: true}
	if _, err := r.First(ctx, "other", said); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("by another key: %v", err)
	}
	_, err = r.First(ctx, link.Key, said)
	must(t, err)
	want := store.Account{Name: "ada", Role: store.RoleAdministrator, Password: "hash", Created: start}
	if got, err := db.People.Account(ctx, "ada"); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	said.Name = "eve"
	if _, err := r.First(ctx, link.Key, said); err == nil {
		t.Error("the link worked twice")
	}
}
