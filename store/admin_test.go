package store_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

func testTaskCounts(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	for _, id := range []concordat.TaskID{"a", "b", "c"} {
		must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: id, Made: c.now()}}))
	}
	must(t, db.Checks.CancelTask(ctx, "c", store.Cause{Detail: "no"}))
	n, err := db.Checks.TaskCounts(ctx)
	must(t, err)
	if n[concordat.TaskQueued] != 2 || n[concordat.TaskFailed] != 1 || n[concordat.TaskRunning] != 0 {
		t.Errorf("counts %v", n)
	}
}

// testTaskSums: tasks are totalled by state, and finished ones also by cause; the filter applies to totals too.
func testTaskSums(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	for i, batch := range []string{"b", "b", "b", "b", "b", "b", "other"} {
		must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: concordat.TaskID('a' + rune(i)), Made: c.now()}, Batch: batch}))
	}
	added := store.Cause{Code: store.CauseAdded, Numbers: []int{2, 0, 1, 0}}
	for _, cause := range []store.Cause{added, added, {}} {
		claimed, err := db.Checks.ClaimTask(ctx, allLanes, "serve", time.Minute)
		must(t, err)
		must(t, db.Checks.FinishTask(ctx, claimed, concordat.TaskDone, cause))
	}
	must(t, db.Checks.CancelTask(ctx, "d", store.Cause{Detail: "one"}))
	must(t, db.Checks.CancelTask(ctx, "e", store.Cause{Detail: "another"}))
	must(t, db.Checks.CancelTask(ctx, "g", store.Cause{Detail: "elsewhere"}))
	sums, err := db.Checks.SumTasks(ctx, store.TaskFilter{Batch: "b"})
	must(t, err)
	got := map[string]int{}
	for _, s := range sums {
		got[string(s.State)+" "+s.Cause.String()] += s.Tasks
	}
	want := map[string]int{"done " + added.String(): 2, "done ": 1, "failed ": 2, "queued ": 1}
	if len(sums) != len(want) || !maps.Equal(got, want) {
		t.Errorf("sums %v, want %v", got, want)
	}
	_, err = db.Checks.SumTasks(ctx, store.TaskFilter{Stage: "none"})
	wantErr(t, err, concordat.ErrInvalid)
}

// testTaskRetry: a failed task can be started again, and earlier claims of it do not count; a task that is in progress or done cannot be
// restarted.
func testTaskRetry(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: "a", Made: c.now()}}))
	wantErr(t, db.Checks.RetryTask(ctx, "a"), concordat.ErrChanged)
	wantErr(t, db.Checks.RetryTask(ctx, "none"), concordat.ErrNotFound)
	old, err := db.Checks.ClaimTask(ctx, allLanes, "serve", time.Minute)
	must(t, err)
	must(t, db.Checks.CancelTask(ctx, "a", store.Cause{Detail: "cancelled"}))
	must(t, db.Checks.RetryTask(ctx, "a"))
	now, err := db.Checks.Task(ctx, "a")
	must(t, err)
	if now.State != concordat.TaskQueued || !now.Cause.IsZero() || !now.Finished.IsZero() {
		t.Errorf("after retry: %+v", now)
	}
	fresh, err := db.Checks.ClaimTask(ctx, allLanes, "serve", time.Minute)
	must(t, err)
	wantErr(t, db.Checks.FinishTask(ctx, old, concordat.TaskDone, store.Cause{}), store.ErrLease)
	must(t, db.Checks.FinishTask(ctx, fresh, concordat.TaskDone, store.Cause{}))
	wantErr(t, db.Checks.RetryTask(ctx, "a"), concordat.ErrChanged)
}

func testAuditSearch(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	begin := c.now()
	for i, x := range []struct{ actor, action string }{{"ada", "login"}, {"eve", "login"}, {"ada", "report_read"}, {"ada", "login"}} {
		if i > 0 {
			c.move(time.Hour)
		}
		_, err := db.Audit.AppendAudit(ctx, x.actor, x.action, nil)
		must(t, err)
	}
	want := func(f store.AuditFilter, before int64, limit int, seqs ...int64) {
		t.Helper()
		es, err := db.Audit.SearchAudit(ctx, f, before, limit)
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
	as, err := db.Audit.AuditActions(ctx)
	must(t, err)
	if !slices.Equal(as, []string{"login", "report_read"}) {
		t.Errorf("actions %v", as)
	}
}
