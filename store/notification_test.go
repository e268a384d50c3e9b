package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

func notification(account, activity string) store.Notification {
	return store.Notification{ID: account + "-" + activity, Account: account, Activity: activity, Kind: "Offer coar-notify:ReviewAction",
		Origin: "https://repo.example.edu", Inbox: "https://repo.example.edu/inbox", Object: "https://repo.example.edu/1",
		Body: []byte(`{"id": "x"}`), State: store.NotificationFetching, Due: start, Made: start}
}

func reply(id string) store.NotificationAnswer {
	return store.NotificationAnswer{ID: id, Kind: "Accept", Body: []byte(`{}`), State: store.DeliveryPending, Due: start,
		Until: start.Add(time.Hour), Made: start}
}

// testNotifications: a notification is accepted once, processed by one process at a time, and deleted with its check.
func testNotifications(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx, in := t.Context(), db.Notifications
	for _, name := range []string{"ada", "eve"} {
		must(t, db.People.CreateAccount(ctx, store.Account{Name: name, Role: store.RoleOfficer, Created: start}))
	}
	want := notification("ada", "urn:1")
	got, fresh, err := in.TakeNotification(ctx, want, reply("a"))
	must(t, err)
	want.Seq = got.Seq
	if d := cmp.Diff(want, got); d != "" || !fresh {
		t.Errorf("fresh %v: %s", fresh, d)
	}
	again := notification("ada", "urn:1")
	again.ID, again.Object = "other", "https://repo.example.edu/2"
	if got, fresh, err = in.TakeNotification(ctx, again, reply("b")); err != nil || fresh || got.ID != want.ID || got.Object != want.Object {
		t.Errorf("the same again: %+v, %v, %v", got, fresh, err)
	}
	if _, fresh, err = in.TakeNotification(ctx, notification("eve", "urn:1")); err != nil || !fresh {
		t.Errorf("of another account: %v, %v", fresh, err)
	}
	if all, err := in.ListNotifications(ctx, "ada", 0, 10); err != nil || len(all) != 1 {
		t.Errorf("got %+v, %v", all, err)
	}
	must(t, db.People.UpdateAccount(ctx, store.Account{Name: "eve", Role: store.RoleOfficer, Disabled: true}))
	n, err := in.ClaimNotification(ctx, time.Minute)
	must(t, err)
	if n.ID != want.ID {
		t.Errorf("claimed %s", n.ID)
	}
	_, err = in.ClaimNotification(ctx, time.Minute)
	wantErr(t, err, concordat.ErrNotFound) // one is claimed, and the other is from a disabled account
	n.Task, n.State, n.Due = "task", store.NotificationChecking, start
	must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: "task", Title: "T", Made: start}, Owner: "ada",
		Request: []byte("{}")}))
	must(t, in.KeepNotification(ctx, store.NotificationFetching, n, reply("c")))
	wantErr(t, in.KeepNotification(ctx, store.NotificationFetching, n), concordat.ErrNotFound)
	n.State = "nonsense"
	wantErr(t, in.KeepNotification(ctx, store.NotificationChecking, n), concordat.ErrInvalid)
	_, err = in.ClaimNotification(ctx, time.Minute)
	wantErr(t, err, concordat.ErrNotFound) // the check is queued
	must(t, db.Checks.CancelTask(ctx, "task", store.Cause{Code: store.CauseCancelled}))
	if n, err = in.ClaimNotification(ctx, time.Minute); err != nil || n.State != store.NotificationChecking {
		t.Errorf("got %+v, %v", n, err)
	}
	c.move(time.Hour)
	if n, err := in.ForgetNotifications(ctx, start.Add(time.Minute)); n != 1 || err != nil { // the notification of the disabled account
		t.Errorf("%d were forgotten, %v", n, err)
	}
	if _, err := in.Notification(ctx, want.ID); err != nil {
		t.Errorf("an open one was forgotten: %v", err)
	}
	_, err = db.Retention.EraseTask(ctx, "task")
	must(t, err)
	_, err = in.Notification(ctx, want.ID)
	wantErr(t, err, concordat.ErrNotFound)
	if rs, err := in.NotificationAnswers(ctx, want.ID); len(rs) > 0 || err != nil {
		t.Errorf("answers stay: %+v, %v", rs, err)
	}
}

// testReplies: replies to a notification are sent one after the other until they expire, and are dropped if the notification is
// withdrawn.
func testReplies(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx, in := t.Context(), db.Notifications
	must(t, db.People.CreateAccount(ctx, store.Account{Name: "ada", Role: store.RoleOfficer, Created: start}))
	n := notification("ada", "urn:1")
	_, _, err := in.TakeNotification(ctx, n, reply("a"), reply("b"))
	must(t, err)
	r, of, err := in.ClaimReply(ctx, time.Minute)
	if err != nil || r.ID != "a" || of.ID != n.ID || r.Attempts != 1 {
		t.Errorf("got %+v of %+v, %v", r, of, err)
	}
	_, _, err = in.ClaimReply(ctx, time.Minute)
	wantErr(t, err, concordat.ErrNotFound) // reply b waits for reply a
	late := r
	late.Attempts = 2
	wantErr(t, in.KeepReply(ctx, late), concordat.ErrNotFound)
	r.State, r.Status, r.Ended = store.DeliveryDelivered, 201, start
	must(t, in.KeepReply(ctx, r))
	must(t, in.ObjectReply(ctx, "ada", "a", "what is this?"))
	must(t, in.ObjectReply(ctx, "eve", "a", "not hers"))
	if r, _, err = in.ClaimReply(ctx, time.Minute); err != nil || r.ID != "b" {
		t.Errorf("got %+v, %v", r, err)
	}
	c.move(2 * time.Hour)
	_, _, err = in.ClaimReply(ctx, time.Minute)
	wantErr(t, err, concordat.ErrNotFound)
	rs, err := in.NotificationAnswers(ctx, n.ID)
	must(t, err)
	if len(rs) != 2 || rs[0].Cause != "what is this?" || rs[0].State != store.DeliveryDelivered || rs[1].State != store.DeliveryDead ||
		rs[1].Cause != "its time was over" {
		t.Errorf("got %+v", rs)
	}
	if k, err := in.ReplayReplies(ctx, n.ID, start.Add(9*time.Hour)); k != 1 || err != nil {
		t.Errorf("%d are sent again, %v", k, err)
	}
	n.State = store.NotificationWithdrawn
	must(t, in.KeepNotification(ctx, store.NotificationFetching, n))
	_, _, err = in.ClaimReply(ctx, time.Minute)
	wantErr(t, err, concordat.ErrNotFound) // the reply was dropped
	if k, err := in.ForgetNotifications(ctx, start.Add(time.Minute)); k != 1 || err != nil {
		t.Errorf("%d were forgotten, %v", k, err)
	}
}

// testForgottenNotifications: a finished notification is deleted after a time, once its replies have ended too; a disabled account's
// notifications are deleted in any state, because nothing would end them.
func testForgottenNotifications(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx, in := t.Context(), db.Notifications
	for _, name := range []string{"ada", "eve"} {
		must(t, db.People.CreateAccount(ctx, store.Account{Name: name, Role: store.RoleOfficer, Created: start}))
	}
	take := func(account, activity string, state store.NotificationState, answers ...store.NotificationAnswer) {
		n := notification(account, activity)
		n.State = state
		_, _, err := in.TakeNotification(ctx, n, answers...)
		must(t, err)
	}
	take("ada", "open", store.NotificationFetching)
	take("ada", "noted", store.NotificationNoted)
	take("ada", "answering", store.NotificationRefused, reply("a"))
	take("eve", "open", store.NotificationFetching)
	take("eve", "checking", store.NotificationChecking, reply("b"))
	must(t, db.People.UpdateAccount(ctx, store.Account{Name: "eve", Role: store.RoleOfficer, Disabled: true}))
	c.move(time.Minute)
	forget := func(want int64, left ...string) {
		t.Helper()
		n, err := in.ForgetNotifications(ctx, start.Add(time.Second))
		must(t, err)
		all, err := in.ListNotifications(ctx, "", 0, 0)
		must(t, err)
		var ids []string
		for _, n := range all {
			ids = append(ids, n.ID)
		}
		if n != want || !slices.Equal(ids, left) {
			t.Errorf("%d were forgotten, left %v, want %d, %v", n, ids, want, left)
		}
	}
	forget(3, "ada-answering", "ada-open")
	c.move(2 * time.Hour) // the reply has expired
	_, _, err := in.ClaimReply(ctx, time.Minute)
	wantErr(t, err, concordat.ErrNotFound)
	forget(1, "ada-open")
}
