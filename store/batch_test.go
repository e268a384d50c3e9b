package store_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
	"concordat/store"
)

func newBatch(id, owner string) store.Batch {
	return store.Batch{ID: id, Title: "Call " + id, Owner: owner, Runner: "serve", Work: "w-" + id,
		Request: json.RawMessage(`{"threshold":0.5}`), Lineage: json.RawMessage(`{"author":true}`), Made: start}
}

func testBatches(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	inputs := []store.BatchInput{{Number: 0, Name: "a.txt", Place: "/x/a.txt"}, {Number: 1, Name: "b.zip", Place: "/x/b.zip"}}
	must(t, db.Batches.CreateBatch(ctx, newBatch("one", "ann"), inputs))
	must(t, db.Batches.CreateBatch(ctx, newBatch("two", "bob"), nil))
	wantErr(t, db.Batches.CreateBatch(ctx, newBatch("one", "bob"), nil), concordat.ErrExists)
	wantErr(t, db.Batches.CreateBatch(ctx, newBatch("", "bob"), nil), concordat.ErrInvalid)
	got, err := db.Batches.Batch(ctx, "one")
	must(t, err)
	want := newBatch("one", "ann")
	want.Seq, want.State, want.Round = got.Seq, concordat.TaskQueued, 1
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	_, err = db.Batches.Batch(ctx, "three")
	wantErr(t, err, concordat.ErrNotFound)

	ids := func(bs []store.Batch, err error) (out []string) {
		must(t, err)
		for _, b := range bs {
			out = append(out, b.ID)
		}
		return out
	}
	ann := "ann"
	if all, own := ids(db.Batches.Batches(ctx, nil, 0, 0)), ids(db.Batches.Batches(ctx, &ann, 0, 0)); !slices.Equal(all,
		[]string{"two", "one"}) ||
		!slices.Equal(own, []string{"one"}) {
		t.Errorf("got %v, own %v", all, own)
	}
	first, err := db.Batches.Batches(ctx, nil, 0, 1)
	must(t, err)
	if older := ids(db.Batches.Batches(ctx, nil, first[0].Seq, 1)); !slices.Equal(older, []string{"one"}) {
		t.Errorf("second page: %v", older)
	}

	in, err := db.Batches.BatchInputs(ctx, "one", true)
	must(t, err)
	if d := cmp.Diff(inputs, in); d != "" {
		t.Error(d)
	}
	next, err := db.Batches.NextBatch(ctx, "serve")
	must(t, err)
	if next.ID != "one" {
		t.Errorf("next is %s", next.ID)
	}
	_, err = db.Batches.NextBatch(ctx, "nobody")
	wantErr(t, err, concordat.ErrNotFound)
	must(t, db.Batches.BatchProgress(ctx, "one", "read", 1, 2))
	got, err = db.Batches.BatchOfWork(ctx, "w-one")
	must(t, err)
	if got.State != concordat.TaskRunning || got.Stage != "read" || got.Done != 1 || got.Total != 2 || got.Started.IsZero() {
		t.Errorf("running: %+v", got)
	}
	wantErr(t, db.Batches.FinishBatch(ctx, "one", concordat.TaskQueued, store.Cause{}, nil), concordat.ErrInvalid)
	must(t, db.Batches.FinishBatch(ctx, "one", concordat.TaskDone, store.Cause{Detail: "1 of 2"}, nil))
	wantErr(t, db.Batches.FinishBatch(ctx, "one", concordat.TaskDone, store.Cause{}, nil), store.ErrLease)
	wantErr(t, db.Batches.BatchProgress(ctx, "one", "read", 2, 2), store.ErrLease)
	wantErr(t, db.Batches.BatchProgress(ctx, "three", "read", 2, 2), concordat.ErrNotFound)
	_, err = db.Batches.BatchOfWork(ctx, "w-one")
	wantErr(t, err, concordat.ErrNotFound)
	must(t, db.Batches.ReopenBatch(ctx, "one", "command", true))
	must(t, db.Batches.ReopenBatch(ctx, "one", "serve", true)) // it has not ended yet
	got, err = db.Batches.Batch(ctx, "one")
	must(t, err)
	if got.State != concordat.TaskQueued || got.Round != 2 || got.Runner != "command" || !got.Cause.IsZero() || !got.Finished.IsZero() {
		t.Errorf("reopened: %+v", got)
	}
	wantErr(t, db.Batches.ReopenBatch(ctx, "three", "serve", true), concordat.ErrNotFound)
	must(t, db.Batches.SetBatchLineage(ctx, "one", json.RawMessage(`{}`)))
	wantErr(t, db.Batches.SetBatchLineage(ctx, "three", nil), concordat.ErrNotFound)

	events := []store.BatchEvent{{Seq: 1, At: start, By: "ann", Action: "lineage", Text: "none"},
		{Seq: 2, At: start.Add(time.Hour), By: "bob", Action: "pair_count", Text: "a – b"}}
	for _, e := range events {
		must(t, db.Batches.AppendBatchEvent(ctx, "one", e))
	}
	wantErr(t, db.Batches.AppendBatchEvent(ctx, "three", events[0]), concordat.ErrNotFound)
	kept, err := db.Batches.BatchEvents(ctx, "one")
	must(t, err)
	if d := cmp.Diff(events, kept); d != "" {
		t.Error(d)
	}
	if data, err := db.Batches.BatchWording(ctx, "one"); err != nil || data != nil {
		t.Errorf("wording at first: %q, %v", data, err)
	}
	must(t, db.Batches.PutBatchWording(ctx, "one", []byte("[1]")))
	must(t, db.Batches.PutBatchWording(ctx, "one", []byte("[1,2]")))
	wantErr(t, db.Batches.PutBatchWording(ctx, "nowhere", []byte("[1]")), concordat.ErrNotFound)
	if data, err := db.Batches.BatchWording(ctx, "one"); err != nil || string(data) != "[1,2]" {
		t.Errorf("wording: %q, %v", data, err)
	}
	must(t, db.Batches.DeleteBatch(ctx, "one"))
	must(t, db.Batches.DeleteBatch(ctx, "one"))
	if data, err := db.Batches.BatchWording(ctx, "one"); err != nil || data != nil {
		t.Errorf("wording of a deleted batch: %q, %v", data, err)
	}
	if kept, err = db.Batches.BatchEvents(ctx, "one"); err != nil || len(kept) > 0 {
		t.Errorf("events of a deleted batch: %v, %v", kept, err)
	}
}

func testBatchMembers(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	must(t, db.Batches.CreateBatch(ctx, newBatch("one", "ann"), []store.BatchInput{{Number: 0, Name: "b.txt", Place: "b"},
		{Number: 1, Name: "a.zip", Place: "a"}}))
	b := store.BatchMember{Name: "b.txt", Title: "B", Author: "Ann", AuthorBy: store.AuthorMetadata, Group: "g", DraftOf: "a",
		Dated: "2024-05-02", DatedBy: concordat.DateOfFile, Timed: "2024-05-02T10:11:12Z",
		Flags: []concordat.Flag{{Code: "hidden_text", Count: 2}}, Characters: 12}
	must(t, db.Batches.PutBatchMembers(ctx, "one", 0, []store.BatchMember{b}))
	must(t, db.Batches.PutBatchMembers(ctx, "one", 0, []store.BatchMember{b})) // already stored
	two := []store.BatchMember{{Name: "a.zip!/1"}, {Name: "a.zip!/2", Cause: store.Cause{Code: "damaged"}}}
	wantErr(t, db.Batches.PutBatchMembers(ctx, "one", 1, append(two, two[0])), concordat.ErrExists)
	must(t, db.Batches.PutBatchMembers(ctx, "one", 1, two))
	if left, err := db.Batches.BatchInputs(ctx, "one", true); err != nil || len(left) > 0 {
		t.Errorf("waiting: %v, %v", left, err)
	}
	testBatchLeads(t, db)
	null := json.RawMessage("null")
	want := []store.BatchMember{{Number: 1, Name: "a.zip!/1", Fresh: null}, {Number: 2, Name: "a.zip!/2", Cause: two[1].Cause, Fresh: null}, b}
	want[2].Fresh = null
	got, err := db.Batches.BatchMembers(ctx, "one")
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	must(t, db.Batches.PutCompared(ctx, "one", 1, []store.BatchPair{{A: 1, B: 0, Passages: []byte("words")}, {A: 1, B: 2}}))
	must(t, db.Batches.PutCompared(ctx, "one", 0, []store.BatchPair{{A: 1, B: 0, Passages: []byte("other words")}})) // the first row stays
	wantErr(t, db.Batches.PutCompared(ctx, "one", 9, nil), concordat.ErrNotFound)
	if n, err := db.Batches.Compared(ctx, "one", 1); err != nil || !slices.Equal(n, []int{0, 2}) {
		t.Errorf("compared %v, %v", n, err)
	}
	queue(t, db, "t1")
	b.Number, b.Round, b.Task, b.Share, b.Largest, b.Incomplete, b.Fresh = 0, 1, "t1", 0.75, 0.5, true, json.RawMessage(`[]`)
	must(t, db.Batches.PutChecked(ctx, "one", b, map[int]store.PairShare{1: {Share: 0.4}}))
	wantErr(t, db.Batches.PutChecked(ctx, "one", store.BatchMember{Number: 9}, nil), concordat.ErrNotFound)
	must(t, db.Batches.PutChecked(ctx, "one", store.BatchMember{Number: 1, Round: 1, Task: "t2"}, map[int]store.PairShare{0: {Share: 0.6}}))
	b.Compared = true
	if got, err = db.Batches.BatchMembers(ctx, "one"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b, got[2]); d != "" {
		t.Error(d)
	}
	id, n, err := db.Batches.BatchOfTask(ctx, "t1")
	must(t, err)
	if id != "one" || n != 0 {
		t.Errorf("t1 is of %s, %d", id, n)
	}
	_, _, err = db.Batches.BatchOfTask(ctx, "")
	wantErr(t, err, concordat.ErrNotFound)
	pair := store.BatchPair{A: 1, B: 0, ShareA: 0.6, ShareB: 0.4, Passages: []byte("words")}
	one, err := db.Batches.BatchPair(ctx, "one", 1, 0)
	must(t, err)
	if d := cmp.Diff(pair, one); d != "" {
		t.Error(d)
	}
	_, err = db.Batches.BatchPair(ctx, "one", 0, 1)
	wantErr(t, err, concordat.ErrNotFound)
	of, err := db.Batches.PairsOfMember(ctx, "one", 0)
	must(t, err)
	if d := cmp.Diff([]store.BatchPair{pair}, of); d != "" {
		t.Error(d)
	}
	wantErr(t, db.Batches.SetPairVerdict(ctx, "one", 1, 0, "maybe"), concordat.ErrInvalid)
	wantErr(t, db.Batches.SetPairVerdict(ctx, "one", 0, 1, ""), concordat.ErrNotFound)
	must(t, db.Batches.SetPairVerdict(ctx, "one", 1, 0, store.VerdictDiscount))
	pair.Verdict, pair.Passages = store.VerdictDiscount, nil
	ps, err := db.Batches.BatchPairs(ctx, "one", 0.6, nil, 0)
	must(t, err)
	if d := cmp.Diff([]store.BatchPair{pair}, ps); d != "" {
		t.Error(d)
	}
	if ps, err = db.Batches.BatchPairs(ctx, "one", 0.61, nil, 0); err != nil || len(ps) > 0 {
		t.Errorf("above the share: %v, %v", ps, err)
	}
}

func testBatchPairs(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	must(t, db.Batches.CreateBatch(ctx, newBatch("one", ""), []store.BatchInput{{Name: "all", Place: "x"}}))
	var members []store.BatchMember
	for _, name := range []string{"a", "b", "c", "d"} {
		members = append(members, store.BatchMember{Name: name})
	}
	must(t, db.Batches.PutBatchMembers(ctx, "one", 0, members))
	shares := map[int]store.PairShare{}
	var pairs []store.BatchPair
	for i := 1; i < 4; i++ {
		pairs = append(pairs, store.BatchPair{A: 0, B: i, Passages: []byte("x")})
		shares[i] = store.PairShare{Share: []float64{0, 0.5, 0.25, 0.5}[i]}
	}
	must(t, db.Batches.PutCompared(ctx, "one", 0, pairs))
	must(t, db.Batches.PutChecked(ctx, "one", store.BatchMember{Number: 0, Round: 1}, shares))
	var order []int
	var after *store.PairCursor
	for {
		page, err := db.Batches.BatchPairs(ctx, "one", 0, after, 1)
		must(t, err)
		if len(page) == 0 {
			break
		}
		order = append(order, page[0].B)
		after = &store.PairCursor{Share: page[0].Share(), A: page[0].A, B: page[0].B}
	}
	if !slices.Equal(order, []int{1, 3, 2}) {
		t.Errorf("pages in the order %v", order)
	}
	testPairSections(t, db)
}

// testPairSections: a pair is listed if a section of either document has the share, until no section does.
func testPairSections(t *testing.T, db *store.DB) {
	ctx := t.Context()
	listed := func(want ...store.BatchPair) {
		t.Helper()
		ps, err := db.Batches.BatchPairs(ctx, "one", 0.7, nil, 0)
		must(t, err)
		if d := cmp.Diff(want, ps, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	}
	listed()
	plan, aims := store.SectionShare{Name: "Work plan", Share: 0.9}, store.SectionShare{Name: "Aims", Share: 0.2}
	check := func(number int, shares map[int]store.PairShare) {
		t.Helper()
		must(t, db.Batches.PutChecked(ctx, "one", store.BatchMember{Number: number, Round: 1}, shares))
	}
	check(2, map[int]store.PairShare{0: {Share: 0.1, Sections: []store.SectionShare{aims, plan}}})
	check(0, map[int]store.PairShare{2: {Share: 0.25, Sections: []store.SectionShare{aims}}})
	listed(store.BatchPair{A: 0, B: 2, ShareA: 0.25, ShareB: 0.1, SectionsA: []store.SectionShare{aims},
		SectionsB: []store.SectionShare{aims, plan}})
	check(2, map[int]store.PairShare{0: {Share: 0.1}})
	listed()
}

func testRechecks(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	null := json.RawMessage("null")
	daily := store.Recheck{Kind: store.RecheckCheck, Target: "t1", Owner: "ann", Every: 1, Next: start, Fresh: null}
	once := store.Recheck{Kind: store.RecheckBatch, Target: "b1", Owner: "bob", Next: start.Add(time.Hour), Fresh: null}
	for _, r := range []store.Recheck{daily, once} {
		must(t, db.Alerts.PutRecheck(ctx, r))
	}
	wantErr(t, db.Alerts.PutRecheck(ctx, store.Recheck{Kind: "dream", Target: "t"}), concordat.ErrInvalid)
	wantErr(t, db.Alerts.PutRecheck(ctx, store.Recheck{Kind: store.RecheckCheck, Target: "t", Every: -1}), concordat.ErrInvalid)
	due := func(at time.Time) []store.Recheck {
		rs, err := db.Alerts.DueRechecks(ctx, at)
		must(t, err)
		return rs
	}
	if d := cmp.Diff([]store.Recheck{daily}, due(start)); d != "" {
		t.Error(d)
	}
	daily.Next, daily.Due, daily.Latest, daily.Ran, daily.Fresh = start.AddDate(0, 0, 1), "t9", "t8", start, json.RawMessage(`[1]`)
	must(t, db.Alerts.PutRecheck(ctx, daily))
	if d := cmp.Diff([]store.Recheck{daily}, due(start)); d != "" {
		t.Errorf("what runs is due: %s", d)
	}
	once.Next = time.Time{}
	must(t, db.Alerts.PutRecheck(ctx, once))
	if d := cmp.Diff([]store.Recheck{daily}, due(start.AddDate(1, 0, 0))); d != "" {
		t.Error(d)
	}
	all, err := db.Alerts.Rechecks(ctx)
	must(t, err)
	if d := cmp.Diff([]store.Recheck{once, daily}, all); d != "" {
		t.Error(d)
	}
	got, err := db.Alerts.Recheck(ctx, store.RecheckCheck, "t1")
	must(t, err)
	if d := cmp.Diff(daily, got); d != "" {
		t.Error(d)
	}
	must(t, db.Alerts.DeleteRecheck(ctx, store.RecheckCheck, "t1"))
	must(t, db.Alerts.DeleteRecheck(ctx, store.RecheckCheck, "t1"))
	_, err = db.Alerts.Recheck(ctx, store.RecheckCheck, "t1")
	wantErr(t, err, concordat.ErrNotFound)
}

// testBatchLeads: leads between members are stored by member, together with their form in the members' reports; erasing a member removes
// both.
func testBatchLeads(t *testing.T, db *store.DB) {
	ctx := t.Context()
	read := func() []store.BatchLeads {
		t.Helper()
		all, err := db.Batches.BatchLeads(ctx, "one")
		must(t, err)
		return all
	}
	if all := read(); len(all) > 0 {
		t.Errorf("leads at first: %v", all)
	}
	wantErr(t, db.Batches.PutReportedLeads(ctx, "one", 1, []byte("[1]")), concordat.ErrNotFound)
	wantErr(t, db.Batches.PutBatchLeads(ctx, "one", 9, []byte("[1]")), concordat.ErrNotFound)
	wantErr(t, db.Batches.PutBatchLeads(ctx, "nowhere", 1, []byte("[1]")), concordat.ErrNotFound)
	must(t, db.Batches.PutBatchLeads(ctx, "one", 1, []byte("[1]")))
	must(t, db.Batches.PutBatchLeads(ctx, "one", 0, nil))
	must(t, db.Batches.PutReportedLeads(ctx, "one", 1, []byte("[2]")))
	want := []store.BatchLeads{{Member: 0}, {Member: 1, Found: []byte("[1]"), Reported: []byte("[2]")}}
	if d := cmp.Diff(want, read(), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	must(t, db.Batches.PutBatchLeads(ctx, "one", 1, []byte("[3]"))) // its stored report is older, and is dropped
	want[1] = store.BatchLeads{Member: 1, Found: []byte("[3]")}
	if d := cmp.Diff(want, read(), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}
