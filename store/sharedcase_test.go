package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

// testCases: a case is opened once, advances from seen to confirmed, is settled if both sides agree, and forgets deleted documents and
// checks.
func testCases(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx, cases := t.Context(), db.Cases
	want := store.SharedCase{Seq: 1, ID: concordat.CaseID{1}, Side: store.AlertTold, Partner: "north", Job: concordat.JobID{2},
		Handle: concordat.Handle{3}, Source: concordat.Ref{Site: "here", Library: "theses", Document: "d"}, Title: "One",
		Level: concordat.ShowMetadata, Sentences: 2, Opened: start, State: concordat.CaseOpen}
	must(t, cases.Open(ctx, want))
	want.Title, want.Sentences = "Two", 3
	must(t, cases.Open(ctx, want)) // the document has changed
	got, err := cases.Case(ctx, want.ID)
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	_, err = cases.Case(ctx, concordat.CaseID{9})
	wantErr(t, err, concordat.ErrNotFound)

	moved := want
	moved.Own = store.CasePosition{State: concordat.CaseConfirmed, Words: "a\x1b[2J\nb", By: "olga", At: start}
	moved.Erasure, moved.Work = "e", store.CaseReceipt
	must(t, cases.Keep(ctx, want, moved, "own"))
	wantErr(t, cases.Keep(ctx, want, moved, "own"), concordat.ErrChanged)
	was, err := cases.Case(ctx, want.ID)
	must(t, err)
	if was.State != concordat.CaseOpen || strings.ContainsAny(was.Own.Words, "\x1b\n") {
		t.Errorf("one side confirmed: %+v", was)
	}
	if todo, err := cases.ToDo(ctx, 0); err != nil || len(todo) != 1 {
		t.Errorf("to do %+v, %v", todo, err)
	}
	both := was
	both.Theirs, both.Work = store.CasePosition{State: concordat.CaseConfirmed, At: start.Add(time.Hour)}, ""
	must(t, cases.Keep(ctx, was, both, "partner"))
	found := store.SharedCase{Seq: 2, ID: concordat.CaseID{2}, Side: store.AlertFound, Partner: "north", Task: "t",
		Source: concordat.Ref{Site: "north", Library: "theses", Document: "0a"}, Level: concordat.ShowCounts, Opened: start,
		State: concordat.CaseOpen}
	must(t, cases.Open(ctx, found))
	all, err := cases.List(ctx, false, 0, 0)
	must(t, err)
	open, err := cases.List(ctx, true, 0, 0)
	must(t, err)
	before, err := cases.List(ctx, false, 2, 1)
	must(t, err)
	if len(all) != 2 || all[0].Seq != 2 || all[1].State != concordat.CaseConfirmed || len(open) != 1 || open[0].Seq != 2 || len(before) != 1 ||
		before[0].Seq != 1 {
		t.Errorf("all %+v, open %+v, before %+v", all, open, before)
	}
	if todo, err := cases.ToDo(ctx, 0); err != nil || len(todo) != 0 {
		t.Errorf("to do %+v, %v", todo, err)
	}

	_, _, err = db.Retention.EraseTraces(ctx, "here", "theses", []concordat.DocumentID{"d"})
	must(t, err)
	_, err = db.Retention.EraseTask(ctx, "t")
	must(t, err)
	all, err = cases.List(ctx, false, 0, 0)
	must(t, err)
	if all[0].Task != "" || all[1].Title != "" || all[1].Source.Document != "" || all[1].Own.State != concordat.CaseConfirmed {
		t.Errorf("after the deletions: %+v", all)
	}
	must(t, db.LeaveFederations(ctx))
	if all, err = cases.List(ctx, false, 0, 0); err != nil || len(all) != 0 {
		t.Errorf("after leaving all federations: %+v, %v", all, err)
	}
}

// testCasesBound: a partner cannot open more cases from one question than that question has alerts.
func testCasesBound(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	x := store.SharedCase{Side: store.AlertTold, Partner: "north", Job: concordat.JobID{2}, Level: concordat.ShowCounts, Opened: start}
	must(t, db.Atomic(t.Context(), func(tx *store.DB) error {
		for i := range store.MaxAlerts + 2 {
			x.ID = concordat.CaseID{byte(i), byte(i >> 8)}
			if err := tx.Cases.Open(t.Context(), x); err != nil {
				return err
			}
		}
		return nil
	}))
	if all, err := db.Cases.List(t.Context(), false, 0, 0); err != nil || len(all) != store.MaxAlerts {
		t.Errorf("%d cases, %v, want %d", len(all), err, store.MaxAlerts)
	}
}
