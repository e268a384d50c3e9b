package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

func account(name string, r store.Role) store.Account {
	return store.Account{Name: name, Title: "Person " + name, Role: r, Password: "$argon2id$" + name, Created: start}
}

func testAccounts(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	ada := account("ada", store.RoleOfficer)
	must(t, db.People.CreateAccount(ctx, ada))
	wantErr(t, db.People.CreateAccount(ctx, ada), concordat.ErrExists)
	wantErr(t, db.People.CreateAccount(ctx, account("", store.RoleOfficer)), concordat.ErrInvalid)
	wantErr(t, db.People.CreateAccount(ctx, account("eve", "queen")), concordat.ErrInvalid)
	bo := account("波", store.RoleAuditor)
	must(t, db.People.CreateAccount(ctx, bo))
	all, err := db.People.Accounts(ctx)
	must(t, err)
	if d := cmp.Diff([]store.Account{ada, bo}, all); d != "" {
		t.Error(d)
	}
	_, err = db.People.Account(ctx, "nobody")
	wantErr(t, err, concordat.ErrNotFound)
	wantErr(t, db.People.UpdateAccount(ctx, account("nobody", store.RoleOfficer)), concordat.ErrNotFound)

	session := func() error {
		_, err := db.People.Token(ctx, "secret", store.PurposeSession)
		return err
	}
	signIn := func() {
		t.Helper()
		must(t, db.People.PutToken(ctx, "secret", store.Token{Purpose: store.PurposeSession, Account: "ada", Made: start,
			Expires: start.Add(time.Hour)}))
		must(t, session())
	}
	signIn()
	ada.Title = "Ada L."
	must(t, db.People.UpdateAccount(ctx, ada)) // with a new title, ada is still the same person
	must(t, session())
	for _, change := range []func(){
		func() { ada.Password = "other" },
		func() { ada.Role = store.RoleAuditor },
		func() { ada.Disabled = true },
	} {
		change()
		must(t, db.People.UpdateAccount(ctx, ada))
		wantErr(t, session(), concordat.ErrNotFound)
		signIn()
	}
	got, err := db.People.Account(ctx, "ada")
	must(t, err)
	if d := cmp.Diff(ada, got); d != "" {
		t.Error(d)
	}
}

func testTokens(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	want := store.Token{Purpose: store.PurposeSession, Account: "ada", Made: start, Expires: start.Add(time.Hour)}
	must(t, db.People.PutToken(ctx, "one", want))
	got, err := db.People.Token(ctx, "one", store.PurposeSession)
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	_, err = db.People.Token(ctx, "one", store.PurposeFirst) // a token is valid for one purpose only
	wantErr(t, err, concordat.ErrNotFound)
	_, err = db.People.Token(ctx, "two", store.PurposeSession)
	wantErr(t, err, concordat.ErrNotFound)
	c.move(time.Hour)
	_, err = db.People.Token(ctx, "one", store.PurposeSession)
	wantErr(t, err, concordat.ErrNotFound)
	must(t, db.People.DeleteToken(ctx, "one"))
	must(t, db.People.DeleteToken(ctx, "one"))
}

func testAPITokens(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	want := store.Token{Purpose: store.PurposeAPI, Account: "ada", Made: start, Expires: start.Add(48 * time.Hour), Name: "Moodle <1>",
		Scopes: []string{"read", "check"}}
	must(t, db.People.PutToken(ctx, "one", want))
	must(t, db.People.PutToken(ctx, "bos", store.Token{Purpose: store.PurposeAPI, Account: "bo", Made: start,
		Expires: start.Add(48 * time.Hour)}))
	c.move(90 * time.Minute)
	want.Used = c.now().Truncate(time.Hour)
	got, err := db.People.UseToken(ctx, "one", store.PurposeAPI)
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ids, all, err := db.People.Tokens(ctx, "ada", store.PurposeAPI)
	must(t, err)
	if d := cmp.Diff([]store.Token{want}, all); d != "" || len(ids) != 1 || len(ids[0]) != 32 {
		t.Error(d, ids)
	}
	must(t, db.People.RevokeToken(ctx, "bo", ids[0])) // the tokens are not bo's
	_, err = db.People.UseToken(ctx, "one", store.PurposeAPI)
	must(t, err)
	must(t, db.People.RevokeToken(ctx, "ada", ids[0]))
	_, err = db.People.UseToken(ctx, "one", store.PurposeAPI)
	wantErr(t, err, concordat.ErrNotFound)
	for i := range store.MaxTokens {
		must(t, db.People.PutToken(ctx, fmt.Sprint("one of many ", i), store.Token{Purpose: store.PurposeAPI, Account: "ada", Made: c.now(),
			Expires: c.now().Add(time.Hour)}))
	}
	more := store.Token{Purpose: store.PurposeAPI, Account: "ada", Made: c.now(), Expires: c.now().Add(time.Hour)}
	wantErr(t, db.People.PutToken(ctx, "one too many", more), concordat.ErrChanged)
	more.Purpose = store.PurposeSession // browser sessions do not count
	must(t, db.People.PutToken(ctx, "a browser", more))
	more.Purpose, more.Account = store.PurposeAPI, "bo"
	must(t, db.People.PutToken(ctx, "another account", more))
	c.move(2 * time.Hour) // the sessions have expired
	more.Account, more.Made, more.Expires = "ada", c.now(), c.now().Add(time.Hour)
	must(t, db.People.PutToken(ctx, "a new one", more))
}

func testOnce(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	begin := func(account, request, want string, fault error) {
		t.Helper()
		got, err := db.People.BeginOnce(ctx, account, "key", request)
		if !errors.Is(err, fault) || got != want {
			t.Errorf("got %q, %v; want %q, %v", got, err, want, fault)
		}
	}
	begin("ada", "r1", "", nil)
	begin("ada", "r1", "", concordat.ErrUnavailable)
	begin("bo", "r1", "", nil)
	must(t, db.People.EndOnce(ctx, "ada", "key", "answer"))
	begin("ada", "r1", "answer", nil)
	begin("ada", "r2", "", concordat.ErrInvalid)
	must(t, db.People.EndOnce(ctx, "bo", "key", "")) // the request failed
	begin("bo", "r2", "", nil)
	c.move(25 * time.Hour)
	begin("ada", "r2", "", nil)
}

func testJoinAccount(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	must(t, db.People.CreateAccount(ctx, account("ada", store.RoleOfficer)))
	gone := account("bo", store.RoleOfficer)
	gone.Disabled = true
	must(t, db.People.CreateAccount(ctx, gone))
	put := func(secret, name string, purpose store.Purpose) {
		t.Helper()
		must(t, db.People.PutToken(ctx, secret, store.Token{Purpose: purpose, Account: name, Made: start, Expires: start.Add(time.Hour)}))
	}
	put("session", "ada", store.PurposeSession)
	put("link", "ada", store.PurposeJoin)
	put("other", "ada", store.PurposeJoin)
	put("disabled", "bo", store.PurposeJoin)
	for _, secret := range []string{"guess", "session", "disabled"} {
		_, err := db.People.JoinAccount(ctx, secret, "new")
		wantErr(t, err, concordat.ErrNotFound)
	}
	got, err := db.People.JoinAccount(ctx, "link", "new")
	must(t, err)
	want := account("ada", store.RoleOfficer)
	want.Password = "new"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, secret := range []string{"link", "other"} {
		_, err := db.People.JoinAccount(ctx, secret, "newer")
		wantErr(t, err, concordat.ErrNotFound)
	}
	_, err = db.People.Token(ctx, "session", store.PurposeSession)
	wantErr(t, err, concordat.ErrNotFound)
}

func testFirstAccount(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	link := func(secret string) {
		t.Helper()
		must(t, db.People.PutToken(ctx, secret, store.Token{Purpose: store.PurposeFirst, Made: c.now(), Expires: c.now().Add(time.Hour)}))
	}
	wantErr(t, db.People.FirstAccount(ctx, "guess", account("eve", "")), concordat.ErrNotFound)
	link("late")
	c.move(time.Hour)
	wantErr(t, db.People.FirstAccount(ctx, "late", account("eve", "")), concordat.ErrNotFound)
	link("link")
	link("other")
	wantErr(t, db.People.FirstAccount(ctx, "link", account("", "")), concordat.ErrInvalid)
	must(t, db.People.FirstAccount(ctx, "link", account("ada", store.RoleSubmitter)))
	got, err := db.People.Account(ctx, "ada")
	must(t, err)
	if got.Role != store.RoleAdministrator {
		t.Errorf("role %s", got.Role)
	}
	wantErr(t, db.People.FirstAccount(ctx, "link", account("eve", "")), concordat.ErrNotFound)
	wantErr(t, db.People.FirstAccount(ctx, "other", account("eve", "")), concordat.ErrExists)
}

func testTaskOwner(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	for _, id := range []concordat.TaskID{"a1", "b1", "a2"} {
		one := task(id)
		one.Owner, one.Batch = string(id[:1]), "batch"
		must(t, db.Checks.CreateTask(ctx, one))
	}
	ids := func(ts []store.Task, err error) (out []concordat.TaskID) {
		t.Helper()
		must(t, err)
		for _, x := range ts {
			if x.Batch != "batch" || x.Owner != string(x.ID[:1]) {
				t.Errorf("task %+v", x)
			}
			out = append(out, x.ID)
		}
		return out
	}
	own := func(owner string, before int64, limit int) []concordat.TaskID {
		t.Helper()
		return ids(db.Checks.FilterTasks(ctx, store.TaskFilter{Owner: owner}, before, limit))
	}
	if got := own("a", 0, 0); !cmp.Equal(got, []concordat.TaskID{"a2", "a1"}) {
		t.Errorf("got %v", got)
	}
	if got := own("a", 3, 5); !cmp.Equal(got, []concordat.TaskID{"a1"}) {
		t.Errorf("got %v", got)
	}
	if got := own("nobody", 0, 0); got != nil {
		t.Errorf("got %v", got)
	}
	claim(t, db, "w", "a1")
	last, err := db.Checks.Task(ctx, "a2")
	must(t, err)
	if queued, running, err := db.Checks.Ahead(ctx, last); queued != 1 || running != 1 || err != nil {
		t.Errorf("ahead %d, %d, %v", queued, running, err)
	}
}

func testTaskCancel(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1", "t2")
	must(t, db.Checks.CancelTask(ctx, "t2", store.Cause{Detail: "by ada"}))
	t1 := claim(t, db, "w", "t1")
	noClaim(t, db)
	must(t, db.Checks.CancelTask(ctx, "t1", store.Cause{Detail: "by ada"}))
	wantErr(t, db.Checks.FinishTask(ctx, t1, concordat.TaskDone, store.Cause{}), store.ErrLease)
	for _, id := range []concordat.TaskID{"t1", "t2"} {
		got, err := db.Checks.Task(ctx, id)
		must(t, err)
		if got.State != concordat.TaskFailed || got.Cause.Detail != "by ada" || !got.Finished.Equal(c.now()) {
			t.Errorf("got %+v", got)
		}
	}
	must(t, db.Checks.CancelTask(ctx, "t1", store.Cause{Detail: "again"}))
	if got, _ := db.Checks.Task(ctx, "t1"); got.Cause.Detail != "by ada" {
		t.Errorf("an ended task changed: %+v", got)
	}
	wantErr(t, db.Checks.CancelTask(ctx, "none", store.Cause{}), concordat.ErrNotFound)
}

func testTaskReclaim(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1", "t2")
	claim(t, db, "w1", "t1")
	claim(t, db, "w2", "t2")
	noClaim(t, db)
	must(t, db.Checks.ReclaimTasks(ctx, "w1"))
	claim(t, db, "w1", "t1")
	noClaim(t, db)
}

func testReviews(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1", "t2")
	var want []store.Review
	for _, r := range []store.Review{
		{At: start, By: "ada", Kind: store.ReviewRules, Data: []byte(`{"exclude_quotes":true}`)},
		{At: start.Add(time.Second), By: "波", Kind: store.ReviewComment, Text: "well\x00 quoted"},
	} {
		got, err := db.Checks.AppendReview(ctx, "t1", r)
		must(t, err)
		want = append(want, got)
	}
	if want[0].Seq != 1 || want[1].Seq != 2 || want[1].Text != "well\uFFFD quoted" || string(want[1].Data) != "null" {
		t.Errorf("got %+v", want)
	}
	got, err := db.Checks.Reviews(ctx, "t1")
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got, err := db.Checks.Reviews(ctx, "t2"); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = db.Checks.AppendReview(ctx, "none", store.Review{Kind: store.ReviewComment})
	wantErr(t, err, concordat.ErrNotFound)
	_, err = db.Checks.AppendReview(ctx, "t1", store.Review{Kind: "song"})
	wantErr(t, err, concordat.ErrInvalid)
	_, err = db.Checks.AppendReview(ctx, "t1", store.Review{Kind: store.ReviewRules, Data: []byte("{")})
	wantErr(t, err, concordat.ErrInvalid)
	// A comment can be changed or deleted by its author, and its number is not reused.
	_, err = db.Checks.ChangeComment(ctx, "t1", 2, "ada", "mine", start)
	wantErr(t, err, concordat.ErrRefused)
	_, err = db.Checks.ChangeComment(ctx, "t1", 1, "ada", "no comment", start)
	wantErr(t, err, concordat.ErrNotFound)
	edited, err := db.Checks.ChangeComment(ctx, "t1", 2, "波", "quoted", start.Add(time.Minute))
	must(t, err)
	want[1].Text = "quoted"
	got, err = db.Checks.Reviews(ctx, "t1")
	must(t, err)
	if d := cmp.Diff(append(want, edited), got); d != "" || edited.Seq != 3 || edited.Kind != store.ReviewEdited ||
		string(edited.Data) != "2" {
		t.Errorf("%+v: %s", edited, d)
	}
	last, err := db.Checks.AppendReview(ctx, "t1", store.Review{By: "波", Kind: store.ReviewComment, Text: "again"})
	must(t, err)
	removed, err := db.Checks.ChangeComment(ctx, "t1", last.Seq, "波", "", start)
	must(t, err)
	got, err = db.Checks.Reviews(ctx, "t1")
	must(t, err)
	if d := cmp.Diff(append(want, edited, removed), got); d != "" || removed.Seq != last.Seq+1 || removed.Kind != store.ReviewRemoved {
		t.Errorf("%+v: %s", removed, d)
	}
	_, err = db.Checks.ChangeComment(ctx, "t1", last.Seq, "波", "again", start)
	wantErr(t, err, concordat.ErrNotFound)
	must(t, db.Checks.DeleteTask(ctx, "t1"))
	if got, err := db.Checks.Reviews(ctx, "t1"); got != nil || err != nil {
		t.Errorf("reviews of a deleted task: %v, %v", got, err)
	}
}

func testScores(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1", "t2", "t3")
	must(t, db.Checks.PutFindings(ctx, "t1", []byte("{}")))
	must(t, db.Checks.PutFindings(ctx, "t2", []byte("{}")))
	ids := []concordat.TaskID{"t1", "t2", "t3", "none"}
	first, err := db.Checks.FindingsRevision(ctx, "t1")
	must(t, err)
	of := func() map[concordat.TaskID]store.Score {
		t.Helper()
		got, err := db.Checks.Scores(ctx, ids)
		must(t, err)
		return got
	}
	if got := of(); len(got) != 0 {
		t.Errorf("scores %v before any", got)
	}
	must(t, db.Checks.PutScore(ctx, "t1", store.Score{Revision: first, Rules: "old", Measured: true, Covered: 0.5}))
	want := store.Score{Revision: first, Rules: "new", Measured: true, Covered: 0.25, Flags: 2}
	must(t, db.Checks.PutScore(ctx, "t1", want))
	must(t, db.Checks.PutScore(ctx, "t2", store.Score{Revision: first, Rules: "new"}))
	must(t, db.Checks.PutScore(ctx, "t3", store.Score{Revision: 1, Rules: "of no findings"}))
	wantErr(t, db.Checks.PutScore(ctx, "none", want), concordat.ErrNotFound)
	if d := cmp.Diff(map[concordat.TaskID]store.Score{"t1": want, "t2": {Revision: first, Rules: "new"}}, of()); d != "" {
		t.Error(d)
	}
	must(t, db.Checks.PutFindings(ctx, "t1", []byte("[]")))
	must(t, db.Checks.DeleteTask(ctx, "t2"))
	if got := of(); len(got) != 0 {
		t.Errorf("scores %v of findings that are others now", got)
	}
}
