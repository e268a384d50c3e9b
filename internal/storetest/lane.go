package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

// testLanes: tasks of one lane are claimed in order whatever waits in the other.
func testLanes(t *testing.T, p Place) {
	db, c := open(t, p)
	ctx := t.Context()
	var ts []store.Task
	for _, x := range []struct{ id, batch string }{{"a1", store.AddingBatch + "one"}, {"a2", store.AddingBatch + "one"}, {"c1", ""}, {"c2", "abc"}} {
		one := task(concordat.TaskID(x.id))
		one.Batch = x.batch
		ts = append(ts, one)
	}
	must(t, db.CreateTasks(ctx, ts))
	// All or none.
	wantErr(t, db.CreateTasks(ctx, []store.Task{task("new"), task("c1")}), concordat.ErrExists)
	_, err := db.Task(ctx, "new")
	wantErr(t, err, concordat.ErrNotFound)

	last, err := db.Task(ctx, "c2")
	must(t, err)
	queued, running, err := db.Ahead(ctx, last)
	must(t, err)
	if queued != 1 || running != 0 {
		t.Errorf("before the second check: %d queued, %d running; want the first check alone", queued, running)
	}
	for _, x := range []struct {
		lane store.Lane
		want concordat.TaskID
	}{{store.LaneChecks, "c1"}, {store.LaneAdding, "a1"}, {store.LaneChecks, "c2"}, {store.LaneAll, "a2"}} {
		got, err := db.ClaimTaskOf(ctx, x.lane, "w", lease)
		must(t, err)
		if got.ID != x.want {
			t.Errorf("lane %q gave %s, want %s", x.lane, got.ID, x.want)
		}
	}
	_, err = db.ClaimTaskOf(ctx, store.LaneChecks, "w", lease)
	wantErr(t, err, concordat.ErrNotFound)
	c.move(lease) // what nobody renews comes back in its own lane
	got, err := db.ClaimTaskOf(ctx, store.LaneAdding, "w", lease)
	must(t, err)
	if got.ID != "a1" {
		t.Errorf("got %s, want a1 again", got.ID)
	}
}

// testBatchDone: the end of what was handed in together is told once, when all has ended; that of a batch
// of documents when the batch ends, and not with one of them.
func testBatchDone(t *testing.T, p Place) {
	db, _ := open(t, p)
	ctx := t.Context()
	h := hooked(t, db, "ada", store.RoleOfficer, false, store.EventBatchDone)
	var ts []store.Task
	for _, id := range []concordat.TaskID{"t1", "t2"} {
		one := task(id)
		one.Owner, one.Batch = "ada", "together"
		ts = append(ts, one)
	}
	must(t, db.CreateTasks(ctx, ts))
	must(t, db.CancelTask(ctx, "t1", "empty"))
	if got := kinds(t, db, h); len(got) != 0 {
		t.Errorf("told %v while one waits", got)
	}
	must(t, db.CancelTask(ctx, "t2", "empty"))

	must(t, db.CreateBatch(ctx, store.Batch{ID: "b", Title: "b", Owner: "ada", Runner: "serve", Request: []byte("{}"), Lineage: []byte("{}"), Made: start},
		[]store.BatchInput{{Number: 0, Name: "x.txt", Place: "x"}, {Number: 1, Name: "y.txt", Place: "y"}}))
	must(t, db.PutBatchMembers(ctx, "b", 0, []store.BatchMember{{Name: "x.txt"}}))
	must(t, db.PutBatchMembers(ctx, "b", 1, []store.BatchMember{{Name: "y.txt", Reason: "empty"}}))
	one := task("b-1")
	one.Owner, one.Batch = "ada", "b"
	one, err := db.StartTask(ctx, one, "w", lease)
	must(t, err)
	must(t, db.FinishTask(ctx, one, concordat.TaskDone, ""))
	want := []string{"batch.done together"}
	if d := cmp.Diff(want, kinds(t, db, h)); d != "" {
		t.Error(d)
	}
	must(t, db.FinishBatch(ctx, "b", concordat.TaskDone, ""))
	wantErr(t, db.FinishBatch(ctx, "b", concordat.TaskDone, ""), store.ErrLease) // it is told once
	if d := cmp.Diff(append(want, "batch.done b"), kinds(t, db, h)); d != "" {
		t.Error(d)
	}
}

// testUnjoined: an account that somebody uses by a provider is used, though it has no password.
func testUnjoined(t *testing.T, p Place) {
	db, _ := open(t, p)
	ctx := t.Context()
	linked := store.Account{Name: "linked", Role: store.RoleSubmitter, Created: start.Add(-time.Hour), Public: true}
	must(t, db.CreateLinked(ctx, linked, store.Identity{Issuer: "https://id.example", Subject: "1", Account: "linked", Made: start}))
	must(t, db.CreateAccount(ctx, store.Account{Name: "idle", Role: store.RoleSubmitter, Created: start.Add(-time.Hour), Public: true}))
	n, err := db.DeleteUnjoined(ctx, start)
	must(t, err)
	if _, err := db.Account(ctx, "linked"); n != 1 || err != nil {
		t.Errorf("%d forgotten, the linked one gives %v; want the idle one alone gone", n, err)
	}
	if all, err := db.Identities(ctx, ""); err != nil || len(all) != 1 {
		t.Errorf("links %v, %v", all, err)
	}
}
