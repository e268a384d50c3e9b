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

func testShowings(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	x := store.Showing{Partner: "north", Hash: "h", Form: store.FormWords, Library: "a", Document: "1", Epoch: epoch, Sentences: 3,
		Characters: 40}
	must(t, db.Asks.Show(ctx, x, x))
	c.move(time.Hour)
	matches := x
	matches.Form = store.FormMatches
	must(t, db.Asks.Show(ctx, matches))
	for name, change := range map[string]func(*store.Showing){
		"same text":         func(x *store.Showing) { x.Library, x.Document = "b", "9" },
		"another text":      func(x *store.Showing) { x.Hash = "h2" },
		"the same document": func(*store.Showing) {},
	} {
		other := x
		other.Form = store.FormFingerprints
		change(&other)
		if err := db.Asks.Show(ctx, matches, other); !errors.Is(err, concordat.ErrRefused) {
			t.Errorf("%s in another sketch: got %v", name, err)
		}
		other.Partner = "south-" + concordat.SiteID(name)
		must(t, db.Asks.Show(ctx, other))
	}
	got, err := db.Asks.Showings(ctx, "north", 0)
	must(t, err)
	x.First, x.Last, x.Times, x.Sentences, x.Characters = start, start, 2, 6, 80
	matches.First, matches.Last, matches.Times = c.now(), c.now(), 1
	if d := cmp.Diff([]store.Showing{matches, x}, got); d != "" {
		t.Error(d)
	}
	sums, err := db.Asks.ShowingSums(ctx, "north")
	must(t, err)
	want := []store.ShowingSum{
		{Form: store.FormMatches, Library: "a", Documents: 1, Times: 1, Sentences: 3, Characters: 40, First: c.now(), Last: c.now()},
		{Form: store.FormWords, Library: "a", Documents: 1, Times: 2, Sentences: 6, Characters: 80, First: start, Last: start},
	}
	if d := cmp.Diff(want, sums); d != "" {
		t.Error(d)
	}
}

func testDisclosures(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	d := store.Disclosure{ID: "x1", Direction: store.DisclosureIn, Partner: "north", Job: concordat.JobID{1}, Handle: concordat.Handle{2},
		Library: "a", Document: "1",
		Hash: "h", Spans: []concordat.Span{{Start: 1, End: 2}}, Reason: "why", Contact: "who", State: concordat.DisclosurePending,
		Until: start.Add(time.Hour)}
	must(t, db.Answers.PutDisclosure(ctx, d))
	wantErr(t, db.Answers.PutDisclosure(ctx, d), concordat.ErrExists)
	d.Asked = start
	got, err := db.Answers.Disclosure(ctx, "x1")
	must(t, err)
	if diff := cmp.Diff(d, got); diff != "" {
		t.Error(diff)
	}
	c.move(time.Minute)
	second := d
	second.ID, second.State = "x2", concordat.DisclosureRefused
	must(t, db.Answers.PutDisclosure(ctx, second))
	of, err := db.Answers.DisclosuresOf(ctx, store.DisclosureIn, "north", d.Job, d.Handle)
	must(t, err)
	all, err := db.Answers.DisclosuresAfter(ctx, "", 0)
	must(t, err)
	n, err := db.Answers.PendingDisclosures(ctx, "north")
	must(t, err)
	behind, err := db.Answers.DisclosuresAfter(ctx, "x2", 5)
	must(t, err)
	first, err := db.Answers.DisclosuresAfter(ctx, "", 1)
	must(t, err)
	none, err := db.Answers.DisclosuresAfter(ctx, "x1", 5)
	must(t, err)
	if len(behind) != 1 || behind[0].ID != "x1" || len(first) != 1 || first[0].ID != "x2" || len(none) != 0 {
		t.Errorf("page by page %v, %v, %v", first, behind, none)
	}
	third := second
	third.ID = "x3" // requested at the same time as x2
	must(t, db.Answers.PutDisclosure(ctx, third))
	if same, err := db.Answers.DisclosuresAfter(ctx, "x2", 1); err != nil || len(same) != 1 || same[0].ID != "x3" {
		t.Errorf("behind x2 %v, %v", same, err)
	}
	if len(of) != 2 || of[0].ID != "x1" || len(all) != 2 || all[0].ID != "x2" || n != 1 {
		t.Errorf("got %v, %v, %d pending", of, all, n)
	}
	// Only the first of two decisions counts.
	must(t, db.Answers.SetDisclosure(ctx, "x1", concordat.DisclosurePending, concordat.DisclosureGranted, "me", "yes", start.Add(2*time.Hour)))
	wantErr(t, db.Answers.SetDisclosure(ctx, "x1", concordat.DisclosurePending, concordat.DisclosureRefused, "you", "no", time.Time{}),
		concordat.ErrNotFound)
	got, err = db.Answers.Disclosure(ctx, "x1")
	must(t, err)
	if got.State != concordat.DisclosureGranted || got.Actor != "me" || got.Words != "yes" || !got.Decided.Equal(c.now()) ||
		!got.Until.Equal(start.Add(2*time.Hour)) {
		t.Errorf("got %+v", got)
	}
}

func testNotices(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	n := concordat.Notice{Kind: concordat.NoticeAlert, Job: concordat.JobID{1},
		Answer: &concordat.SiteAnswer{Hits: []concordat.Hit{{Sentence: 3}}},
		Words:  "中", At: start}
	must(t, db.Partners.Queue(ctx, "north", n, n))
	must(t, db.Partners.Queue(ctx, "south", n))
	out, err := db.Partners.Outbox(ctx, 2)
	must(t, err)
	want := []store.Outgoing{{Seq: 1, Partner: "north", Notice: n, Made: start, Next: start},
		{Seq: 2, Partner: "north", Notice: n, Made: start, Next: start}}
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}
	must(t, db.Partners.Delivered(ctx, 1))
	must(t, db.Partners.Undelivered(ctx, 2, start.Add(time.Minute), "no route"))
	if out, err = db.Partners.Outbox(ctx, 0); err != nil || len(out) != 1 || out[0].Seq != 3 {
		t.Errorf("got %+v, %v", out, err)
	}
	c.move(time.Minute)
	if out, err = db.Partners.Outbox(ctx, 0); err != nil || len(out) != 2 || out[1].Seq != 2 || out[1].Attempts != 1 ||
		out[1].Cause != "no route" {
		t.Errorf("got %+v, %v", out, err)
	}
	must(t, db.Partners.PutReceived(ctx, "north", &n))
	must(t, db.Partners.PutReceived(ctx, "south", &n))
	must(t, db.Partners.DropReceived(ctx, 1))
	in, err := db.Partners.Inbox(ctx, 0, 0)
	must(t, err)
	if d := cmp.Diff([]store.Received{{Seq: 2, Partner: "south", Notice: n, At: c.now()}}, in); d != "" {
		t.Error(d)
	}
}

func testStandingAsks(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	ask := func(job byte, n int) store.StandingAsk {
		a := concordat.Ask{Job: concordat.JobID{job}, Epoch: epoch, Libraries: []concordat.LibraryID{"a"}, Purpose: fmt.Sprint(n),
			Probe: concordat.ProbeOne}
		for range n {
			a.Sentences = append(a.Sentences, concordat.AskedSentence{Fingerprint: concordat.FingerprintOf([5]uint32{1, 2, 3, 4, 5}), Gate: 26})
		}
		return store.StandingAsk{Partner: "north", Made: start, Expires: start.Add(time.Hour), Ask: a}
	}
	for range 2 { // a repetition counts once
		must(t, db.Partners.AddStandingAsk(ctx, ask(1, 6), 10))
	}
	wantErr(t, db.Partners.AddStandingAsk(ctx, ask(1, 5), 10), concordat.ErrRefused)
	must(t, db.Partners.AddStandingAsk(ctx, ask(1, 4), 10))
	got, err := db.Partners.StandingAsks(ctx, epoch)
	must(t, err)
	want := []store.StandingAsk{ask(1, 6), ask(1, 4)}
	for i := range got {
		want[i].Seq = got[i].Seq
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	must(t, db.Partners.AddStandingAsk(ctx, ask(2, 0), 10))
	must(t, db.Partners.DropStandingAsks(ctx, "south", concordat.JobID{1}))
	must(t, db.Partners.DropStandingAsks(ctx, "north", concordat.JobID{1}))
	if got, err = db.Partners.StandingAsks(ctx, epoch); err != nil || len(got) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	c.move(time.Hour)
	if got, err = db.Partners.StandingAsks(ctx, epoch); err != nil || len(got) != 0 {
		t.Errorf("expired, got %+v, %v", got, err)
	}
}
