package store_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

func testShares(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a", "b")
	_, err := db.Answers.Share(ctx, "a", "north")
	wantErr(t, err, concordat.ErrNotFound)
	_, err = db.Answers.PutShare(ctx, store.Share{Library: "none", Partner: "north", Rule: store.ShareRule{Level: concordat.ShowCounts}})
	wantErr(t, err, concordat.ErrNotFound)
	rule := store.ShareRule{Level: concordat.ShowOverlap, Outline: concordat.OutlineWords, NoEdges: true,
		Purposes: []string{"thesis", "grant"}, Closeness: 12, Matches: 3,
		Limits:  store.Limits{Sentences: 1, Burst: 2, Disclosures: 3, Documents: 4, Characters: -5, Opened: 6},
		Embargo: start, Expires: start.Add(time.Hour), Ship: true, Standing: true, ExcludeAuthors: true, Approval: time.Minute, Contact: "某人"}
	want := store.Share{Library: "a", Partner: "north", Rule: rule, Version: 1, Made: start, Changed: start}
	check := func() {
		t.Helper()
		got, err := db.Answers.Share(ctx, "a", "north")
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	_, err = db.Answers.PutShare(ctx, store.Share{Library: "a", Partner: "north", Rule: rule})
	must(t, err)
	check()
	c.move(time.Second)
	want.Rule, want.Version, want.Changed = store.ShareRule{Level: concordat.ShowExists}, 2, start.Add(time.Second)
	got, err := db.Answers.PutShare(ctx, store.Share{Library: "a", Partner: "north", Rule: want.Rule})
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	check()
	for name, bad := range map[string]store.ShareRule{
		"level":     {Level: "all"},
		"none":      {},
		"outline":   {Level: concordat.ShowCounts, Outline: "text"},
		"closeness": {Level: concordat.ShowCounts, Closeness: 101},
		"matches":   {Level: concordat.ShowCounts, Matches: -1},
		"purpose":   {Level: concordat.ShowCounts, Purposes: []string{""}},
		"dates":     {Level: concordat.ShowCounts, Embargo: start, Expires: start},
		"approval":  {Level: concordat.ShowCounts, Approval: -1},
	} {
		if _, err := db.Answers.PutShare(ctx, store.Share{Library: "a", Partner: "north", Rule: bad}); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	check()
	for _, x := range []store.Share{{Library: "b", Partner: "north"}, {Library: "a", Partner: "east"}} {
		x.Rule.Level = concordat.ShowCounts
		_, err := db.Answers.PutShare(ctx, x)
		must(t, err)
	}
	for _, q := range []struct {
		lib     concordat.LibraryID
		partner concordat.SiteID
		want    string
	}{{"", "", "a/east a/north b/north"}, {"a", "", "a/east a/north"}, {"", "north", "a/north b/north"}, {"b", "east", ""}} {
		xs, err := db.Answers.Shares(ctx, q.lib, q.partner)
		must(t, err)
		var names []string
		for _, x := range xs {
			names = append(names, string(x.Library)+"/"+string(x.Partner))
		}
		if got := strings.Join(names, " "); got != q.want {
			t.Errorf("shares of %q with %q are %s, want %s", q.lib, q.partner, got, q.want)
		}
	}
	must(t, db.Answers.DeleteShare(ctx, "a", "north"))
	wantErr(t, db.Answers.DeleteShare(ctx, "a", "north"), concordat.ErrNotFound)
	must(t, db.Catalogue.DeleteLibrary(ctx, "b"))
	_, err = db.Answers.Share(ctx, "b", "north")
	wantErr(t, err, concordat.ErrNotFound)
}

// testEpochDocuments follows the documents of a set through their states.
func testEpochDocuments(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a", "b")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h1"), row("a", "2", "h2"), row("a", "3", "h3"),
		row("b", "1", "h1")}))
	unset := func(after concordat.DocumentID) string {
		t.Helper()
		ds, err := db.Answers.Unset(ctx, epoch, "a", after, 0)
		must(t, err)
		var ids []string
		for _, d := range ds {
			ids = append(ids, string(d.ID))
		}
		return strings.Join(ids, " ")
	}
	ready := func(want int) {
		t.Helper()
		held, all, err := db.Answers.EpochReady(ctx, epoch, "a")
		must(t, err)
		if docs, err := db.Catalogue.Documents(ctx, "a", "", 0); err != nil || held != want || all != len(docs) {
			t.Errorf("%d of %d are held, want %d of %d", held, all, want, len(docs))
		}
	}
	ids := []concordat.DocumentID{"1", "2"}
	if got := unset(""); got != "1 2 3" {
		t.Errorf("unset are %s", got)
	}
	must(t, db.Answers.BeginEpochDocuments(ctx, epoch, "a", ids))
	if got := unset("1"); got != "2 3" {
		t.Errorf("while they change, unset are %s", got)
	}
	ready(0)
	must(t, db.Answers.EndEpochDocuments(ctx, epoch, "a", []store.EpochDocument{{ID: "1", Hash: "h1", Sentences: 4},
		{ID: "2", Hash: "old", Sentences: 5}}))
	if got := unset(""); got != "2 3" { // document 2 was stored with a different text
		t.Errorf("unset are %s", got)
	}
	ready(1)
	_, err := db.Answers.HeldDocument(ctx, epoch, "a", "2")
	wantErr(t, err, concordat.ErrNotFound)
	d, err := db.Answers.HeldDocument(ctx, epoch, "a", "1")
	must(t, err)
	if d.Title != "Title of 1" {
		t.Errorf("got %+v", d)
	}
	must(t, db.Catalogue.DeleteDocuments(ctx, "a", "1"))
	for all, want := range map[bool]int{false: 1, true: 2} {
		left, err := db.Answers.Leftover(ctx, epoch, "a", all, 0)
		must(t, err)
		if len(left) != want || left[0] != "1" {
			t.Errorf("leftovers are %v, want %d", left, want)
		}
	}
	must(t, db.Answers.RemoveEpochDocuments(ctx, epoch, "a", []concordat.DocumentID{"1"}))
	changes, err := db.Answers.EpochChanges(ctx, epoch, "a", 0, 0)
	must(t, err)
	want := []store.EpochDocument{{Library: "a", ID: "2", Hash: "old", Sentences: 5, Seq: 2}, {Library: "a", ID: "1", Seq: 3, Removed: true}}
	if d := cmp.Diff(want, changes); d != "" {
		t.Error(d)
	}
	if changes, err = db.Answers.EpochChanges(ctx, epoch, "a", 2, 1); err != nil || len(changes) != 1 || changes[0].Seq != 3 {
		t.Errorf("after 2 got %+v, %v", changes, err)
	}
	must(t, db.Answers.BeginEpochDocuments(ctx, epoch, "a", []concordat.DocumentID{"2"}))
	if changes, err = db.Answers.EpochChanges(ctx, epoch, "a", 0, 0); err != nil || len(changes) != 1 {
		t.Errorf("a document that changes is told: %+v, %v", changes, err)
	}
	libs, err := db.Answers.EpochLibraries(ctx, epoch)
	must(t, err)
	if !slices.Equal(libs, []concordat.LibraryID{"a"}) {
		t.Errorf("libraries %v", libs)
	}
	testEpochRows(t, db, c)
}

func testEpochRows(t *testing.T, db *store.DB, c *clock) {
	t.Helper()
	ctx := t.Context()
	next := epoch
	next.Number++
	must(t, db.Answers.SeeEpoch(ctx, epoch, "natural@1"))
	c.move(time.Hour)
	must(t, db.Answers.SeeEpoch(ctx, next, "natural@2"))
	must(t, db.Answers.SeeEpoch(ctx, concordat.Epoch{Federation: "law", Number: 1}, "natural@3"))
	c.move(time.Hour)
	must(t, db.Answers.SeeEpoch(ctx, epoch, "natural@1"))
	wantErr(t, db.Answers.SeeEpoch(ctx, epoch, "natural@9"), concordat.ErrScheme)
	got, err := db.Answers.Epochs(ctx)
	must(t, err)
	want := []store.EpochRow{
		{Epoch: epoch, Scheme: "natural@1", Seen: start, Replaced: start.Add(time.Hour)},
		{Epoch: next, Scheme: "natural@2", Seen: start.Add(time.Hour)},
		{Epoch: concordat.Epoch{Federation: "law", Number: 1}, Scheme: "natural@3", Seen: start.Add(time.Hour)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	must(t, db.Answers.DropEpoch(ctx, epoch))
	if libs, err := db.Answers.EpochLibraries(ctx, epoch); err != nil || len(libs) != 0 {
		t.Errorf("after the drop there are %v, %v", libs, err)
	}
}

func testAnswerJobs(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	j := store.AnswerJob{Partner: "north", Job: concordat.JobID{1, 2}, Epoch: epoch, Purpose: "thesis", Commitment: [32]byte{7}, Sentences: 64}
	_, err := db.Answers.AnswerJob(ctx, "north", j.Job)
	wantErr(t, err, concordat.ErrNotFound)
	for asks := 1; asks <= 2; asks++ {
		got, err := db.Answers.UseAnswerJob(ctx, j)
		must(t, err)
		want := j
		want.Made, want.Used, want.Asks, want.Sentences = start, c.now(), asks, 64*asks
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		c.move(time.Minute)
	}
	for name, change := range map[string]func(*store.AnswerJob){
		"epoch":      func(j *store.AnswerJob) { j.Epoch.Number++ },
		"purpose":    func(j *store.AnswerJob) { j.Purpose = "grant" },
		"commitment": func(j *store.AnswerJob) { j.Commitment[0]++ },
	} {
		other := j
		change(&other)
		if _, err := db.Answers.UseAnswerJob(ctx, other); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("another %s: got %v", name, err)
		}
	}
	if got, err := db.Answers.AnswerJob(ctx, "north", j.Job); err != nil || got.Asks != 2 {
		t.Errorf("a refused use counts: %+v, %v", got, err)
	}
	h := concordat.Handle{5}
	doc := store.AnswerDocument{Handle: h, Library: "a", Document: "1", Hash: "h1"}
	hit := store.AnswerHit{Handle: h, Sentence: [8]byte{1}, Ordinal: 3, Span: concordat.Span{Start: 10, End: 20}, Distance: 4}
	add := func(d store.AnswerDocument, hits ...store.AnswerHit) {
		t.Helper()
		must(t, db.Answers.AddAnswerHits(ctx, "north", j.Job, []store.AnswerDocument{d}, hits))
	}
	hits := func(want ...store.AnswerHit) {
		t.Helper()
		got, err := db.Answers.AnswerHits(ctx, "north", j.Job, h)
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	add(doc, hit)
	hits(hit)
	told, second := hit, hit
	told.Told, second.Sentence = true, [8]byte{0}
	doc.Told = concordat.ShowMetadata
	add(doc, told, second)
	hits(second, told)
	doc.Told = ""
	add(doc, hit) // added again without an answer, which preserves earlier answers
	hits(second, told)
	if d, err := db.Answers.AnswerDocument(ctx, "north", j.Job, h); err != nil || d.Told != concordat.ShowMetadata || d.Document != "1" {
		t.Errorf("got %+v, %v", d, err)
	}
	doc.Hash = "h2"
	add(doc, second) // a different text starts afresh
	hits(second)
	if d, err := db.Answers.AnswerDocument(ctx, "north", j.Job, h); err != nil || d.Told != "" || d.Hash != "h2" {
		t.Errorf("got %+v, %v", d, err)
	}
	_, err = db.Answers.AnswerDocument(ctx, "south", j.Job, h)
	wantErr(t, err, concordat.ErrNotFound)
	wantErr(t, db.Answers.AddAnswerHits(ctx, "south", j.Job, []store.AnswerDocument{doc}, nil), concordat.ErrNotFound)

	standing := j
	standing.Job = concordat.JobID{3}
	_, err = db.Answers.UseAnswerJob(ctx, standing)
	must(t, err)
	must(t, db.Partners.AddStandingAsk(ctx, store.StandingAsk{Partner: "north", Expires: c.now().Add(time.Hour),
		Ask: concordat.Ask{Job: standing.Job, Epoch: epoch}}, 10))
	must(t, db.Answers.ForgetAnswerJobs(ctx, c.now()))
	hits()
	_, err = db.Answers.AnswerJob(ctx, "north", j.Job)
	wantErr(t, err, concordat.ErrNotFound)
	_, err = db.Answers.AnswerJob(ctx, "north", standing.Job)
	must(t, err)
}

func testQuestions(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	a := store.Asking{Partner: "north", Library: "a", Job: concordat.JobID{1}}
	within := func(ordinals ...int) (out []store.NearSentence) {
		for _, n := range ordinals {
			out = append(out, store.NearSentence{Document: "d", Ordinal: n, Within: true})
		}
		return out
	}
	question := func(name byte, near ...store.NearSentence) store.Question {
		return store.Question{Name: [8]byte{name}, Near: near}
	}
	beyond := store.NearSentence{Document: "d", Ordinal: 1}
	seen := store.NearSentence{Document: "d", Ordinal: 9, Counts: true}
	withheld := store.Counted{Withheld: true}
	at := func(places ...int) store.Counted { return store.Counted{Places: places} }
	count := func(what string, a store.Asking, want []store.Counted, qs ...store.Question) {
		t.Helper()
		got, err := db.Answers.CountQuestions(ctx, a, c.now().Add(-24*time.Hour), 3, qs)
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	count("nothing", a, []store.Counted{})
	count("beyond the gate of what was never told", a, []store.Counted{at(0)}, question(9, beyond))
	count("two at once", a, []store.Counted{at(0), at(1, 0)}, question(1, within(1)...), question(2, within(1, 2)...))
	count("another of the job", a, []store.Counted{withheld, at(0)}, question(3, within(1)...), question(4, within(5)...))
	count("the same of the job again", a, []store.Counted{at(0), at(1, 0)}, question(1, within(1)...), question(2, within(1, 2)...))
	later := a
	later.Job = concordat.JobID{2}
	count("beyond the gate of what was told", later, []store.Counted{at(2)}, question(9, beyond))
	count("one too many", later, []store.Counted{withheld, at(2), at(1)}, question(5, within(1)...), question(9, within(1)...),
		question(6, within(2)...))
	count("of a document in another order", later, []store.Counted{withheld, at(0)}, question(7, within(1, 3)...), question(8, within(3)...))
	count("beyond the gate of what is seen to miss", later, []store.Counted{at(0)}, question(1, seen))
	last := a
	last.Job = concordat.JobID{4}
	count("after what missed", last, []store.Counted{at(1)}, question(2, within(9)...))
	for name, other := range map[string]store.Asking{
		"partner": {Partner: "south", Library: "a", Job: later.Job},
		"library": {Partner: "north", Library: "b", Job: later.Job},
	} {
		count("another "+name, other, []store.Counted{at(0)}, question(5, within(1)...))
	}
	must(t, db.Answers.DropEpoch(ctx, epoch))
	count("after an epoch was dropped", last, []store.Counted{withheld}, question(5, within(1)...))
	_, _, err := db.Retention.EraseTraces(ctx, "here", "b", []concordat.DocumentID{"d"})
	must(t, err)
	count("of a deleted document", store.Asking{Partner: "north", Library: "b", Job: later.Job}, []store.Counted{at(0), at(1), at(2)},
		question(1, within(1)...), question(2, within(1)...), question(3, within(1)...))
	c.move(25 * time.Hour)
	third := a
	third.Job = concordat.JobID{3}
	count("after their time", third, []store.Counted{at(0)}, question(5, within(1)...))
	must(t, db.Answers.ForgetQuestions(ctx, c.now()))
	var wait sync.WaitGroup
	var mu sync.Mutex
	answered := 0
	for i := range 12 {
		wait.Go(func() {
			mine := store.Asking{Partner: "north", Library: "c", Job: concordat.JobID{byte(i)}}
			got, err := db.Answers.CountQuestions(ctx, mine, c.now().Add(-24*time.Hour), 3, []store.Question{question(byte(i), within(1)...)})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if !got[0].Withheld {
				answered++
			}
		})
	}
	wait.Wait()
	if answered != 3 {
		t.Errorf("of twelve at once %d are answered, want 3", answered)
	}
}

// testOftenAnswered: if a partner learned of the same document in many jobs, it is listed once per library, with the document that was in
// the most jobs. Documents that only matched, and forgotten jobs, do not count, and documents with the same name in two libraries are
// different.
func testOftenAnswered(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	used := byte(0)
	told := func(partner concordat.SiteID, lib concordat.LibraryID, doc concordat.DocumentID, how concordat.Show, jobs int) {
		t.Helper()
		for range jobs {
			used++
			j := store.AnswerJob{Partner: partner, Job: concordat.JobID{used}, Epoch: epoch, Purpose: "thesis"}
			_, err := db.Answers.UseAnswerJob(ctx, j)
			must(t, err)
			must(t, db.Answers.AddAnswerHits(ctx, partner, j.Job, []store.AnswerDocument{{Handle: concordat.Handle{used}, Library: lib,
				Document: doc,
				Hash:     "h", Told: how}}, nil))
		}
	}
	often := func(least int, want string) {
		t.Helper()
		as, err := db.Answers.OftenAnswered(ctx, least)
		must(t, err)
		var got []string
		for _, a := range as {
			if a.Kind != store.AlarmOneDocument || !a.At.IsZero() {
				t.Errorf("got %+v", a)
			}
			got = append(got, string(a.Partner)+"/"+string(a.Library))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("in %d jobs and more: %q, want %q", least, got, want)
		}
	}
	often(1, "")
	told("north", "a", "1", concordat.ShowCounts, 2)
	c.move(time.Hour)
	told("north", "a", "1", concordat.ShowExists, 2)
	told("north", "a", "2", concordat.ShowCounts, 3)
	told("north", "a", "3", "", 9) // a document that only matched
	told("north", "b", "1", concordat.ShowCounts, 2)
	told("south", "b", "1", concordat.ShowCounts, 5)
	told("east", "c", "1", concordat.ShowCounts, 3)
	told("east", "c", "2", concordat.ShowCounts, 3)
	often(1, "south/b north/a east/c north/b")
	often(3, "south/b north/a east/c")
	often(4, "south/b north/a")
	often(5, "south/b")
	often(6, "")
	must(t, db.Answers.ForgetAnswerJobs(ctx, c.now())) // forgets two of four jobs
	often(3, "south/b east/c north/a")
}

func testShipped(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	d := store.Shipped{Handle: concordat.Handle{1}, Library: "a", Document: "1", Hash: "h"}
	for range 2 {
		must(t, db.Answers.AddShipped(ctx, "north", epoch, []store.Shipped{d}))
		got, err := db.Answers.ShippedDocument(ctx, "north", epoch, d.Handle)
		must(t, err)
		if got != d {
			t.Errorf("got %+v, want %+v", got, d)
		}
		d.Hash = "h2"
	}
	_, err := db.Answers.ShippedDocument(ctx, "south", epoch, d.Handle)
	wantErr(t, err, concordat.ErrNotFound)
}
