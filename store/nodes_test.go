package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/internal/storetest"
	"concordat/store"
)

// testKeystore: the shared keystore changes by compare-and-swap.
func testKeystore(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	_, _, err := db.Keystore(ctx)
	wantErr(t, err, concordat.ErrNotFound)
	first := []byte{0, 1, 2, 255}
	v, err := db.PutKeystore(ctx, 0, first)
	must(t, err)
	_, err = db.PutKeystore(ctx, 0, []byte("another"))
	wantErr(t, err, concordat.ErrChanged)
	got, b, err := db.Keystore(ctx)
	must(t, err)
	if got != v || !bytes.Equal(b, first) {
		t.Errorf("version %d with %x, want %d with %x", got, b, v, first)
	}
	var wg sync.WaitGroup
	var won atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			if _, err := db.PutKeystore(ctx, v, fmt.Appendf(nil, "of %d", i)); err == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if n, err := db.KeystoreVersion(ctx); err != nil || n != v+1 || won.Load() != 1 {
		t.Errorf("%d of four changed it, version %d, %v", won.Load(), n, err)
	}
	for range 2 { // the second call has nothing to drop
		must(t, db.DropKeystore(ctx))
		_, _, err = db.Keystore(ctx)
		wantErr(t, err, concordat.ErrNotFound)
	}
	if n, err := db.KeystoreVersion(ctx); err != nil || n != 0 {
		t.Errorf("version %d of no keystore, %v", n, err)
	}
	if v, err := db.PutKeystore(ctx, 0, first); err != nil || v != 1 {
		t.Errorf("the one after has version %d, %v", v, err)
	}
}

// testLeaderTasks: a leader task has one holder at a time, and the holder's term can expire.
func testLeaderTasks(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	want := func(holder string, want bool) {
		t.Helper()
		got, err := db.HoldLeaderTask(ctx, "batches", holder, time.Minute)
		must(t, err)
		if got != want {
			t.Errorf("%s has the leader task: %v, want %v", holder, got, want)
		}
	}
	want("a", true)
	want("b", false)
	c.move(40 * time.Second)
	want("a", true)
	c.move(40 * time.Second)
	want("b", false)
	c.move(21 * time.Second)
	want("b", true)
	want("a", false)
	must(t, db.LeaveLeaderTasks(ctx, "a")) // a holds none
	if h := storetest.Holder(t, db, "batches", c.now().UnixMicro()); h != "b" {
		t.Errorf("holder %q", h)
	}
	must(t, db.LeaveLeaderTasks(ctx, "b"))
	if h := storetest.Holder(t, db, "batches", c.now().UnixMicro()); h != "" {
		t.Errorf("holder %q", h)
	}
	want("a", true)
}

// testTaken: a partner's message is accepted once, and not if it is too old.
func testTaken(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	want := func(partner concordat.SiteID, message string, want bool) {
		t.Helper()
		got, err := db.Answers.TakeMessage(ctx, partner, []byte(message), c.now().Add(time.Minute))
		must(t, err)
		if got != want {
			t.Errorf("%s %s is new: %v, want %v", partner, message, got, want)
		}
	}
	want("north", "1", true)
	want("north", "1", false)
	want("south", "1", true)
	want("north", "2", true)
	c.move(2 * time.Minute)
	want("north", "1", true)
}

func testTaskProgress(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	must(t, db.Checks.PutTaskProgress(ctx, "gone", json.RawMessage(`{}`)))
	_, err := db.Checks.StartTask(ctx, store.Task{Task: concordat.Task{ID: "a", Made: c.now()}}, "w", time.Minute)
	must(t, err)
	for _, e := range []string{`{"stage":"read"}`, `{"stage":"search","done":3}`} {
		must(t, db.Checks.PutTaskProgress(ctx, "a", json.RawMessage(e)))
		got, err := db.Checks.TaskProgress(ctx, "a")
		must(t, err)
		if string(got) != e {
			t.Errorf("got %s, want %s", got, e)
		}
	}
	must(t, db.Checks.DeleteTask(ctx, "a"))
	_, err = db.Checks.TaskProgress(ctx, "a")
	wantErr(t, err, concordat.ErrNotFound)
}
