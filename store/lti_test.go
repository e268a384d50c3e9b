package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

func testIdentities(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	must(t, db.People.CreateAccount(ctx, account("ada", store.RoleOfficer)))
	link := store.Identity{Issuer: "https://id.example.edu", Subject: "s-1", Account: "ada", Made: start}
	must(t, db.People.LinkIdentity(ctx, link))
	wantErr(t, db.People.LinkIdentity(ctx, link), concordat.ErrExists)
	wantErr(t, db.People.LinkIdentity(ctx, store.Identity{Issuer: "x", Subject: "s-2", Account: "nobody", Made: start}), concordat.ErrNotFound)
	wantErr(t, db.People.LinkIdentity(ctx, store.Identity{Issuer: "x", Account: "ada", Made: start}), concordat.ErrInvalid)
	_, err := db.People.Identity(ctx, "https://other.example.edu", "s-1") // the same name at another provider is a different person
	wantErr(t, err, concordat.ErrNotFound)

	bo := account("bo", store.RoleSubmitter)
	wantErr(t, db.People.CreateLinked(ctx, bo, link), concordat.ErrExists)
	_, err = db.People.Account(ctx, "bo") // account and link are created together or not at all
	wantErr(t, err, concordat.ErrNotFound)
	must(t, db.People.CreateLinked(ctx, bo, store.Identity{Issuer: "i", Subject: "s", Made: start}))

	c.move(time.Hour)
	must(t, db.People.UseIdentity(ctx, link.Issuer, link.Subject))
	link.Used = c.now()
	got, err := db.People.Identity(ctx, link.Issuer, link.Subject)
	must(t, err)
	if d := cmp.Diff(link, got); d != "" {
		t.Error(d)
	}
	all, err := db.People.Identities(ctx, "")
	must(t, err)
	if len(all) != 2 || all[1].Account != "bo" {
		t.Errorf("got %v", all)
	}
	must(t, db.People.PutToken(ctx, "session", store.Token{Purpose: store.PurposeSession, Account: "ada", Made: start,
		Expires: start.Add(9 * time.Hour)}))
	must(t, db.People.UnlinkIdentity(ctx, link.Issuer, link.Subject))
	wantErr(t, db.People.UnlinkIdentity(ctx, link.Issuer, link.Subject), concordat.ErrNotFound)
	_, err = db.People.Token(ctx, "session", store.PurposeSession)
	wantErr(t, err, concordat.ErrNotFound)
}

func testFlows(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	must(t, db.People.PutFlow(ctx, "state", "secret", "data", start.Add(time.Minute)))
	wantErr(t, db.People.PutFlow(ctx, "state", "secret", "other", start.Add(time.Minute)), concordat.ErrExists)
	_, err := db.People.TakeFlow(ctx, "other", "secret")
	wantErr(t, err, concordat.ErrNotFound)
	got, err := db.People.Flow(ctx, "state", "secret")
	must(t, err)
	if got != "data" {
		t.Errorf("got %q", got)
	}
	got, err = db.People.TakeFlow(ctx, "state", "secret")
	must(t, err)
	if got != "data" {
		t.Errorf("got %q", got)
	}
	_, err = db.People.TakeFlow(ctx, "state", "secret") // a flow can be taken once
	wantErr(t, err, concordat.ErrNotFound)
	must(t, db.People.PutFlow(ctx, "state", "late", "data", start.Add(time.Minute)))
	c.move(time.Minute)
	_, err = db.People.TakeFlow(ctx, "state", "late")
	wantErr(t, err, concordat.ErrNotFound)
	must(t, db.People.PutFlow(ctx, "state", "late", "again", c.now().Add(time.Minute))) // what has expired is deleted
}

func ltiPlatform(id string) store.LTIPlatform {
	return store.LTIPlatform{ID: id, Name: "Moodle <" + id + ">", Issuer: "https://" + id + ".example.edu", Client: "client", AuthURL: "a",
		TokenURL: "t",
		KeysURL:  "k", Deployments: []string{"1", "2"}, Hosts: []string{}, Made: start}
}

func testLTIPlatforms(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	one := ltiPlatform("one")
	must(t, db.LTI.PutLTIPlatform(ctx, one))
	must(t, db.LTI.PutLTIPlatform(ctx, ltiPlatform("two")))
	same := one
	same.ID = "three"
	wantErr(t, db.LTI.PutLTIPlatform(ctx, same), concordat.ErrExists)
	one.Disabled, one.Hosts = true, []string{".example.edu"}
	must(t, db.LTI.PutLTIPlatform(ctx, one))
	got, err := db.LTI.LTIPlatform(ctx, "one")
	must(t, err)
	if d := cmp.Diff(one, got); d != "" {
		t.Error(d)
	}
	other := one
	other.ID, other.Client = "other", "client 2"
	must(t, db.LTI.PutLTIPlatform(ctx, other))
	for client, want := range map[string]int{"": 2, "client 2": 1, "none": 0} {
		if found, err := db.LTI.LTIIssuer(ctx, one.Issuer, client); err != nil || len(found) != want {
			t.Errorf("client %q: %v, %v", client, found, err)
		}
	}
	must(t, db.LTI.PutLTIChoices(ctx, "one", "p", "", []byte(`{"a":1}`)))
	must(t, db.LTI.PutLTIChoices(ctx, "one", "p", "course 2", []byte(`{"a":2}`)))
	for context, want := range map[string]string{"course 1": `{"a":1}`, "course 2": `{"a":2}`, "": `{"a":1}`} {
		if got, err := db.LTI.LTIChoices(ctx, "one", "p", context); err != nil || string(got) != want {
			t.Errorf("context %q: %s, %v", context, got, err)
		}
	}
	must(t, db.LTI.DeleteLTIPlatform(ctx, "one"))
	wantErr(t, db.LTI.DeleteLTIPlatform(ctx, "one"), concordat.ErrNotFound)
	_, err = db.LTI.LTIChoices(ctx, "one", "p", "")
	wantErr(t, err, concordat.ErrNotFound)
	all, err := db.LTI.LTIPlatforms(ctx)
	must(t, err)
	if len(all) != 2 || all[0].ID != "other" {
		t.Errorf("got %v", all)
	}
}

func ltiAsset(n int) store.LTIAsset {
	return store.LTIAsset{ID: fmt.Sprintf("id-%d", n), Platform: "one", Deployment: "1", Context: "course",
		Asset: fmt.Sprintf("asset-%d", n), Learner: "u",
		URL: "https://one.example.edu/a", ReportURL: "https://one.example.edu/r", Title: "Essay", Made: start}
}

func testLTIAssets(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	take := func(notice string, want bool, assets ...store.LTIAsset) {
		t.Helper()
		fresh, err := db.LTI.TakeLTINotice(ctx, notice, start.Add(100*24*time.Hour), assets)
		must(t, err)
		if fresh != want {
			t.Errorf("notice %s is new: %v", notice, fresh)
		}
	}
	take("n1", true, ltiAsset(1), ltiAsset(2))
	take("n1", false, ltiAsset(3)) // a replay changes nothing
	claim := func() store.LTIAsset {
		t.Helper()
		a, err := db.LTI.ClaimLTIAsset(ctx, time.Minute)
		must(t, err)
		return a
	}
	none := func() {
		t.Helper()
		_, err := db.LTI.ClaimLTIAsset(ctx, time.Minute)
		wantErr(t, err, concordat.ErrNotFound)
	}
	a, b := claim(), claim()
	if a.ID != "id-1" || b.ID != "id-2" || a.State != store.LTIFetch {
		t.Fatalf("claimed %v and %v", a, b)
	}
	none()
	c.move(time.Minute) // the process with these claims has crashed
	a, b = claim(), claim()

	// While its check is running, the asset needs no work.
	must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: "task-1", Title: "x", Made: start}}))
	a.State, a.Told, a.Task, a.Due = store.LTIChecks, "Processing", "task-1", c.now()
	must(t, db.LTI.SetLTIAsset(ctx, a))
	b.State, b.Code, b.Cause, b.Due = store.LTIFailed, "DOWNLOAD_FAILED", "gone", c.now()
	must(t, db.LTI.SetLTIAsset(ctx, b))
	none()
	must(t, db.Checks.CancelTask(ctx, "task-1", store.Cause{Detail: "stop"}))
	if a = claim(); a.ID != "id-1" || a.Task != "task-1" || a.Told != "Processing" {
		t.Fatalf("claimed %v", a)
	}
	k, err := db.LTI.LTICheck(ctx, "task-1")
	must(t, err)
	if d := cmp.Diff(store.LTICheck{Task: "task-1", Platform: "one", Deployment: "1", Context: "course", Learner: "u", Made: start},
		k); d != "" {
		t.Error(d)
	}
	a.State = store.LTIDone
	must(t, db.LTI.SetLTIAsset(ctx, a))
	none()
	if ks, err := db.LTI.LTIChecks(ctx, "one", "1", "course", "", 0); err != nil || len(ks) != 1 {
		t.Errorf("checks %v, %v", ks, err)
	}
	if ks, err := db.LTI.LTIChecks(ctx, "one", "2", "course", "", 0); err != nil || len(ks) != 0 {
		t.Errorf("checks of another deployment %v, %v", ks, err)
	}

	// The teacher asks again: failed assets are fetched again, and the results of finished ones are reported again.
	again := ltiAsset(2)
	again.ID, again.URL = "id-9", "https://one.example.edu/new"
	second := ltiAsset(1)
	second.ID = "id-8"
	take("n2", true, second, again)
	a, b = claim(), claim()
	if a.ID != "id-1" || a.State != store.LTIChecks || a.Task != "task-1" || b.ID != "id-2" || b.State != store.LTIFetch ||
		b.URL != again.URL || b.Code != "" {
		t.Errorf("claimed %v and %v", a, b)
	}
	found, err := db.LTI.FindLTIAsset(ctx, "one", "1", "asset-1", "")
	must(t, err)
	if found.ID != "id-1" {
		t.Errorf("found %v", found)
	}
	_, err = db.LTI.FindLTIAsset(ctx, "one", "2", "asset-1", "")
	wantErr(t, err, concordat.ErrNotFound)
	all, err := db.LTI.LTIAssets(ctx, 0)
	must(t, err)
	if len(all) != 2 {
		t.Errorf("assets %v", all)
	}
	_, err = db.Retention.EraseTask(ctx, "task-1") // nothing about the owner remains
	must(t, err)
	_, err = db.LTI.LTICheck(ctx, "task-1")
	wantErr(t, err, concordat.ErrNotFound)
	_, err = db.LTI.FindLTIAsset(ctx, "one", "1", "asset-1", "")
	wantErr(t, err, concordat.ErrNotFound)
	gone := a
	gone.ID = "none"
	wantErr(t, db.LTI.SetLTIAsset(ctx, gone), concordat.ErrNotFound)
	gone.State = "odd"
	wantErr(t, db.LTI.SetLTIAsset(ctx, gone), concordat.ErrInvalid)
}
