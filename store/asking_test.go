package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

var epoch = concordat.Epoch{Federation: "health", Number: 3}

func testAsks(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1", "t2")
	ask := func(n byte, task concordat.TaskID) store.Ask {
		return store.Ask{Job: concordat.JobID{n}, Task: task, Site: "north", Epoch: epoch, Made: start, Salt: []byte{n, 0, 1},
			Spans: []concordat.Span{{Start: 300, End: 420}, {Start: 0, End: 0}, {Start: 7, End: 1 << 33}}}
	}
	want := []store.Ask{ask(1, "t1"), ask(2, "t1")}
	for _, a := range []store.Ask{want[1], want[0], ask(3, "t2")} {
		must(t, db.Asks.PutAsk(ctx, a))
	}
	wantErr(t, db.Asks.PutAsk(ctx, want[0]), concordat.ErrExists)
	wantErr(t, db.Asks.PutAsk(ctx, ask(4, "none")), concordat.ErrNotFound)
	must(t, db.Asks.SetAskStanding(ctx, want[1].Job, true))
	want[1].Standing = true
	wantErr(t, db.Asks.SetAskStanding(ctx, concordat.JobID{9}, true), concordat.ErrNotFound)
	got, err := db.Asks.Asks(ctx, "t1")
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	one, err := db.Asks.Ask(ctx, want[1].Job)
	must(t, err)
	if d := cmp.Diff(want[1], one); d != "" {
		t.Error(d)
	}
	must(t, db.Checks.DeleteTask(ctx, "t1"))
	_, err = db.Asks.Ask(ctx, want[0].Job)
	wantErr(t, err, concordat.ErrNotFound)
}

func testExposures(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	digest := func(ns ...byte) (out []store.Digest) {
		for _, n := range ns {
			out = append(out, store.Digest{n})
		}
		return out
	}
	for i, c := range []struct {
		site    concordat.SiteID
		form    string
		digests []store.Digest
		want    []bool
	}{
		{"north", "a/1", digest(1, 2, 2), []bool{false, false, false}},
		{"north", "a/1", digest(2, 1), []bool{false, false}},
		{"north", "a/2", digest(1, 3, 2), []bool{true, false, true}},
		{"north", "a/1", digest(3, 1), []bool{true, false}},
		{"south", "a/2", digest(1, 2, 3), []bool{false, false, false}},
		{"south", "a/2", nil, []bool{}},
	} {
		got, err := db.Asks.Expose(ctx, c.site, c.form, c.digests)
		must(t, err)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("call %d: %s", i, d)
		}
	}
	n, err := db.Asks.Exposures(ctx)
	must(t, err)
	if n["north"] != 3 || n["south"] != 3 || len(n) != 2 {
		t.Errorf("got %v", n)
	}
	_, err = db.Asks.Expose(ctx, "", "a/1", digest(1))
	wantErr(t, err, concordat.ErrInvalid)
}

func testStanding(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1", "t2")
	want := store.Standing{Task: "t1", Scheme: "natural@0123456789abcdef", Made: start, Sentences: []concordat.Sentence{
		{Span: concordat.Span{Start: 5, End: 150}, Fingerprint: concordat.FingerprintOf([concordat.Bands]uint32{1, 2, 3, 4, 1 << 19}),
			Gate: 26, Section: -1},
		{Span: concordat.Span{Start: 100, End: 400}, Gate: 0, Section: -1},
	}}
	must(t, db.Alerts.PutStanding(ctx, store.Standing{Task: "t1", Scheme: "x@1", Made: start}))
	must(t, db.Alerts.PutStanding(ctx, want))
	must(t, db.Alerts.PutStanding(ctx, store.Standing{Task: "t2", Made: start}))
	wantErr(t, db.Alerts.PutStanding(ctx, store.Standing{Task: "none"}), concordat.ErrNotFound)
	got, err := db.Alerts.Standing(ctx, "t1")
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	must(t, db.Alerts.EndStanding(ctx, "t2"))
	wantErr(t, db.Alerts.EndStanding(ctx, "t2"), concordat.ErrNotFound)
	ids, err := db.Alerts.StandingTasks(ctx)
	must(t, err)
	if len(ids) != 1 || ids[0] != "t1" {
		t.Errorf("got %v", ids)
	}

	alert := store.Alert{Task: "t1", At: c.now(), Source: concordat.Ref{Site: "north", Library: "l", Document: "d"}, Title: "A\x00title",
		Author: "w", Contact: "c",
		Level: concordat.ShowMetadata, Sentences: 3, Words: "words", Spans: []concordat.Span{{Start: 1, End: 9}}}
	seq, err := db.Alerts.PutAlert(ctx, alert)
	must(t, err)
	if seq != 1 {
		t.Errorf("got number %d", seq)
	}
	alert.Sentences = 4
	if seq, err = db.Alerts.PutAlert(ctx, alert); err != nil || seq != 0 {
		t.Errorf("the same again: %d, %v", seq, err)
	}
	other := alert
	other.Source.Document = ""
	_, err = db.Alerts.PutAlert(ctx, other)
	must(t, err)
	other.Task = "none"
	_, err = db.Alerts.PutAlert(ctx, other)
	wantErr(t, err, concordat.ErrNotFound)
	as, err := db.Alerts.Alerts(ctx, 0, 1)
	must(t, err)
	alert.Seq, alert.Side, alert.Title = 1, store.AlertFound, "A\uFFFDtitle"
	if d := cmp.Diff([]store.Alert{alert}, as); d != "" {
		t.Error(d)
	}
	as, err = db.Alerts.Alerts(ctx, 1, 0)
	must(t, err)
	if len(as) != 1 || as[0].Source.Document != "" {
		t.Errorf("got %+v", as)
	}
	told := toldAlerts(t, db)
	must(t, db.Checks.DeleteTask(ctx, "t1"))
	if as, err = db.Alerts.Alerts(ctx, 0, 0); err != nil || len(as) != 1 || as[0].Seq != told {
		t.Errorf("after the task is gone: %+v, %v", as, err)
	}
	must(t, db.Alerts.ForgetAlerts(ctx, start))
	if _, err = db.Alerts.Alert(ctx, told); err != nil {
		t.Error(err)
	}
	must(t, db.Alerts.ForgetAlerts(ctx, start.Add(time.Hour)))
	_, err = db.Alerts.Alert(ctx, told)
	wantErr(t, err, concordat.ErrNotFound)
}

// putKnown stores an alert that already exists.
func putKnown(t *testing.T, db *store.DB, a store.Alert) {
	t.Helper()
	if seq, err := db.Alerts.PutAlert(t.Context(), a); err != nil || seq != 0 {
		t.Errorf("known: number %d, %v", seq, err)
	}
}

// toldAlerts tests marks, and alerts about a partner's question together with an alert about an existing check; it returns the remaining
// alert.
func toldAlerts(t *testing.T, db *store.DB) int64 {
	ctx := t.Context()
	a := store.Alert{Side: store.AlertTold, At: start, Partner: "south", Job: "0a", Purpose: "thesis", Asked: start,
		Source: concordat.Ref{Site: "here", Library: "l", Document: "mine"}, Level: concordat.ShowMetadata, Sentences: 2,
		Spans: []concordat.Span{{Start: 3, End: 40}}}
	seq, err := db.Alerts.PutAlert(ctx, a)
	must(t, err)
	got, err := db.Alerts.Alert(ctx, seq)
	must(t, err)
	a.Seq = seq
	if d := cmp.Diff(a, got); d != "" {
		t.Error(d)
	}
	for _, c := range []struct {
		filter store.AlertFilter
		want   int
	}{{store.AlertFilter{}, 3}, {store.AlertFilter{Side: store.AlertTold}, 1}, {store.AlertFilter{Task: "t1"}, 2},
		{store.AlertFilter{Open: true}, 3}} {
		if as, err := db.Alerts.FilterAlerts(ctx, c.filter, 0, 0); err != nil || len(as) != c.want || as[0].Seq < as[len(as)-1].Seq {
			t.Errorf("%+v: %+v, %v", c.filter, as, err)
		}
	}
	if as, err := db.Alerts.FilterAlerts(ctx, store.AlertFilter{}, seq, 1); err != nil || len(as) != 1 || as[0].Seq >= seq {
		t.Errorf("before the last: %+v, %v", as, err)
	}
	change := func(c store.AlertChange, by string, want bool) {
		t.Helper()
		if changed, err := db.Alerts.ChangeAlert(ctx, seq, c, by, start.Add(time.Minute)); err != nil || changed != want {
			t.Errorf("%s: %v, %v", c, changed, err)
		}
	}
	change(store.AlertReopen, "eve", false)
	change(store.AlertHandle, "ann", true)
	change(store.AlertRead, "eve", false)
	change(store.AlertHandle, "eve", false)
	mark := store.AlertMark{By: "ann", At: start.Add(time.Minute)}
	if got, err = db.Alerts.Alert(ctx, seq); err != nil || got.Read != mark || got.Handled != mark {
		t.Errorf("marks %+v, %v", got, err)
	}
	if n, err := db.Alerts.UnreadAlerts(ctx, 10); err != nil || n != 2 {
		t.Errorf("unread: %d, %v", n, err)
	}
	if n, err := db.Alerts.UnreadAlerts(ctx, 1); err != nil || n != 1 {
		t.Errorf("unread, up to one: %d, %v", n, err)
	}
	if as, err := db.Alerts.FilterAlerts(ctx, store.AlertFilter{Open: true}, 0, 0); err != nil || len(as) != 2 {
		t.Errorf("open: %+v, %v", as, err)
	}
	change(store.AlertReopen, "eve", true)
	// An unchanged alert keeps its marks, and a new alert is unread.
	putKnown(t, db, a)
	if got, err = db.Alerts.Alert(ctx, seq); err != nil || got.Read != mark || got.Handled != (store.AlertMark{}) {
		t.Errorf("the same again: %+v, %v", got, err)
	}
	a.Sentences = 5
	putKnown(t, db, a)
	if got, err = db.Alerts.Alert(ctx, seq); err != nil || got.Read != (store.AlertMark{}) || got.Sentences != 5 {
		t.Errorf("changed: %+v, %v", got, err)
	}
	_, err = db.Alerts.ChangeAlert(ctx, seq, "burn", "ann", start)
	wantErr(t, err, concordat.ErrInvalid)
	_, err = db.Alerts.ChangeAlert(ctx, 1<<40, store.AlertRead, "ann", start)
	wantErr(t, err, concordat.ErrNotFound)
	return seq
}

func testMirrors(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	key := store.MirrorKey{Site: "north", Library: "l", Epoch: epoch}
	_, err := db.Asks.Mirror(ctx, key)
	wantErr(t, err, concordat.ErrNotFound)
	m := store.Mirror{MirrorKey: key, Scheme: "x@1", Cursor: []byte{1, 2}, Synced: start}
	doc := func(n int) store.MirrorDocument {
		return store.MirrorDocument{ID: concordat.DocumentID(fmt.Sprintf("d%02d", n)), Title: "t", Author: "a", Contact: "c", Date: start,
			Sentences: n}
	}
	must(t, db.Asks.PutMirror(ctx, m, []store.MirrorDocument{doc(1), doc(2), doc(3)}, nil))
	m.Cursor, m.Complete = []byte{3}, true
	changed := doc(2)
	changed.Sentences = 10
	must(t, db.Asks.PutMirror(ctx, m, []store.MirrorDocument{changed, doc(4)}, []concordat.DocumentID{"d01", "none"}))
	second := m
	second.Epoch.Number++
	must(t, db.Asks.PutMirror(ctx, second, []store.MirrorDocument{doc(1), {ID: "w1", Withheld: true}, {ID: "w2", Withheld: true}}, nil))
	if got, err := db.Asks.Mirror(ctx, second.MirrorKey); err != nil || got.Documents != 1 || got.Withheld != 2 || got.Lacks() != 2./3 {
		t.Errorf("with documents that are withheld: %+v, error %v", got, err)
	}
	must(t, db.Asks.PutMirror(ctx, second, []store.MirrorDocument{{ID: "w1"}}, []concordat.DocumentID{"w1", "w2"}))
	must(t, db.Asks.PutMirror(ctx, second, nil, []concordat.DocumentID{"w1"}))
	got, err := db.Asks.Mirror(ctx, key)
	must(t, err)
	m.Documents, m.Sentences = 3, 17
	if d := cmp.Diff(m, got); d != "" {
		t.Error(d)
	}
	ds, err := db.Asks.MirrorDocuments(ctx, key, "d02", 1)
	must(t, err)
	if d := cmp.Diff([]store.MirrorDocument{doc(3)}, ds); d != "" {
		t.Error(d)
	}
	one, err := db.Asks.MirrorDocument(ctx, key, "d02")
	must(t, err)
	if one != changed {
		t.Errorf("got %+v", one)
	}
	_, err = db.Asks.MirrorDocument(ctx, key, "d01")
	wantErr(t, err, concordat.ErrNotFound)
	at := start.Add(time.Hour)
	must(t, db.Asks.WithdrawMirrors(ctx, "north", "l", at))
	must(t, db.Asks.WithdrawMirrors(ctx, "north", "l", at.Add(time.Hour)))
	ms, err := db.Asks.Mirrors(ctx)
	must(t, err)
	if len(ms) != 2 || !ms[0].Withdrawn.Equal(at) || !ms[1].Withdrawn.Equal(at) {
		t.Errorf("got %+v", ms)
	}
	must(t, db.Asks.DeleteMirror(ctx, key))
	must(t, db.Asks.DeleteMirror(ctx, key))
	if ds, err = db.Asks.MirrorDocuments(ctx, key, "", 0); err != nil || len(ds) != 0 {
		t.Errorf("got %v, %v", ds, err)
	}
	if ms, err = db.Asks.Mirrors(ctx); err != nil || len(ms) != 1 || ms[0].Documents != 1 {
		t.Errorf("got %+v, %v", ms, err)
	}
	wantErr(t, db.Asks.PutMirror(ctx, store.Mirror{}, nil, nil), concordat.ErrInvalid)
}
