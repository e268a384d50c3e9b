package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

// testLanes: tasks of one lane are claimed in order, whatever waits in the other lane.
func testLanes(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	var ts []store.Task
	for _, x := range []struct{ id, batch string }{{"a1", store.AddingBatch + "one"}, {"a2", store.AddingBatch + "one"}, {"c1", ""},
		{"c2", "abc"}} {
		one := task(concordat.TaskID(x.id))
		one.Batch = x.batch
		ts = append(ts, one)
	}
	must(t, db.Checks.CreateTasks(ctx, ts))
	// Either all tasks are created or none.
	wantErr(t, db.Checks.CreateTasks(ctx, []store.Task{task("new"), task("c1")}), concordat.ErrExists)
	_, err := db.Checks.Task(ctx, "new")
	wantErr(t, err, concordat.ErrNotFound)

	last, err := db.Checks.Task(ctx, "c2")
	must(t, err)
	queued, running, err := db.Checks.Ahead(ctx, last)
	must(t, err)
	if queued != 1 || running != 0 {
		t.Errorf("before the second check: %d queued, %d running; want the first check alone", queued, running)
	}
	for _, x := range []struct {
		lane store.Lane
		want concordat.TaskID
	}{{store.LaneChecks, "c1"}, {store.LaneAdding, "a1"}, {store.LaneChecks, "c2"}, {allLanes, "a2"}} {
		got, err := db.Checks.ClaimTask(ctx, x.lane, "w", lease)
		must(t, err)
		if got.ID != x.want {
			t.Errorf("lane %q gave %s, want %s", x.lane, got.ID, x.want)
		}
	}
	_, err = db.Checks.ClaimTask(ctx, store.LaneChecks, "w", lease)
	wantErr(t, err, concordat.ErrNotFound)
	c.move(lease) // a claim that is not renewed goes back to its own lane
	got, err := db.Checks.ClaimTask(ctx, store.LaneAdding, "w", lease)
	must(t, err)
	if got.ID != "a1" {
		t.Errorf("got %s, want a1 again", got.ID)
	}
}

// testTurns: people take turns, however many checks each has queued, and Ahead returns that order.
func testTurns(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	add := func(owner string, n int) {
		var ts []store.Task
		for i := range n {
			one := task(concordat.TaskID(fmt.Sprint(owner, i)))
			one.Owner = owner
			ts = append(ts, one)
		}
		must(t, db.Checks.CreateTasks(ctx, ts))
	}
	next := func(lane store.Lane) (store.Task, error) {
		c.move(time.Second)
		return db.Checks.ClaimTask(ctx, lane, "w", time.Hour)
	}
	add("ada", 5)
	first, err := next(store.LaneChecks)
	must(t, err)
	add("bob", 2)
	add("cy", 1)
	// While the first check runs, Ahead returns the order in which a single worker claims the rest.
	want := []concordat.TaskID{"bob0", "cy0", "ada1", "bob1", "ada2", "ada3", "ada4"}
	for at, id := range want {
		x, err := db.Checks.Task(ctx, id)
		must(t, err)
		if queued, running, err := db.Checks.Ahead(ctx, x); err != nil || queued != at || running != 1 {
			t.Errorf("before %s: %d queued, %d running, %v; want %d, 1", id, queued, running, err, at)
		}
	}
	must(t, db.Checks.FinishTask(ctx, first, concordat.TaskDone, store.Cause{}))
	for _, id := range want[:3] {
		got, err := next(store.LaneChecks)
		must(t, err)
		if got.ID != id {
			t.Fatalf("got %s, want %s", got.ID, id)
		}
		must(t, db.Checks.FinishTask(ctx, got, concordat.TaskDone, store.Cause{}))
	}
	// With several workers, the person with fewer running tasks goes first, and a spare worker takes tasks only from people with none.
	for _, id := range []concordat.TaskID{"bob1", "ada2"} {
		if got, err := next(store.LaneChecks); err != nil || got.ID != id {
			t.Fatalf("got %s, %v, want %s", got.ID, err, id)
		}
	}
	_, err = next(store.LaneSpare)
	wantErr(t, err, concordat.ErrNotFound)
	add("dot", 2)
	if got, err := next(store.LaneSpare); err != nil || got.ID != "dot0" {
		t.Errorf("a spare worker got %s, %v, want dot0", got.ID, err)
	}
	_, err = next(store.LaneSpare)
	wantErr(t, err, concordat.ErrNotFound)
	// A person's additions do not affect the turns of checks.
	adding := task("adding")
	adding.Owner, adding.Batch = "eve", store.AddingBatch+"one"
	must(t, db.Checks.CreateTask(ctx, adding))
	if _, err := next(store.LaneAdding); err != nil {
		t.Error(err)
	}
	add("eve", 1)
	if got, err := next(store.LaneSpare); err != nil || got.ID != "eve0" {
		t.Errorf("a spare worker got %s, %v, want eve0", got.ID, err)
	}
}

// testBatchDone: the end of files submitted together is reported once, when all have ended. The end of a batch of documents is reported
// when the batch ends, not for each document.
func testBatchDone(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	h := hooked(t, db, "ada", store.RoleOfficer, false, store.EventBatchDone)
	var ts []store.Task
	for _, id := range []concordat.TaskID{"t1", "t2"} {
		one := task(id)
		one.Owner, one.Batch = "ada", "together"
		ts = append(ts, one)
	}
	must(t, db.Checks.CreateTasks(ctx, ts))
	must(t, db.Checks.CancelTask(ctx, "t1", store.Cause{Detail: "empty"}))
	if got := kinds(t, db, h); len(got) != 0 {
		t.Errorf("told %v while one waits", got)
	}
	must(t, db.Checks.CancelTask(ctx, "t2", store.Cause{Detail: "empty"}))
	want := []string{"batch.done together"}

	// The leads of reports are added up; a check without leads, or a failed check, adds none.
	ts = nil
	for _, id := range []concordat.TaskID{"t3", "t4", "t5"} {
		one := task(id)
		one.Owner, one.Batch = "ada", "leading"
		ts = append(ts, one)
	}
	must(t, db.Checks.CreateTasks(ctx, ts))
	must(t, db.Checks.FinishCheck(ctx, claim(t, db, "w", "t3"), concordat.TaskDone, &concordat.LeadCount{All: 3, Open: 1, Counted: 1}))
	must(t, db.Checks.FinishCheck(ctx, claim(t, db, "w", "t4"), concordat.TaskPartial, &concordat.LeadCount{All: 4, Open: 4}))
	must(t, db.Checks.FinishCheck(ctx, claim(t, db, "w", "t5"), concordat.TaskDone, nil))
	want = append(want, "batch.done leading 7/5/1")

	must(t, db.Batches.CreateBatch(ctx, store.Batch{ID: "b", Title: "b", Owner: "ada", Runner: "serve", Request: []byte("{}"),
		Lineage: []byte("{}"), Made: start},
		[]store.BatchInput{{Number: 0, Name: "x.txt", Place: "x"}, {Number: 1, Name: "y.txt", Place: "y"}}))
	must(t, db.Batches.PutBatchMembers(ctx, "b", 0, []store.BatchMember{{Name: "x.txt"}}))
	must(t, db.Batches.PutBatchMembers(ctx, "b", 1, []store.BatchMember{{Name: "y.txt", Cause: store.Cause{Detail: "empty"}}}))
	one := task("b-1")
	one.Owner, one.Batch = "ada", "b"
	one, err := db.Checks.StartTask(ctx, one, "w", lease)
	must(t, err)
	must(t, db.Checks.FinishTask(ctx, one, concordat.TaskDone, store.Cause{}))
	if d := cmp.Diff(want, kinds(t, db, h)); d != "" {
		t.Error(d)
	}
	must(t, db.Batches.FinishBatch(ctx, "b", concordat.TaskDone, store.Cause{}, &concordat.LeadCount{All: 3, Open: 1, Counted: 2}))
	wantErr(t, db.Batches.FinishBatch(ctx, "b", concordat.TaskDone, store.Cause{}, nil), store.ErrLease) // its end is reported only once
	if d := cmp.Diff(append(want, "batch.done b 3/1/2"), kinds(t, db, h)); d != "" {
		t.Error(d)
	}
}

// testUnjoined: an account that signs in through a provider counts as used, although it has no password.
func testUnjoined(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	linked := store.Account{Name: "linked", Role: store.RoleSubmitter, Created: start.Add(-time.Hour), Public: true}
	must(t, db.People.CreateLinked(ctx, linked, store.Identity{Issuer: "https://id.example", Subject: "1", Account: "linked", Made: start}))
	must(t, db.People.CreateAccount(ctx, store.Account{Name: "idle", Role: store.RoleSubmitter, Created: start.Add(-time.Hour), Public: true}))
	n, err := db.People.DeleteUnjoined(ctx, start)
	must(t, err)
	if _, err := db.People.Account(ctx, "linked"); n != 1 || err != nil {
		t.Errorf("%d forgotten, the linked one gives %v; want the idle one alone gone", n, err)
	}
	if all, err := db.People.Identities(ctx, ""); err != nil || len(all) != 1 {
		t.Errorf("links %v, %v", all, err)
	}
}

// testEraseMember: all data that a batch stores about a document is deleted, and no data about the others.
func testEraseMember(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	must(t, db.Batches.CreateBatch(ctx, store.Batch{ID: "b", Title: "b", Runner: "serve", Request: []byte("{}"), Lineage: []byte("{}"),
		Made: start},
		[]store.BatchInput{{Number: 0, Name: "x.txt", Place: "x"}, {Number: 1, Name: "y.txt", Place: "y"},
			{Number: 2, Name: "z.txt", Place: "z"}}))
	for i, name := range []string{"x.txt", "y.txt", "z.txt"} {
		must(t, db.Batches.PutBatchMembers(ctx, "b", i, []store.BatchMember{{Name: name, Title: name, Author: "Ann", DraftOf: "x.txt",
			Characters: 9}}))
	}
	must(t, db.Batches.PutCompared(ctx, "b", 0, []store.BatchPair{{A: 0, B: 1, Passages: []byte("[1]")},
		{A: 0, B: 2, Passages: []byte("[2]")}}))
	must(t, db.Batches.PutCompared(ctx, "b", 1, []store.BatchPair{{A: 1, B: 2, Passages: []byte("[3]")}}))
	must(t, db.Batches.PutBatchLeads(ctx, "b", 0, []byte("[1]")))
	must(t, db.Batches.EraseBatchMember(ctx, "b", 0, []byte(`{"forward":"none"}`)))
	if leads, err := db.Batches.BatchLeads(ctx, "b"); err != nil || len(leads) > 0 {
		t.Errorf("leads of what was erased: %v, %v", leads, err)
	}
	wantErr(t, db.Batches.EraseBatchMember(ctx, "b", 7, nil), concordat.ErrNotFound)
	ms, err := db.Batches.BatchMembers(ctx, "b")
	must(t, err)
	var names []string
	for _, m := range ms {
		names = append(names, m.Name)
		if gone := m.Number == 0; gone != (!m.Cause.IsZero()) || gone != (m.Title == "") || m.DraftOf != "" {
			t.Errorf("member %+v", m)
		}
	}
	if d := cmp.Diff([]string{"deleted #1", "y.txt", "z.txt"}, names); d != "" {
		t.Error(d)
	}
	if ps, err := db.Batches.PairsOfMember(ctx, "b", 2); err != nil || len(ps) != 1 || ps[0].A != 1 {
		t.Errorf("pairs %v, %v", ps, err)
	}
	if b, err := db.Batches.Batch(ctx, "b"); err != nil || string(b.Request) != `{"forward":"none"}` {
		t.Errorf("request %s, %v", b.Request, err)
	}
	if in, err := db.Batches.BatchInputs(ctx, "b", false); err != nil || in[0].Name != "deleted #1" || in[0].Place != "" ||
		in[1].Name != "y.txt" {
		t.Errorf("files %v, %v", in, err)
	}
}
