package store_test

import (
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

// testRestored: after a restore, whatever was revoked since the copy was made stays revoked, and everything else is unchanged.
func testRestored(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	must(t, db.People.CreateAccount(ctx, store.Account{Name: "ada", Role: store.RoleAdministrator, Created: c.now()}))
	for _, purpose := range []store.Purpose{store.PurposeSession, store.PurposeJoin, store.PurposeAPI} {
		must(t, db.People.PutToken(ctx, "secret "+string(purpose), store.Token{Purpose: purpose, Account: "ada", Name: "x",
			Scopes: []string{"read"},
			Made:   c.now(), Expires: c.now().Add(time.Hour)}))
	}
	must(t, db.Partners.PutCard(ctx, "site", 1, []byte("card")))
	for range 2 { // a second call is harmless
		must(t, db.Restored(ctx))
	}
	for purpose, stays := range map[store.Purpose]bool{store.PurposeSession: false, store.PurposeJoin: false, store.PurposeAPI: true} {
		if _, err := db.People.Token(ctx, "secret "+string(purpose), purpose); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %v", purpose, err, stays)
		}
	}
	sites, err := db.Partners.CardSites(ctx)
	must(t, err)
	if len(sites) != 1 {
		t.Errorf("cards of %v", sites)
	}
	must(t, db.LeaveFederations(ctx))
	sites, err = db.Partners.CardSites(ctx)
	must(t, err)
	if len(sites) != 0 {
		t.Errorf("after leaving: cards of %v", sites)
	}
}

func testCounts(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	oldest, err := db.Checks.OldestQueued(ctx)
	must(t, err)
	if !oldest.IsZero() {
		t.Errorf("without tasks: %s", oldest)
	}
	first := c.now()
	must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: "a", Made: first}}))
	c.move(time.Hour)
	must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: "b", Made: c.now()}}))
	oldest, err = db.Checks.OldestQueued(ctx)
	must(t, err)
	if !oldest.Equal(first) {
		t.Errorf("oldest %s, want %s", oldest, first)
	}
	n, err := db.Webhooks.DeliveryCounts(ctx)
	must(t, err)
	if len(n) != 0 {
		t.Errorf("deliveries %v", n)
	}
}
