package store_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

func testTerms(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a", "b")
	old := row("a", "3", "h3")
	old.Added = start.Add(-time.Hour)
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h1"), row("a", "2", "h2"), old, row("b", "1", "h1")}))
	wantErr(t, db.Retention.SetTerm(ctx, store.Term{Library: "a", Document: "none", Hidden: start}), concordat.ErrNotFound)
	one := store.Term{Library: "a", Document: "1", Hidden: start.Add(time.Hour), Expires: start.Add(2 * time.Hour)}
	two := store.Term{Library: "b", Document: "1", Expires: start.Add(time.Hour)}
	must(t, db.Retention.SetTerm(ctx, one))
	must(t, db.Retention.SetTerm(ctx, two))
	got, err := db.Retention.Term(ctx, "a", "1")
	must(t, err)
	if d := cmp.Diff(one, got); d != "" {
		t.Error(d)
	}
	got, err = db.Retention.Term(ctx, "a", "2")
	must(t, err)
	if d := cmp.Diff(store.Term{Library: "a", Document: "2"}, got); d != "" {
		t.Error(d)
	}
	_, err = db.Retention.Term(ctx, "a", "none")
	wantErr(t, err, concordat.ErrNotFound)
	for at, want := range map[time.Duration][]store.Term{0: nil, time.Hour: {two}, 3 * time.Hour: {one, two}} {
		got, err := db.Retention.ExpiredDocuments(ctx, start.Add(at), 0)
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("after %s: %s", at, d)
		}
	}
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h9")})) // different text, same retention
	terms, err := db.Retention.Terms(ctx, "a", "", 0)
	must(t, err)
	if d := cmp.Diff([]store.Term{one}, terms); d != "" {
		t.Error(d)
	}
	olds, err := db.Retention.OldDocuments(ctx, "a", start, 0)
	must(t, err)
	if len(olds) != 1 || olds[0].ID != "3" {
		t.Errorf("old documents %v", olds)
	}
	must(t, db.Catalogue.DeleteDocuments(ctx, "b", "1"))
	must(t, db.Retention.SetTerm(ctx, store.Term{Library: "a", Document: "1"}))
	left, err := db.Retention.ExpiredDocuments(ctx, start.Add(100*time.Hour), 0)
	must(t, err)
	if len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func testEraseTask(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	make := func(id concordat.TaskID) store.Task {
		t.Helper()
		x, err := db.Checks.StartTask(ctx, store.Task{Task: concordat.Task{ID: id, Made: start}, Request: []byte(`{"file":"f1"}`), File: "f1"},
			"w",
			time.Hour)
		must(t, err)
		return x
	}
	one, two := make("one"), make("two")
	wantErr(t, db.Retention.SetRequest(ctx, "one", nil), concordat.ErrInvalid)
	must(t, db.Checks.PutFindings(ctx, "one", []byte("found")))
	must(t, db.Checks.PutResults(ctx, "one", []store.Result{{Source: concordat.Ref{Site: "s", Library: "a", Document: "1"}, Kind: "near"},
		{Source: concordat.Ref{Site: "s", Library: "a", Document: "1"}, Kind: "near"}}))
	_, err := db.Checks.AppendReview(ctx, "one", store.Review{At: start, By: "ada", Kind: store.ReviewComment, Text: "x"})
	must(t, err)
	must(t, db.Checks.FinishTask(ctx, one, concordat.TaskDone, store.Cause{}))
	citing, err := db.Retention.Citing(ctx, concordat.Ref{Site: "s", Library: "a", Document: "1"})
	must(t, err)
	if d := cmp.Diff([]concordat.TaskID{"one"}, citing); d != "" {
		t.Error(d)
	}
	ended := func(want ...concordat.TaskID) {
		t.Helper()
		ts, err := db.Retention.EndedTasks(ctx, c.now().Add(time.Second), 0, 0)
		must(t, err)
		var got []concordat.TaskID
		for _, x := range ts {
			got = append(got, x.ID)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	ended("one")
	_, err = db.People.BeginOnce(ctx, "ada", "key", "r")
	must(t, err)
	must(t, db.People.EndOnce(ctx, "ada", "key", `{"checks":[{"id":"one"}]}`))
	needed := func(want bool) {
		t.Helper()
		got, err := db.Retention.OriginalNeeded(ctx, "f1")
		must(t, err)
		if got != want {
			t.Errorf("file needed: %v", got)
		}
	}
	e, err := db.Retention.EraseTask(ctx, "one")
	must(t, err)
	if e.Findings == 0 || e.Results != 2 || e.Reviews != 1 || e.Request == 0 || e.Answers != 1 {
		t.Errorf("erased %+v", e)
	}
	needed(true) // needed by the other check
	e, err = db.Retention.EraseTask(ctx, "one")
	must(t, err)
	if e != (store.Erased{}) {
		t.Errorf("again %+v", e)
	}
	must(t, db.Checks.FinishTask(ctx, two, concordat.TaskDone, store.Cause{}))
	ended("two")
	files, err := db.Retention.Originals(ctx, "two")
	must(t, err)
	if d := cmp.Diff([]string{"f1"}, files); d != "" {
		t.Error(d)
	}
	must(t, db.Retention.SetRequest(ctx, "two", []byte("{}")))
	needed(false)
	wantErr(t, db.Retention.SetRequest(ctx, "none", nil), concordat.ErrNotFound)
	// Every file of a submission is needed.
	must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: "three"}, File: "f2", Files: []string{"f3", "f1"}}))
	files, err = db.Retention.Originals(ctx, "three")
	must(t, err)
	slices.Sort(files)
	if d := cmp.Diff([]string{"f1", "f2", "f3"}, files); d != "" {
		t.Error(d)
	}
	needed(true)
}

func testErasures(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	e := store.Erasure{ID: "one", Made: start, Actor: "ada", Reason: "asked by the author", Target: json.RawMessage(`{"tasks":["x"]}`)}
	must(t, db.Retention.AskErasure(ctx, e))
	wantErr(t, db.Retention.AskErasure(ctx, e), concordat.ErrExists)
	wantErr(t, db.Retention.AskErasure(ctx, store.Erasure{ID: "two", Target: json.RawMessage(`{`)}), concordat.ErrInvalid)
	e.ID = "two"
	must(t, db.Retention.AskErasure(ctx, e))
	open, err := db.Retention.OpenErasures(ctx)
	must(t, err)
	if len(open) != 2 || open[0].ID != "one" || open[0].State != store.ErasureAsked || string(open[0].Target) != `{"tasks":["x"]}` {
		t.Errorf("open %+v", open)
	}
	must(t, db.Retention.StepErasure(ctx, "one", store.ErasureDeleted, json.RawMessage(`{"a":1}`)))
	must(t, db.Retention.StepErasure(ctx, "one", store.ErasureDone, json.RawMessage(`{"a":2}`)))
	wantErr(t, db.Retention.StepErasure(ctx, "none", store.ErasureDone, nil), concordat.ErrNotFound)
	got, err := db.Retention.Erasure(ctx, "one")
	must(t, err)
	want := store.Erasure{Seq: 1, ID: "one", Made: start, Actor: "ada", Reason: e.Reason, State: store.ErasureDone,
		Receipt: json.RawMessage(`{"a":2}`), Done: start}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	all, err := db.Retention.Erasures(ctx, 0, 1)
	must(t, err)
	if len(all) != 1 || all[0].ID != "two" {
		t.Errorf("newest %+v", all)
	}
	if open, err = db.Retention.OpenErasures(ctx); err != nil || len(open) != 1 {
		t.Errorf("open %v, %v", open, err)
	}
}

func testCharges(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	charge := func(who string, n int64) store.Charge {
		return store.Charge{Who: who, Kind: "documents", Amount: n, Most: 3, Within: 24 * time.Hour}
	}
	must(t, db.People.Charge(ctx, charge("ada", 2), charge("here", 2)))
	err := db.People.Charge(ctx, charge("bo", 1), charge("here", 2)) // neither account is charged
	var used *store.QuotaUsed
	if !errors.As(err, &used) || used.Who != "here" || used.Left != 1 || !errors.Is(err, concordat.ErrRefused) {
		t.Fatalf("got %v", err)
	}
	if want := start.Add(24*time.Hour + store.SpendSlot); !used.Retry.Equal(want) {
		t.Errorf("free from %s, want %s", used.Retry, want)
	}
	must(t, db.People.Charge(ctx, charge("bo", 3)))
	if err := db.People.Charge(ctx, charge("bo", 0)); !errors.As(err, &used) {
		t.Errorf("nothing is left, and got %v", err)
	}
	if err := db.People.Charge(ctx, charge("eve", 4)); !errors.As(err, &used) || !used.Retry.IsZero() {
		t.Errorf("beyond the limit: %v", err)
	}
	unlimited := charge("bo", 100)
	unlimited.Most = -1
	must(t, db.People.Charge(ctx, unlimited))
	wantErr(t, db.People.Charge(ctx, charge("bo", -1)), concordat.ErrInvalid)
	c.move(24*time.Hour + store.SpendSlot)
	must(t, db.People.Charge(ctx, charge("here", 3)))
	must(t, db.People.ForgetQuota(ctx, c.now().Add(time.Hour)))
	must(t, db.People.Charge(ctx, charge("here", 3)))
}

func testSessions(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	must(t, db.People.CreateAccount(ctx, account("ada", store.RoleSubmitter)))
	put := func(secret string, purpose store.Purpose) {
		t.Helper()
		must(t, db.People.PutToken(ctx, secret, store.Token{Purpose: purpose, Account: "ada", Made: c.now(), Expires: c.now().Add(12 * time.Hour),
			Name: "Browser"}))
	}
	put("one", store.PurposeSession)
	put("two", store.PurposeSession)
	put("api", store.PurposeAPI)
	put("link", store.PurposeJoin)
	use := func(secret string) error {
		_, err := db.People.UseSession(ctx, secret, time.Hour)
		return err
	}
	c.move(50 * time.Minute)
	must(t, use("one"))
	c.move(50 * time.Minute)
	must(t, use("one")) // each use extends the session
	wantErr(t, use("two"), concordat.ErrNotFound)
	wantErr(t, use("api"), concordat.ErrNotFound)
	_, err := db.People.UseSession(ctx, "two", 0)
	must(t, err)
	must(t, db.People.EndSessions(ctx, "ada", store.SecretID("one")))
	must(t, use("one"))
	_, err = db.People.UseSession(ctx, "two", 0)
	wantErr(t, err, concordat.ErrNotFound)
	must(t, db.People.SetPassword(ctx, "ada", "new"))
	wantErr(t, use("one"), concordat.ErrNotFound)
	_, err = db.People.Token(ctx, "link", store.PurposeJoin)
	wantErr(t, err, concordat.ErrNotFound)
	_, err = db.People.Token(ctx, "api", store.PurposeAPI)
	must(t, err)
	wantErr(t, db.People.SetPassword(ctx, "nobody", "new"), concordat.ErrNotFound)
}

func testPublic(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	for _, a := range []store.Account{
		{Name: "kept", Role: store.RoleSubmitter, Password: "x", Created: start.Add(-time.Hour), Public: true},
		{Name: "idle", Role: store.RoleSubmitter, Created: start.Add(-time.Hour), Public: true},
		{Name: "fresh", Role: store.RoleSubmitter, Created: start, Public: true},
		{Name: "staff", Role: store.RoleOfficer, Created: start.Add(-time.Hour)},
	} {
		must(t, db.People.CreateAccount(ctx, a))
	}
	must(t, db.People.PutToken(ctx, "link", store.Token{Purpose: store.PurposeJoin, Account: "idle", Made: start,
		Expires: start.Add(time.Hour)}))
	for i, owner := range []string{"kept", "kept", "staff"} {
		must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: concordat.TaskID(rune('a' + i)), Made: start}, Owner: owner}))
	}
	own, public, err := db.People.OpenTasks(ctx, "staff")
	must(t, err)
	if own != 1 || public != 2 {
		t.Errorf("open: %d own, %d public", own, public)
	}
	n, err := db.People.DeleteUnjoined(ctx, start)
	must(t, err)
	if n != 1 {
		t.Errorf("%d forgotten, want the idle one", n)
	}
	_, err = db.People.JoinAccount(ctx, "link", "x")
	wantErr(t, err, concordat.ErrNotFound)
	if n, err = db.People.PublicAccounts(ctx); err != nil || n != 2 {
		t.Errorf("%d public accounts, %v", n, err)
	}
}
