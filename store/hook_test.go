package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

// hooked creates an account with a webhook.
func hooked(t *testing.T, db *store.DB, account string, role store.Role, whole bool, kinds ...store.EventKind) store.Hook {
	t.Helper()
	must(t, db.People.CreateAccount(t.Context(), store.Account{Name: account, Role: role, Created: start}))
	h, err := db.Webhooks.CreateHook(t.Context(), store.Hook{Account: account, Whole: whole, URL: "https://" + account + ".example/",
		Title: "portal", Kinds: kinds})
	must(t, err)
	return h
}

func testHooks(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	h := hooked(t, db, "ada", store.RoleOfficer, false, store.EventCheckDone, store.EventBatchDone)
	got, err := db.Webhooks.Hook(ctx, h.ID)
	must(t, err)
	if d := cmp.Diff(h, got); d != "" || len(h.Secrets) != 1 || len(h.Secrets[0]) != store.HookSecretBytes {
		t.Error(d, h)
	}
	for _, bad := range []store.Hook{{Account: "ada", URL: "https://x"}, {Account: "ada", Kinds: store.EventKinds()},
		{Account: "ada", URL: "https://x", Kinds: []store.EventKind{"song"}}} {
		_, err := db.Webhooks.CreateHook(ctx, bad)
		wantErr(t, err, concordat.ErrInvalid)
	}
	_, err = db.Webhooks.CreateHook(ctx, store.Hook{Account: "nobody", URL: "https://x", Kinds: store.EventKinds()})
	wantErr(t, err, concordat.ErrNotFound)

	// Both secrets are valid during a rotation.
	turned, err := db.Webhooks.RotateHook(ctx, h.ID, time.Hour)
	must(t, err)
	if len(turned.Secrets) != 2 || string(turned.Secrets[1]) != string(h.Secrets[0]) || string(turned.Secrets[0]) == string(h.Secrets[0]) {
		t.Errorf("got %d secrets after a rotation", len(turned.Secrets))
	}
	c.move(time.Hour)
	if got, err = db.Webhooks.Hook(ctx, h.ID); err != nil || len(got.Secrets) != 1 || !got.Former.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
	must(t, db.Webhooks.PauseHook(ctx, h.ID, "gone"))
	got.State, got.Title, got.URL, got.Kinds, got.Cause = store.HookActive, "other", "https://y/", store.EventKinds(), ""
	must(t, db.Webhooks.UpdateHook(ctx, got))
	again, err := db.Webhooks.Hook(ctx, h.ID)
	must(t, err)
	if d := cmp.Diff(got, again); d != "" {
		t.Error(d)
	}
	other := hooked(t, db, "bo", store.RoleAdministrator, true, store.EventCheckDone)
	all, err := db.Webhooks.Hooks(ctx, "", "", 0)
	must(t, err)
	own, err := db.Webhooks.Hooks(ctx, "bo", "", 0)
	must(t, err)
	last, err := db.Webhooks.Hooks(ctx, "", all[0].ID, 1)
	must(t, err)
	if len(all) != 2 || len(own) != 1 || own[0].ID != other.ID || len(last) != 1 || last[0].ID != all[1].ID {
		t.Errorf("got %v, %v, %v", all, own, last)
	}
	for range store.MaxHooks - 1 {
		_, err = db.Webhooks.CreateHook(ctx, store.Hook{Account: "bo", URL: "https://x", Kinds: store.EventKinds()})
		must(t, err)
	}
	_, err = db.Webhooks.CreateHook(ctx, store.Hook{Account: "bo", URL: "https://x", Kinds: store.EventKinds()})
	wantErr(t, err, concordat.ErrInvalid)
	must(t, db.Webhooks.DeleteHook(ctx, h.ID))
	wantErr(t, db.Webhooks.DeleteHook(ctx, h.ID), concordat.ErrNotFound)
	wantErr(t, db.Webhooks.UpdateHook(ctx, got), concordat.ErrNotFound)
	_, err = db.Webhooks.RotateHook(ctx, h.ID, 0)
	wantErr(t, err, concordat.ErrNotFound)
}

// kinds returns the events waiting for a webhook, oldest first, with the numbers of all, open and counted leads if the webhook requests
// leads.
func kinds(t *testing.T, db *store.DB, h store.Hook) (out []string) {
	t.Helper()
	ds, err := db.Webhooks.Deliveries(t.Context(), h.ID, "", 0, 0)
	must(t, err)
	for i := len(ds) - 1; i >= 0; i-- {
		var body struct {
			Type string
			Data struct {
				ID, Batch string
				Leads     *concordat.LeadCount
			}
		}
		must(t, json.Unmarshal(ds[i].Body, &body))
		if body.Type != string(ds[i].Kind) {
			t.Errorf("a %s with the body %s", ds[i].Kind, ds[i].Body)
		}
		what := body.Data.ID
		if body.Type == string(store.EventBatchDone) {
			what = body.Data.Batch
		}
		if n := body.Data.Leads; n != nil {
			what = fmt.Sprintf("%s %d/%d/%d", what, n.All, n.Open, n.Counted)
		}
		out = append(out, body.Type+" "+what)
	}
	return out
}

// testHookEvents: the end of a task is reported with its cause to the people who are permitted to see it.
func testHookEvents(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	ada := hooked(t, db, "ada", store.RoleOfficer, false, store.EventKinds()...)
	site := hooked(t, db, "root", store.RoleAdministrator, true, store.EventKinds()...)
	only := hooked(t, db, "bo", store.RoleSubmitter, false, store.EventCheckFailed)
	for _, x := range []struct{ id, owner, batch string }{{"t1", "ada", "b"}, {"t2", "ada", "b"}, {"t3", "bo", ""}, {"t4", "", ""}} {
		one := task(concordat.TaskID(x.id))
		one.Owner, one.Batch = x.owner, x.batch
		must(t, db.Checks.CreateTask(ctx, one))
	}
	must(t, db.Checks.FinishCheck(ctx, claim(t, db, "w", "t1"), concordat.TaskPartial, &concordat.LeadCount{All: 2, Open: 2}))
	must(t, db.Checks.CancelTask(ctx, "t2", store.Cause{Detail: "by ada"}))
	must(t, db.Checks.CancelTask(ctx, "t2", store.Cause{Detail: "again"})) // it has already ended, so there is no event
	for range store.MaxAttempts {
		claim(t, db, "w", "t3")
		c.move(lease)
	}
	must(t, db.Checks.FinishTask(ctx, claim(t, db, "w", "t4"), concordat.TaskDone, store.Cause{}))
	must(t, db.Answers.PutDisclosure(ctx, store.Disclosure{ID: "d1", Direction: store.DisclosureIn, Partner: "south",
		State: concordat.DisclosurePending}))
	must(t, db.Answers.PutDisclosure(ctx, store.Disclosure{ID: "d2", Direction: store.DisclosureOut, Partner: "south",
		State: concordat.DisclosurePending}))
	must(t, db.Answers.SetDisclosure(ctx, "d2", concordat.DisclosurePending, concordat.DisclosureGranted, "ada", "", c.now()))
	for _, x := range []struct {
		hook store.Hook
		want []string
	}{
		{ada, []string{"check.done t1 2/2/0", "check.failed t2", "batch.done b 2/2/0"}},
		{site, []string{"check.done t1 2/2/0", "check.failed t2", "batch.done b 2/2/0", "check.failed t3", "check.done t4", "evidence.request d1",
			"evidence.answer d2"}},
		{only, []string{"check.failed t3"}},
	} {
		if d := cmp.Diff(x.want, kinds(t, db, x.hook)); d != "" {
			t.Errorf("webhook of %s: %s", x.hook.Account, d)
		}
	}
	// A webhook has the current rights of its account.
	root, err := db.People.Account(ctx, "root")
	must(t, err)
	root.Role = store.RoleOfficer
	must(t, db.People.UpdateAccount(ctx, root))
	must(t, db.Webhooks.PauseHook(ctx, site.ID, "")) // a paused webhook queues no more events than an active one
	must(t, db.Webhooks.Announce(ctx, store.EventCheckDone, "ada", json.RawMessage(`{"id":"new"}`)))
	if got := kinds(t, db, site); len(got) != 7 {
		t.Errorf("told to a former administrator: %v", got)
	}
	if got := kinds(t, db, ada); got[len(got)-1] != "check.done new" {
		t.Errorf("got %v", got)
	}
	for range 4 { // only ada's; root's wait until root is an administrator again
		d, _, err := db.Webhooks.ClaimDelivery(ctx, lease, only.ID)
		must(t, err)
		if d.Hook != ada.ID {
			t.Errorf("claimed %+v", d)
		}
	}
	_, _, err = db.Webhooks.ClaimDelivery(ctx, lease, only.ID)
	wantErr(t, err, concordat.ErrNotFound)
}

// testDeliveries tests leases, retries, giving up, replay and forgetting.
func testDeliveries(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	h := hooked(t, db, "ada", store.RoleOfficer, false, store.EventCheckDone)
	for range 3 {
		must(t, db.Webhooks.PingHook(ctx, h.ID))
		c.move(time.Second)
	}
	take := func() store.Delivery {
		t.Helper()
		d, of, err := db.Webhooks.ClaimDelivery(ctx, lease)
		must(t, err)
		if d.Hook != h.ID || of.ID != h.ID || len(of.Secrets) == 0 || d.Kind != store.EventPing {
			t.Fatalf("got %+v of %+v", d, of)
		}
		return d
	}
	nothing := func(busy ...store.HookID) {
		t.Helper()
		_, _, err := db.Webhooks.ClaimDelivery(ctx, lease, busy...)
		wantErr(t, err, concordat.ErrNotFound)
	}
	nothing(h.ID)
	one := take()
	two, three := take(), take()
	nothing()
	must(t, db.Webhooks.EndAttempt(ctx, two, store.Attempt{At: c.now(), Took: time.Second, Status: 204}, store.DeliveryDelivered, time.Time{}))
	must(t, db.Webhooks.EndAttempt(ctx, three, store.Attempt{At: c.now(), Status: 500, Cause: "status 500"}, store.DeliveryPending,
		c.now().Add(time.Hour)))
	nothing()
	c.move(lease) // the first delivery's sender has crashed
	again := take()
	if again.Seq != one.Seq || again.Attempts != 2 || again.Event != one.Event || string(again.Body) != string(one.Body) {
		t.Errorf("got %+v after %+v", again, one)
	}
	wantErr(t, db.Webhooks.EndAttempt(ctx, one, store.Attempt{}, store.DeliveryDelivered, time.Time{}), store.ErrLease)
	must(t, db.Webhooks.EndAttempt(ctx, again, store.Attempt{At: c.now(), Cause: "no answer"}, store.DeliveryDead, time.Time{}))
	wantErr(t, db.Webhooks.EndAttempt(ctx, again, store.Attempt{}, "lost", time.Time{}), concordat.ErrInvalid)
	c.move(time.Hour)
	if got := take(); got.Seq != three.Seq {
		t.Errorf("got %+v", got)
	}
	c.move(store.HookTime) // both the lease and the delivery's time end
	nothing()
	states := func() (out []string) {
		t.Helper()
		ds, err := db.Webhooks.Deliveries(ctx, h.ID, "", 0, 0)
		must(t, err)
		for _, d := range ds {
			out = append(out, fmt.Sprint(d.Seq-one.Seq, d.State, d.Attempts, d.Status))
		}
		return out
	}
	if d := cmp.Diff([]string{"2dead2 500", "1delivered1 204", "0dead2 0"}, states()); d != "" {
		t.Error(d)
	}
	_, attempts, err := db.Webhooks.Delivery(ctx, h.ID, two.Seq)
	must(t, err)
	if len(attempts) != 1 || attempts[0].Took != time.Second || attempts[0].Status != 204 {
		t.Errorf("got %+v", attempts)
	}
	_, _, err = db.Webhooks.Delivery(ctx, "other", two.Seq)
	wantErr(t, err, concordat.ErrNotFound)

	n, err := db.Webhooks.ReplayDeliveries(ctx, h.ID, store.Replay{State: store.DeliveryDead})
	if n != 2 || err != nil {
		t.Errorf("replayed %d, %v", n, err)
	}
	if got := take(); got.Event != one.Event || got.Round != 1 {
		t.Errorf("got %+v", got)
	}
	n, err = db.Webhooks.ReplayDeliveries(ctx, h.ID, store.Replay{Seq: two.Seq})
	if n != 1 || err != nil {
		t.Errorf("replayed %d, %v", n, err)
	}
	_, err = db.Webhooks.ReplayDeliveries(ctx, "other", store.Replay{Seq: two.Seq})
	wantErr(t, err, concordat.ErrNotFound)
	n, err = db.Webhooks.ReplayDeliveries(ctx, h.ID, store.Replay{From: c.now()})
	if n != 0 || err != nil {
		t.Errorf("replayed %d, %v", n, err)
	}
	must(t, db.Webhooks.EndAttempt(ctx, take(), store.Attempt{}, store.DeliveryDelivered, time.Time{}))
	n, err = db.Webhooks.ForgetDeliveries(ctx, start, 0)
	if n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	ds, err := db.Webhooks.Deliveries(ctx, h.ID, store.DeliveryPending, 0, 0)
	if len(ds) != 2 || err != nil {
		t.Errorf("%d wait, %v", len(ds), err)
	}
	must(t, db.Webhooks.PauseHook(ctx, h.ID, ""))
	c.move(lease)
	nothing()
	must(t, db.Webhooks.DeleteHook(ctx, h.ID))
	must(t, db.People.PutToken(ctx, "x", store.Token{Purpose: store.PurposeJoin, Account: "ada", Expires: c.now()}))
}

func testTaskFilter(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	for i, id := range []concordat.TaskID{"a1", "b1", "a2", "b2"} {
		one := task(id)
		one.Owner, one.Batch, one.Made = string(id[:1]), string(id[1:]), start.Add(time.Duration(i)*time.Hour)
		must(t, db.Checks.CreateTask(ctx, one))
	}
	must(t, db.Checks.CancelTask(ctx, "b2", store.Cause{}))
	for _, x := range []struct {
		f      store.TaskFilter
		before int64
		limit  int
		want   []concordat.TaskID
	}{
		{store.TaskFilter{}, 0, 0, []concordat.TaskID{"b2", "a2", "b1", "a1"}},
		{store.TaskFilter{}, 4, 2, []concordat.TaskID{"a2", "b1"}},
		{store.TaskFilter{Owner: "a"}, 0, 0, []concordat.TaskID{"a2", "a1"}},
		{store.TaskFilter{Owner: "a", Batch: "1"}, 0, 0, []concordat.TaskID{"a1"}},
		{store.TaskFilter{Without: "1"}, 0, 0, []concordat.TaskID{"b2", "a2"}},
		{store.TaskFilter{Owner: "a", Without: "12"}, 0, 0, []concordat.TaskID{"a2", "a1"}},
		{store.TaskFilter{States: []concordat.State{concordat.TaskFailed}}, 0, 0, []concordat.TaskID{"b2"}},
		{store.TaskFilter{States: []concordat.State{concordat.TaskFailed, concordat.TaskQueued}, Batch: "2"}, 0, 0,
			[]concordat.TaskID{"b2", "a2"}},
		{store.TaskFilter{From: start.Add(time.Hour), To: start.Add(3 * time.Hour)}, 0, 0, []concordat.TaskID{"a2", "b1"}},
	} {
		ts, err := db.Checks.FilterTasks(ctx, x.f, x.before, x.limit)
		must(t, err)
		var got []concordat.TaskID
		for _, one := range ts {
			got = append(got, one.ID)
		}
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%+v: %s", x.f, d)
		}
	}
}

// testTaskList: a batch or an archive is one row, sorted in every order and filtered by share, with the totals of its contents.
func testTaskList(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	const archive = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	inputs := []store.BatchInput{{Name: "x.zip", Place: "x"}}
	must(t, db.Batches.CreateBatch(ctx, newBatch("b", "ada"), inputs))
	for i, x := range []struct {
		id    concordat.TaskID
		batch string
		score *store.Score
	}{{"one", "", &store.Score{Measured: true, Covered: 0.2, Flags: 3}}, {"b-1", "b", &store.Score{Measured: true, Covered: 0.6, Leads: 4}},
		{"b-2", "b", &store.Score{Measured: true, Covered: 0.1, Flags: 1}}, {archive, "", nil},
		{archive + "-1", "", &store.Score{Measured: true, Covered: 0.3}}, {archive + "-2", "", &store.Score{Flags: 1}}, {"two", "loose", nil}} {
		one := task(x.id)
		one.Batch, one.Made, one.Title = x.batch, start.Add(time.Duration(i)*time.Hour), string(x.id)
		must(t, db.Checks.CreateTask(ctx, one))
		if x.id == archive {
			claimed, err := db.Checks.ClaimTask(ctx, store.LaneChecks, "w", time.Hour)
			must(t, err)
			for claimed.ID != archive {
				must(t, db.Checks.FinishTask(ctx, claimed, concordat.TaskDone, store.Cause{}))
				claimed, err = db.Checks.ClaimTask(ctx, store.LaneChecks, "w", time.Hour)
				must(t, err)
			}
			must(t, db.Checks.FinishTask(ctx, claimed, concordat.TaskDone, store.Cause{Code: store.CauseSplit, Numbers: []int{2}}))
		}
		if x.score != nil {
			must(t, db.Checks.PutFindings(ctx, x.id, []byte("{}")))
			x.score.Revision, x.score.Rules = 1, "r"
			must(t, db.Checks.PutScore(ctx, x.id, *x.score))
		}
	}
	must(t, db.Batches.PutBatchMembers(ctx, "b", 0, []store.BatchMember{{Name: "m1"}, {Name: "m2"}}))
	for i, share := range []float64{0.6, 0.1} {
		m := store.BatchMember{Number: i, Name: fmt.Sprintf("m%d", i+1), Round: 1, Task: concordat.TaskID(fmt.Sprintf("b-%d", i+1)), Share: share,
			Fresh: []byte("[]")}
		must(t, db.Batches.PutChecked(ctx, "b", m, nil))
	}
	heads := store.TaskFilter{Heads: true}
	for _, x := range []struct {
		f           store.TaskFilter
		order       store.TaskOrder
		from, limit int
		all         int
		want        []concordat.TaskID
	}{
		{store.TaskFilter{}, "", 0, 2, 7, []concordat.TaskID{"two", archive + "-2"}},
		{heads, "", 0, 0, 4, []concordat.TaskID{"two", archive, "b-1", "one"}},
		{heads, "", 1, 2, 4, []concordat.TaskID{archive, "b-1"}},
		{heads, store.TasksByShare, 0, 0, 4, []concordat.TaskID{"b-1", archive, "one", "two"}},
		{heads, store.TasksByFlags, 0, 0, 4, []concordat.TaskID{"one", archive, "b-1", "two"}},
		{heads, store.TasksByLeads, 0, 1, 4, []concordat.TaskID{"b-1"}},
		{heads, store.TasksByTitle, 0, 0, 4, []concordat.TaskID{archive, "b-1", "one", "two"}}, // sorted by its title, Call b
		{heads, store.TasksByState, 0, 0, 4, []concordat.TaskID{"b-1", "one", "two", archive}},
		{store.TaskFilter{Heads: true, Least: 0.3}, "", 0, 0, 2, []concordat.TaskID{archive, "b-1"}},
		{store.TaskFilter{Within: "b"}, store.TasksByShare, 0, 0, 2, []concordat.TaskID{"b-1", "b-2"}},
		{store.TaskFilter{Within: "b", Least: 0.3}, "", 0, 0, 1, []concordat.TaskID{"b-1"}},
		{store.TaskFilter{Within: archive}, "", 0, 0, 2, []concordat.TaskID{archive + "-2", archive + "-1"}},
	} {
		ts, all, err := db.Checks.ListTasks(ctx, x.f, x.order, x.from, x.limit)
		must(t, err)
		var got []concordat.TaskID
		for _, one := range ts {
			got = append(got, one.ID)
		}
		if d := cmp.Diff(x.want, got); d != "" || all != x.all {
			t.Errorf("%+v by %q: %d of them, want %d; %s", x.f, x.order, all, x.all, d)
		}
	}
	_, _, err := db.Checks.ListTasks(ctx, heads, "luck", 0, 0)
	wantErr(t, err, concordat.ErrInvalid)
	batches, err := db.Batches.SumBatches(ctx, []string{"b", "loose"})
	must(t, err)
	archives, err := db.Batches.SumArchives(ctx, []string{archive})
	must(t, err)
	if d := cmp.Diff(map[string]store.GroupSum{"b": {ID: "b", Documents: 2, Largest: 0.6, Flagged: 1, Leads: 4}}, batches); d != "" {
		t.Error(d)
	}
	one := store.GroupSum{ID: archive, Documents: 2, Waiting: 2, Largest: 0.3, Flagged: 1}
	if d := cmp.Diff(map[string]store.GroupSum{archive: one}, archives); d != "" {
		t.Error(d)
	}
}

func testReviewIf(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1")
	rules := store.Review{At: start, By: "ada", Kind: store.ReviewRules, Data: []byte(`{}`)}
	_, err := db.Checks.AppendReviewIf(ctx, "t1", rules, 0)
	must(t, err)
	_, err = db.Checks.AppendReviewIf(ctx, "t1", rules, 0)
	wantErr(t, err, concordat.ErrChanged)
	_, err = db.Checks.AppendReviewIf(ctx, "t1", store.Review{At: start, By: "bo", Kind: store.ReviewComment, Text: "x"}, store.AnyRules)
	must(t, err)
	_, err = db.Checks.AppendReviewIf(ctx, "t1", rules, 1)
	must(t, err)
	_, err = db.Checks.AppendReviewIf(ctx, "none", rules, 0)
	wantErr(t, err, concordat.ErrNotFound)
}
