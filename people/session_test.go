package people_test

import (
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

// names returns the names of the tokens of an account and a purpose, in order.
func names(t *testing.T, db *store.DB, account string, p store.Purpose) (out []string) {
	t.Helper()
	_, all, err := db.Tokens(t.Context(), account, p)
	must(t, err)
	for _, one := range all {
		out = append(out, one.Name)
	}
	slices.Sort(out)
	return out
}

// TestSessions: signing in ends the session that the browser had and no other; one is ended by its id, all others by their word, and
// nothing by a word that is neither.
func TestSessions(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	must(t, db.CreateAccount(ctx, store.Account{Name: "ada", Role: store.RoleOfficer, Created: start}))
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

// TestSetPassword: a new password ends sessions and links; tokens of programs only if that is asked for, and then all.
func TestSetPassword(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	for _, name := range []string{"ada", "bob"} {
		must(t, db.CreateAccount(ctx, store.Account{Name: name, Role: store.RoleOfficer, Created: start}))
		for _, p := range []store.Purpose{store.PurposeJoin, store.PurposeSession, store.PurposeAPI} {
			for _, n := range []string{"1", "2"} {
				must(t, db.PutToken(ctx, name+n+string(p), store.Token{Purpose: p, Account: name, Name: n, Made: start, Expires: start.Add(time.Hour)}))
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

// TestRecognize: somebody whom a provider vouches for gets the role that it says, if the site lets it, and none by an account that is
// disabled or gone.
func TestRecognize(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	must(t, db.CreateLinked(ctx, store.Account{Name: "ada", Role: store.RoleOfficer, Created: start},
		store.Identity{Issuer: "i", Subject: "s", Made: start}))
	must(t, db.CreateLinked(ctx, store.Account{Name: "bob", Role: store.RoleOfficer, Created: start, Disabled: true},
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

// TestConnect: an account is taken by the name that a provider vouches for only if it is nobody's yet, and never an administrator's.
func TestConnect(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{})
	for name, a := range map[string]store.Account{"ada": {}, "off": {Disabled: true}, "root": {Role: store.RoleAdministrator}, "eve": {}} {
		a.Name, a.Created = name, start
		if a.Role == "" {
			a.Role = store.RoleOfficer
		}
		must(t, db.CreateAccount(ctx, a))
	}
	for i, c := range []struct {
		issuer, subject, account string
		is                       error
	}{
		{"i", "1", "root", concordat.ErrRefused},
		{"i", "1", "off", concordat.ErrRefused},
		{"i", "1", "gone", concordat.ErrNotFound},
		{"i", "1", "ada", nil},
		{"i", "2", "ada", concordat.ErrRefused}, // another person of the same provider
		{"j", "2", "ada", nil},
	} {
		a, err := r.Connect(ctx, people.Person{Issuer: c.issuer, Subject: c.subject}, c.account)
		if !errors.Is(err, c.is) || err == nil && a.Name != c.account {
			t.Errorf("%d: got %q, %v, want %v", i, a.Name, err, c.is)
		}
	}
	for account, want := range map[string]int{"ada": 2, "root": 0, "off": 0} {
		if ids, err := db.Identities(ctx, account); err != nil || len(ids) != want {
			t.Errorf("%s has %d identities, %v, want %d", account, len(ids), err, want)
		}
	}
}
