package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/storetest"
	"concordat/store"
)

const lease = time.Minute

func task(id concordat.TaskID) store.Task {
	return store.Task{Task: concordat.Task{ID: id, Title: "Submission " + string(id), Made: start}, Request: []byte("\x00request " + id)}
}

func queue(t *testing.T, db *store.DB, ids ...concordat.TaskID) {
	t.Helper()
	for _, id := range ids {
		must(t, db.Checks.CreateTask(t.Context(), task(id)))
	}
}

func claim(t *testing.T, db *store.DB, worker string, want concordat.TaskID) store.Task {
	t.Helper()
	got, err := db.Checks.ClaimTask(t.Context(), allLanes, worker, lease)
	must(t, err)
	if got.ID != want {
		t.Fatalf("worker %s got task %s, want %s", worker, got.ID, want)
	}
	return got
}

func noClaim(t *testing.T, db *store.DB) {
	t.Helper()
	_, err := db.Checks.ClaimTask(t.Context(), allLanes, "nobody", lease)
	wantErr(t, err, concordat.ErrNotFound)
}

func testTaskLife(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	noClaim(t, db)
	queue(t, db, "t1")
	wantErr(t, db.Checks.CreateTask(ctx, task("t1")), concordat.ErrExists)
	want := task("t1")
	want.State, want.Seq = concordat.TaskQueued, 1
	check := func() {
		t.Helper()
		got, err := db.Checks.Task(ctx, "t1")
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	check()

	c.move(time.Second)
	got := claim(t, db, "w1", "t1")
	want.State, want.Worker, want.Attempts = concordat.TaskRunning, "w1", 1
	want.Started, want.Lease = c.now(), c.now().Add(lease)
	check()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	c.move(time.Second)
	must(t, db.Checks.RenewTask(ctx, got, time.Hour))
	want.Lease = c.now().Add(time.Hour)
	check()

	c.move(time.Second)
	silent := store.Cause{Detail: "site south did not answer"}
	wantErr(t, db.Checks.FinishTask(ctx, got, concordat.TaskQueued, store.Cause{}), concordat.ErrInvalid)
	must(t, db.Checks.FinishTask(ctx, got, concordat.TaskPartial, silent))
	want.State, want.Cause, want.Finished, want.Lease = concordat.TaskPartial, silent, c.now(), time.Time{}
	check()
	wantErr(t, db.Checks.FinishTask(ctx, got, concordat.TaskDone, store.Cause{}), store.ErrLease)
	wantErr(t, db.Checks.RenewTask(ctx, got, lease), store.ErrLease)
	wantErr(t, db.Checks.ReleaseTask(ctx, got), store.ErrLease)
	check()
	c.move(time.Hour * 100)
	noClaim(t, db)

	_, err := db.Checks.Task(ctx, "none")
	wantErr(t, err, concordat.ErrNotFound)
	wantErr(t, db.Checks.RenewTask(ctx, store.Task{Task: concordat.Task{ID: "none"}, Worker: "w"}, lease), concordat.ErrNotFound)
	_, err = db.Checks.ClaimTask(ctx, allLanes, "w", 0)
	wantErr(t, err, concordat.ErrInvalid)
	_, err = db.Checks.ClaimTask(ctx, allLanes, "", lease)
	wantErr(t, err, concordat.ErrInvalid)
}

func testTaskQueueOrder(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "z", "a")
	started, err := db.Checks.StartTask(ctx, task("own"), "cli", lease)
	must(t, err)
	if started.State != concordat.TaskRunning || started.Attempts != 1 || started.Worker != "cli" {
		t.Errorf("got %+v, want a running task", started)
	}
	_, err = db.Checks.StartTask(ctx, task("z"), "cli", lease)
	wantErr(t, err, concordat.ErrExists)
	queue(t, db, "m")
	for _, id := range []concordat.TaskID{"z", "a", "m"} {
		claim(t, db, "w", id)
	}
	noClaim(t, db)
	must(t, db.Checks.FinishTask(ctx, started, concordat.TaskDone, store.Cause{}))
}

// testTaskLease: a crashed worker's task comes back only when the lease has ended, and goes to the head of the queue. When the worker
// wakes, its calls have no effect.
func testTaskLease(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1")
	old := claim(t, db, "w1", "t1")
	queue(t, db, "t2")
	c.move(lease - time.Microsecond)
	claim(t, db, "w2", "t2")
	noClaim(t, db)
	queue(t, db, "t3")
	c.move(time.Microsecond)
	renewed := claim(t, db, "w3", "t1")
	if renewed.Attempts != 2 || !renewed.Started.Equal(c.now()) {
		t.Errorf("got attempt %d started %s, want 2 and now", renewed.Attempts, renewed.Started)
	}
	wantErr(t, db.Checks.RenewTask(ctx, old, lease), store.ErrLease)
	wantErr(t, db.Checks.FinishTask(ctx, old, concordat.TaskFailed, store.Cause{Detail: "late"}), store.ErrLease)
	wantErr(t, db.Checks.ReleaseTask(ctx, old), store.ErrLease)
	must(t, db.Checks.FinishTask(ctx, renewed, concordat.TaskDone, store.Cause{}))
	got, err := db.Checks.Task(ctx, "t1")
	must(t, err)
	if got.State != concordat.TaskDone || !got.Cause.IsZero() {
		t.Errorf("got %s %q, want done", got.State, got.Cause)
	}

	// An expired lease that was not taken over still belongs to the worker.
	late := claim(t, db, "w4", "t3")
	c.move(lease * 10)
	must(t, db.Checks.RenewTask(ctx, late, lease))
	claim(t, db, "w5", "t2")
	noClaim(t, db)
	must(t, db.Checks.FinishTask(ctx, late, concordat.TaskDone, store.Cause{}))
}

// testTaskSameWorker: two claims by the same worker are distinguished.
func testTaskSameWorker(t *testing.T, p place) {
	db, c := openPlace(t, p)
	queue(t, db, "t1")
	old := claim(t, db, "w", "t1")
	c.move(lease)
	claim(t, db, "w", "t1")
	wantErr(t, db.Checks.FinishTask(t.Context(), old, concordat.TaskDone, store.Cause{}), store.ErrLease)
}

func testTaskRelease(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	queue(t, db, "t1", "t2")
	for range store.MaxAttempts + 2 { // releasing does not count as an attempt
		got := claim(t, db, "w", "t1")
		must(t, db.Checks.ReleaseTask(t.Context(), got))
	}
	claim(t, db, "w", "t1")
	claim(t, db, "w", "t2")
}

func testTaskGivenUp(t *testing.T, p place) {
	db, c := openPlace(t, p)
	queue(t, db, "deadly", "next")
	for range store.MaxAttempts {
		claim(t, db, "w", "deadly")
		c.move(lease)
	}
	claim(t, db, "w", "next")
	got, err := db.Checks.Task(t.Context(), "deadly")
	must(t, err)
	if got.State != concordat.TaskFailed || got.Cause.Code != store.CauseGivenUp || !got.Finished.Equal(c.now()) {
		t.Errorf("got %+v, want failed with a cause, now", got)
	}
	// It is given up even if no other task waits.
	must(t, db.Checks.DeleteTask(t.Context(), "next"))
	queue(t, db, "alone")
	for range store.MaxAttempts {
		claim(t, db, "w", "alone")
		c.move(lease)
	}
	noClaim(t, db)
	got, err = db.Checks.Task(t.Context(), "alone")
	must(t, err)
	if got.State != concordat.TaskFailed {
		t.Errorf("got state %s, want failed", got.State)
	}
}

// testTaskClaimedOnce: many workers that open the store several times never get the same task twice.
func testTaskClaimedOnce(t *testing.T, p place) {
	db, c := openPlace(t, p)
	const tasks, workers = 60, 8
	for i := range tasks {
		queue(t, db, concordat.TaskID(fmt.Sprint(i)))
	}
	var mu sync.Mutex
	got := map[concordat.TaskID]int{} // guarded by mu
	var wg sync.WaitGroup
	for w := range workers {
		own := db
		if w%2 == 1 { // opens the store as another process would
			var err error
			own, err = p(store.Options{Now: c.now, Busy: time.Minute})
			must(t, err)
			defer own.Close()
		}
		wg.Go(func() {
			for {
				x, err := own.Checks.ClaimTask(t.Context(), allLanes, fmt.Sprint("w", w), lease)
				if errors.Is(err, concordat.ErrNotFound) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				got[x.ID]++
				mu.Unlock()
				if err := own.Checks.FinishTask(t.Context(), x, concordat.TaskDone, store.Cause{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(got) != tasks {
		t.Errorf("%d tasks were claimed, want %d", len(got), tasks)
	}
	for id, n := range got {
		if n != 1 {
			t.Errorf("task %s was claimed %d times", id, n)
		}
	}
}

// testTaskLeaseRace: if many workers want a task whose lease has ended, among them its old worker, exactly one gets it.
func testTaskLeaseRace(t *testing.T, p place) {
	db, c := openPlace(t, p)
	for i := range 20 {
		id := concordat.TaskID(fmt.Sprint(i))
		queue(t, db, id)
		old := claim(t, db, "old", id)
		c.move(lease)
		var mu sync.Mutex
		winners := 0 // guarded by mu
		won := func() {
			mu.Lock()
			defer mu.Unlock()
			winners++
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			err := db.Checks.FinishTask(t.Context(), old, concordat.TaskDone, store.Cause{})
			if err == nil {
				won()
			} else if !errors.Is(err, store.ErrLease) {
				t.Error(err)
			}
		})
		for range 3 {
			wg.Go(func() {
				x, err := db.Checks.ClaimTask(t.Context(), allLanes, "new", lease)
				if errors.Is(err, concordat.ErrNotFound) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				won()
				if err := db.Checks.FinishTask(t.Context(), x, concordat.TaskDone, store.Cause{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if winners != 1 {
			t.Fatalf("task %s: %d workers had it, want 1", id, winners)
		}
	}
}

func testTaskPaging(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	for i := range 25 {
		x := task(concordat.TaskID(fmt.Sprint("t", i)))
		x.Made = start.Add(-time.Duration(i) * time.Hour) // a clock that was set back does not matter
		must(t, db.Checks.CreateTask(ctx, x))
	}
	var got []string
	before := int64(0)
	for n := 0; ; n++ {
		ts, err := db.Checks.Tasks(ctx, before, 4)
		must(t, err)
		for _, x := range ts {
			got = append(got, string(x.ID))
			before = x.Seq
		}
		if len(ts) < 4 {
			break
		}
		queue(t, db, concordat.TaskID(fmt.Sprint("new", n)))
		if n == 2 { // the first row of the next page is removed
			must(t, db.Checks.DeleteTask(ctx, ts[3].ID))
		}
	}
	var want []string
	for i := 24; i >= 0; i-- {
		want = append(want, fmt.Sprint("t", i))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func testTaskDelete(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1")
	got := claim(t, db, "w", "t1")
	must(t, db.Checks.PutFindings(ctx, "t1", []byte("x")))
	must(t, db.Checks.PutResults(ctx, "t1", []store.Result{result(1)}))
	must(t, db.Checks.DeleteTask(ctx, "t1"))
	must(t, db.Checks.DeleteTask(ctx, "t1"))
	wantErr(t, db.Checks.FinishTask(ctx, got, concordat.TaskDone, store.Cause{}), concordat.ErrNotFound)
	wantErr(t, db.Checks.PutFindings(ctx, "t1", []byte("x")), concordat.ErrNotFound)
	wantErr(t, db.Checks.PutResults(ctx, "t1", nil), concordat.ErrNotFound)
	queue(t, db, "t1") // the id is free again, and all data of the former task is gone
	_, err := db.Checks.Findings(ctx, "t1")
	wantErr(t, err, concordat.ErrNotFound)
	if rs := storetest.Results(t, db, "t1"); len(rs) != 0 {
		t.Errorf("got %v, want no results", rs)
	}
}
