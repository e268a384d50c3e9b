package storetest

import (
	"slices"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

func testTaskFilter(t *testing.T, p Place) {
	db, c := open(t, p)
	ctx := t.Context()
	for _, x := range []struct{ id, owner, batch string }{{"a", "ada", "one"}, {"b", "ada", "two"}, {"c", "eve", "one"}} {
		must(t, db.CreateTask(ctx, store.Task{Task: concordat.Task{ID: concordat.TaskID(x.id), Made: c.now()}, Owner: x.owner, Batch: x.batch}))
	}
	must(t, db.CancelTask(ctx, "c", "no"))
	want := func(f store.TaskFilter, before int64, limit int, ids ...concordat.TaskID) []store.Task {
		t.Helper()
		ts, err := db.FilteredTasks(ctx, f, before, limit)
		must(t, err)
		var got []concordat.TaskID
		for _, x := range ts {
			got = append(got, x.ID)
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%+v: got %v, want %v", f, got, ids)
		}
		return ts
	}
	want(store.TaskFilter{}, 0, 0, "c", "b", "a")
	want(store.TaskFilter{Owner: "ada"}, 0, 0, "b", "a")
	want(store.TaskFilter{Batch: "one"}, 0, 0, "c", "a")
	want(store.TaskFilter{State: concordat.TaskFailed}, 0, 0, "c")
	want(store.TaskFilter{State: concordat.TaskQueued, Owner: "ada", Batch: "two"}, 0, 0, "b")
	want(store.TaskFilter{Owner: "nobody"}, 0, 0)
	first := want(store.TaskFilter{}, 0, 2, "c", "b")
	want(store.TaskFilter{}, first[1].Seq, 2, "a")
	n, err := db.TaskCounts(ctx)
	must(t, err)
	if n[concordat.TaskQueued] != 2 || n[concordat.TaskFailed] != 1 || n[concordat.TaskRunning] != 0 {
		t.Errorf("counts %v", n)
	}
}

// A failed task can be begun again; one that is at work, or done, cannot, and no former claim of it counts.
func testTaskRetry(t *testing.T, p Place) {
	db, c := open(t, p)
	ctx := t.Context()
	must(t, db.CreateTask(ctx, store.Task{Task: concordat.Task{ID: "a", Made: c.now()}}))
	wantErr(t, db.RetryTask(ctx, "a"), concordat.ErrInvalid)
	wantErr(t, db.RetryTask(ctx, "none"), concordat.ErrNotFound)
	old, err := db.ClaimTask(ctx, "serve", time.Minute)
	must(t, err)
	must(t, db.CancelTask(ctx, "a", "cancelled"))
	must(t, db.RetryTask(ctx, "a"))
	now, err := db.Task(ctx, "a")
	must(t, err)
	if now.State != concordat.TaskQueued || now.Cause != "" || !now.Finished.IsZero() {
		t.Errorf("after retry: %+v", now)
	}
	fresh, err := db.ClaimTask(ctx, "serve", time.Minute)
	must(t, err)
	wantErr(t, db.FinishTask(ctx, old, concordat.TaskDone, ""), store.ErrLease)
	must(t, db.FinishTask(ctx, fresh, concordat.TaskDone, ""))
	wantErr(t, db.RetryTask(ctx, "a"), concordat.ErrInvalid)
}

func testAuditSearch(t *testing.T, p Place) {
	db, c := open(t, p)
	ctx := t.Context()
	begin := c.now()
	for i, x := range []struct{ actor, action string }{{"ada", "login"}, {"eve", "login"}, {"ada", "report_read"}, {"ada", "login"}} {
		if i > 0 {
			c.move(time.Hour)
		}
		_, err := db.AppendAudit(ctx, x.actor, x.action, nil)
		must(t, err)
	}
	want := func(f store.AuditFilter, before int64, limit int, seqs ...int64) {
		t.Helper()
		es, err := db.SearchAudit(ctx, f, before, limit)
		must(t, err)
		var got []int64
		for _, e := range es {
			got = append(got, e.Seq)
		}
		if !slices.Equal(got, seqs) {
			t.Errorf("%+v: got %v, want %v", f, got, seqs)
		}
	}
	want(store.AuditFilter{}, 0, 0, 4, 3, 2, 1)
	want(store.AuditFilter{}, 3, 1, 2)
	want(store.AuditFilter{Actor: "ada"}, 0, 0, 4, 3, 1)
	want(store.AuditFilter{Actor: "ada", Action: "login"}, 0, 0, 4, 1)
	want(store.AuditFilter{Action: "log"}, 0, 0)
	want(store.AuditFilter{From: begin.Add(time.Hour)}, 0, 0, 4, 3, 2)
	want(store.AuditFilter{From: begin.Add(time.Hour), To: begin.Add(3 * time.Hour)}, 0, 0, 3, 2)
	as, err := db.AuditActions(ctx)
	must(t, err)
	if !slices.Equal(as, []string{"login", "report_read"}) {
		t.Errorf("actions %v", as)
	}
}
