package people_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"concordat"
	"concordat/people"
	"concordat/store"
)

// accounts creates the accounts ada and bob, and the public accounts eve and mia.
func accounts(t *testing.T, db *store.DB) map[string]store.Account {
	t.Helper()
	out := map[string]store.Account{}
	for name, public := range map[string]bool{"ada": false, "bob": false, "eve": true, "mia": true} {
		must(t, db.People.CreateAccount(t.Context(), store.Account{Name: name, Role: store.RoleSubmitter, Created: start, Public: public}))
		var err error
		out[name], err = db.People.Account(t.Context(), name)
		must(t, err)
	}
	return out
}

// used returns the quota that an error reports as exhausted and its owner, or ok if there is no error.
func used(t *testing.T, err error) string {
	t.Helper()
	var q *store.QuotaUsed
	var c *people.TooManyOpen
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &q) && errors.Is(err, concordat.ErrRefused):
		return q.Kind + " of " + q.Who
	case errors.As(err, &c) && errors.Is(err, concordat.ErrRefused):
		return fmt.Sprint("crowded, public ", c.Public)
	}
	t.Fatalf("got %v", err)
	return ""
}

// TestQuota: an account is charged for its use. A self-registered account is also charged to its address, under the limits for such
// accounts. Anything without a limit is not charged.
func TestQuota(t *testing.T) {
	const home, work = "192.0.2.1", "192.0.2.2"
	r, db, _ := newRegistry(t, people.Policy{Quota: people.Quota{Documents: 3, Bytes: 100},
		PublicQuota: people.Quota{Documents: 2, Bytes: 50}})
	as := accounts(t, db)
	for i, c := range []struct {
		who, from        string
		documents, bytes int
		want             string
	}{
		{"ada", home, 3, 100, "ok"},
		{"ada", home, 1, 0, "documents of account/ada"},
		{"bob", home, 2, 101, "bytes of account/bob"},
		{"bob", home, 3, 100, "ok"}, // refused attempts are not charged, not even to the address
		{"eve", home, 1, 10, "ok"},
		{"mia", home, 1, 30, "ok"},
		{"mia", home, 1, 1, "documents of address/" + home},
		{"mia", work, 0, 11, "ok"},
		{"mia", work, 1, 10, "bytes of account/mia"},
		{"eve", "", 1, 40, "ok"}, // from an unknown address
	} {
		done, err := r.Spend(t.Context(), as[c.who], c.from, c.documents, int64(c.bytes))
		if err == nil {
			done()
		}
		if got := used(t, err); got != c.want {
			t.Errorf("%d: %s spends %d, %d: got %s, want %s", i, c.who, c.documents, c.bytes, got, c.want)
		}
	}
	free, db, _ := newRegistry(t, people.Policy{})
	as = accounts(t, db)
	for range 3 {
		_, err := free.Spend(t.Context(), as["ada"], home, 1_000_000, 1<<50)
		must(t, err)
	}
	must(t, free.Lose(t.Context(), as["ada"], home, 1<<50))
	must(t, free.MayUpload(t.Context(), as["ada"], home))
	must(t, free.Admit(t.Context(), "ada", 1_000_000, 1<<50))
}

// TestMayUpload: anyone with an exhausted quota is refused before anything is read; bytes of failed uploads are charged, even beyond the
// limit, but documents are not.
func TestMayUpload(t *testing.T) {
	const home = "192.0.2.1"
	r, db, _ := newRegistry(t, people.Policy{Quota: people.Quota{Documents: 2, Bytes: 100, Characters: 500},
		PublicQuota: people.Quota{Documents: 5, Bytes: 100}})
	as := accounts(t, db)
	may := func(who, want string) {
		t.Helper()
		if got := used(t, r.MayUpload(t.Context(), as[who], home)); got != want {
			t.Errorf("%s: got %s, want %s", who, got, want)
		}
	}
	may("ada", "ok")
	must(t, r.Lose(t.Context(), as["ada"], home, 99))
	may("ada", "ok")
	must(t, r.Lose(t.Context(), as["ada"], home, 1_000_000))
	may("ada", "bytes of account/ada")
	must(t, r.Lose(t.Context(), as["eve"], home, 100))
	may("eve", "bytes of account/eve")
	may("mia", "bytes of address/"+home)
	_, err := r.Spend(t.Context(), as["bob"], home, 2, 0)
	must(t, err)
	may("bob", "documents of account/bob")

	r, db, _ = newRegistry(t, people.Policy{Quota: people.Quota{Characters: 500}})
	as = accounts(t, db)
	must(t, r.Admit(t.Context(), "ada", 1, 499))
	may("ada", "ok")
	must(t, r.Admit(t.Context(), "ada", 1, 1))
	may("ada", "characters of account/ada")
}

// open queues n checks of an owner.
func open(t *testing.T, db *store.DB, owner string, n int) {
	t.Helper()
	for i := range n {
		task := concordat.Task{ID: concordat.TaskID(fmt.Sprint(owner, "-", i)), Made: start}
		must(t, db.Checks.CreateTask(t.Context(), store.Task{Task: task, Owner: owner}))
	}
}

// TestRoom: the number of open checks is limited for an account and for all public accounts together, even if two requests arrive at
// once; public accounts do not exclude the site's own people.
func TestRoom(t *testing.T) {
	const home = "192.0.2.1"
	r, db, _ := newRegistry(t, people.Policy{Quota: people.Quota{Open: 2}, PublicQueue: 3})
	as := accounts(t, db)
	spend := func(who string, n int, want string) {
		t.Helper()
		done, err := r.Spend(t.Context(), as[who], home, n, 0)
		if err == nil {
			done()
		}
		if got := used(t, err); got != want {
			t.Errorf("%s hands in %d: got %s, want %s", who, n, got, want)
		}
	}
	spend("ada", 2, "ok")
	spend("ada", 3, "crowded, public false")
	spend("eve", 3, "ok")
	spend("eve", 4, "crowded, public true")
	open(t, db, "ada", 2)
	open(t, db, "eve", 3)
	spend("ada", 1, "crowded, public false")
	spend("bob", 2, "ok")
	spend("mia", 1, "crowded, public true")
	if got := used(t, r.MayUpload(t.Context(), as["mia"], home)); got != "crowded, public true" {
		t.Errorf("may upload: %s", got)
	}

	done, err := r.Spend(t.Context(), as["bob"], home, 2, 0)
	must(t, err)
	second := make(chan error, 1)
	go func() {
		_, err := r.Spend(t.Context(), as["bob"], home, 1, 0)
		second <- err
	}()
	open(t, db, "bob", 2)
	done()
	if got := used(t, <-second); got != "crowded, public false" {
		t.Errorf("a second request while the first enters the queue: %s", got)
	}
}

// TestAdmit: the contents of an archive are charged once they are known. A check from the command line has no owner with a quota. If an
// owner cannot be looked up, nothing is admitted.
func TestAdmit(t *testing.T) {
	r, db, _ := newRegistry(t, people.Policy{Quota: people.Quota{Documents: 10, Characters: 1000, Open: 6}})
	accounts(t, db)
	for i, c := range []struct {
		owner                 string
		documents, characters int
		want                  string
	}{
		{"nobody", 1000, 1 << 40, "ok"},
		{"ada", 6, 0, "ok"}, // five more than the document charged on arrival
		{"ada", 6, 0, "ok"},
		{"ada", 2, 0, "documents of account/ada"},
		{"bob", 1, 1000, "ok"},
		{"bob", 1, 1, "characters of account/bob"},
	} {
		if got := used(t, r.Admit(t.Context(), c.owner, c.documents, int64(c.characters))); got != c.want {
			t.Errorf("%d: %s: got %s, want %s", i, c.owner, got, c.want)
		}
	}
	if err := r.Admit(t.Context(), "bob", 7, 0); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("an archive of more documents than may be open: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Admit(ctx, "ada", 1, 1); err == nil {
		t.Error("let in, though the owner could not be looked up")
	}
}

// TestRegister: the number of accounts that an address can create in a day is limited, counting attempts with names already taken, and so
// is the total number of accounts on a site.
func TestRegister(t *testing.T) {
	ctx := t.Context()
	r, db, _ := newRegistry(t, people.Policy{PublicAccounts: 3})
	try := func(name, address string, want error) {
		t.Helper()
		link, err := r.Register(ctx, name, address, time.Hour)
		if !errors.Is(err, want) || err == nil && !link.Expires.Equal(start.Add(time.Hour)) {
			t.Errorf("%s from %s: got %+v, %v, want %v", name, address, link, err, want)
		}
	}
	try("a", "1", nil)
	try("a", "1", concordat.ErrExists)
	try("b", "1", nil)
	try("c", "1", concordat.ErrRefused)
	try("c", "2", nil)
	try("d", "3", people.ErrFull)
	a, err := db.People.Account(ctx, "c")
	if err != nil || a.Role != store.RoleSubmitter || !a.Public {
		t.Errorf("got %+v, %v, want a public submitter", a, err)
	}
}

// TestRegisterLinks: the link of a self-registered account works, and no account is created if the link cannot be stored.
func TestRegisterLinks(t *testing.T) {
	ctx := t.Context()
	r, db, raw := prepared(t)
	link, err := r.Register(ctx, "eve", "1", 2*people.JoinTime)
	must(t, err)
	if !link.Expires.Equal(start.Add(people.JoinTime)) {
		t.Errorf("it works until %s", link.Expires)
	}
	a, err := r.Join(ctx, link.Key, "hash")
	if err != nil || a.Name != "eve" {
		t.Errorf("joined as %q, %v", a.Name, err)
	}
	refuse(t, raw, "INSERT", "token")
	if _, err := r.Register(ctx, "mia", "1", time.Hour); err == nil {
		t.Error("registered without a link")
	}
	if _, err := db.People.Account(ctx, "mia"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the account is there: %v", err)
	}
}

// TestDefaults: without a policy, public accounts can have 20 checks open together, and an address can create three accounts in a day.
func TestDefaults(t *testing.T) {
	r, db, _ := newRegistry(t, people.Policy{})
	as := accounts(t, db)
	open(t, db, "mia", 19)
	if got := used(t, r.MayUpload(t.Context(), as["eve"], "1")); got != "ok" {
		t.Errorf("the twentieth: %s", got)
	}
	open(t, db, "eve", 1)
	if got := used(t, r.MayUpload(t.Context(), as["eve"], "1")); got != "crowded, public true" {
		t.Errorf("one more: %s", got)
	}
}
