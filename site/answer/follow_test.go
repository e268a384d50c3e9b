package answer_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

// places is an in-memory site.Followed.
type places struct {
	mu     sync.Mutex
	at     map[concordat.LibraryID]int64
	unread error // error of the next calls of Position
}

func (p *places) Position(lib concordat.LibraryID) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at[lib], p.unread
}

func (p *places) SetPosition(lib concordat.LibraryID, seq int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[lib] = seq
	return nil
}

// TestFollow: a second process copies one process's set of an epoch into its own index and answers from it; the two can swap roles.
func TestFollow(t *testing.T) {
	a := sitetest.NewOwner(t, "theses")
	b := &sitetest.Owner{Parts: &sitetest.Parts{Store: a.Store, Index: a.Index}, Clock: a.Clock}
	seen := map[*sitetest.Owner]*places{}
	for _, o := range []*sitetest.Owner{a, b} {
		o.Services = sitetest.Open(site.Options{ID: "here", Index: a.Index, Store: a.Store, Profiler: sitetest.Profiler(t), Now: a.Clock.Now,
			Shared: true})
		set := o.NewSet(t, sitetest.TestEpoch)
		seen[o] = &places{at: map[concordat.LibraryID]int64{}}
		set.Followed = seen[o]
		o.Use(t, set)
	}
	want := func(step string, o *sitetest.Owner, text string, docs ...string) {
		t.Helper()
		if got := o.Holds(t, text); len(got) != len(docs) || len(docs) > 0 && got[0] != docs[0] {
			t.Errorf("%s: %v hold the text, want %v", step, got, docs)
		}
	}
	shares := func(o *sitetest.Owner) float64 {
		t.Helper()
		c, err := o.OpenTo(t.Context(), "north")
		sitetest.Must(t, err)
		if len(c.Libraries) != 1 || len(c.Libraries[0].Ready) != 1 {
			t.Fatalf("catalogue %+v", c)
		}
		return c.Libraries[0].Ready[0].Ready
	}
	a.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	a.AddDocuments(t, "theses", site.Incoming{ID: "1", Text: sitetest.River}, site.Incoming{ID: "2", Text: sitetest.Winter})
	want("kept", a, sitetest.River, "theses/1")
	want("behind", b, sitetest.River)
	if got := shares(b); got != 0 {
		t.Errorf("a process that is behind tells that it holds %v", got)
	}
	sitetest.Must(t, b.Sets.Follow(t.Context()))
	want("followed", b, sitetest.River, "theses/1")
	if got := shares(b); got != 1 {
		t.Errorf("a process that has followed tells that it holds %v", got)
	}
	if tell := b.Told(t, "north", b.Question(t, sitetest.Winter, concordat.ShowMetadata, "theses")); !tell.Libraries[0].Exists {
		t.Errorf("the other process does not answer: %+v", tell)
	}
	// They swap roles; a process does not copy its own work.
	at := seen[b].at["theses"]
	b.AddDocuments(t, "theses", site.Incoming{ID: "1", Text: sitetest.Garden})
	if seen[b].at["theses"] <= at {
		t.Error("its own changes are to be followed")
	}
	want("replaced", b, sitetest.River)
	sitetest.Must(t, a.Sets.Follow(t.Context()))
	want("replaced", a, sitetest.River)
	want("replaced", a, sitetest.Garden, "theses/1")
	sitetest.Must(t, a.DeleteDocuments(t.Context(), "theses", "2"))
	sitetest.Must(t, a.Sets.CatchUp(t.Context()))
	sitetest.Must(t, b.Sets.Follow(t.Context()))
	want("deleted", b, sitetest.Winter)
	sitetest.Must(t, a.DeleteLibrary(t.Context(), "theses", nil))
	sitetest.Must(t, a.Sets.CatchUp(t.Context()))
	sitetest.Must(t, b.Sets.Follow(t.Context()))
	want("library deleted", b, sitetest.Garden)
}

// TestBatchRegain: a batch continues in another process, with an index that is still empty, and produces the same result as an
// uninterrupted batch.
func TestBatchRegain(t *testing.T) {
	texts := sitetest.Twins()
	names := slices.Sorted(maps.Keys(texts))
	alone := sitetest.Said(sitetest.NewBatch(t, sitetest.NewSite(t, "theses"), texts, names, batch.Job{}).Run(t))

	b := sitetest.NewBatch(t, sitetest.NewSite(t, "theses"), texts, names, batch.Job{})
	b.Services = sitetest.Open(site.Options{ID: "here", Index: b.Parts.Index, Store: b.Store, Profiler: sitetest.Profiler(t), Shared: true})
	ctx, stop := context.WithCancel(t.Context())
	b.BatchOptions.Progress = func(stage string, done, _ int) {
		if stage == batch.StageCompare && done > 1 {
			stop()
		}
	}
	if err := batch.Run(ctx, b.Site, b.BatchID, b.BatchOptions); err == nil {
		t.Fatal("it was not interrupted")
	}
	b.BatchOptions.Progress, b.BatchOptions.Index = nil, sitetest.OpenShard(t, filepath.Join(t.TempDir(), "other"), sitetest.Profiler(t))
	if d := cmp.Diff(alone, sitetest.Said(b.Run(t))); d != "" {
		t.Errorf("in another process: %s", d)
	}

	// Without the files, the batch cannot continue.
	sitetest.Must(t, b.Store.Batches.ReopenBatch(t.Context(), b.BatchID, "test", true))
	clear(texts)
	b.BatchOptions.Index = sitetest.OpenShard(t, filepath.Join(t.TempDir(), "third"), sitetest.Profiler(t))
	if err := batch.Run(t.Context(), b.Site, b.BatchID, b.BatchOptions); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("without files: %v", err)
	}
}

// TestFollowFails: if a process cannot read another's document, it returns an error and retries later, and does not continue as if it had
// the document.
func TestFollowFails(t *testing.T) {
	a := sitetest.NewOwner(t, "theses")
	broken := &sitetest.BrokenIndex{Index: a.Index, Fail: -1}
	b := &sitetest.Owner{Parts: &sitetest.Parts{Store: a.Store, Index: a.Index}, Clock: a.Clock}
	seen := &places{at: map[concordat.LibraryID]int64{}}
	for o, i := range map[*sitetest.Owner]concordat.Index{a: a.Index, b: broken} {
		o.Services = sitetest.Open(site.Options{ID: "here", Index: i, Store: a.Store, Profiler: sitetest.Profiler(t), Now: a.Clock.Now,
			Shared: true})
		set := o.NewSet(t, sitetest.TestEpoch)
		set.Followed = &places{at: map[concordat.LibraryID]int64{}}
		if o == b {
			set.Followed = seen
		}
		o.Use(t, set)
	}
	a.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	failed := 0
	for n := range 20 {
		id := concordat.DocumentID(rune('a' + n))
		a.AddDocuments(t, "theses", site.Incoming{ID: id, Text: sitetest.River})
		at := seen.at["theses"]
		broken.Begin(n)
		err := b.Sets.Follow(t.Context())
		calls := broken.Made()
		broken.Begin(-1)
		if calls <= n {
			sitetest.Must(t, err)
			break
		}
		if failed++; !errors.Is(err, sitetest.ErrIndex) || seen.at["theses"] != at {
			t.Errorf("call %d of the index failed: error %v, and it stands at %d, was at %d", n, err, seen.at["theses"], at)
		}
		sitetest.Must(t, b.Sets.Follow(t.Context()))
		if got := b.Holds(t, sitetest.River); len(got) != n+1 {
			t.Errorf("call %d of the index failed, and it followed again: %v hold the text, want %d", n, got, n+1)
		}
	}
	if failed == 0 {
		t.Error("the index was never asked")
	}
}

// TestBehindUnknown: if a set's backlog cannot be read, partners are not told that the set is complete.
func TestBehindUnknown(t *testing.T) {
	o, b := newBroken(t)
	set := o.NewSet(t, sitetest.TestEpoch)
	set.Followed = &places{at: map[concordat.LibraryID]int64{}}
	o.Services = sitetest.Open(site.Options{ID: "here", Index: o.Index, Store: o.Site.Options().Store, Profiler: sitetest.Profiler(t),
		Now:    o.Clock.Now,
		Shared: true})
	o.Use(t, set)
	o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
	for _, failing := range []bool{false, true} {
		o.Clock.Move(time.Minute) // so that readiness is looked up
		at := slices.Index(b.Made(), "EpochBehind")
		if failing && at < 0 {
			t.Fatal("it is not read how far the set is behind")
		}
		if !failing {
			at = -1
		}
		b.Begin(at, false)
		c, err := o.OpenTo(t.Context(), "north")
		if failing != errors.Is(err, storetest.ErrScript) || !failing && err != nil {
			t.Errorf("the store fails: %v; catalogue %+v, error %v", failing, c, err)
		}
	}
}

// TestFollowStoreFails: while a set is followed, every failed store call is reported. An unreadable place is reported too and not
// mistaken for the end.
func TestFollowStoreFails(t *testing.T) {
	o, b := newBroken(t)
	seen := &places{at: map[concordat.LibraryID]int64{}}
	set := o.NewSet(t, sitetest.TestEpoch)
	set.Followed = seen
	o.Services = sitetest.Open(site.Options{ID: "here", Index: o.Index, Store: o.Site.Options().Store, Profiler: sitetest.Profiler(t),
		Now:    o.Clock.Now,
		Shared: true})
	o.Use(t, set)
	o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
	o.AddDocuments(t, "theses", site.Incoming{ID: "followed", Text: sitetest.Garden})
	seen.unread = sitetest.ErrIndex
	if err := o.Sets.Follow(t.Context()); !errors.Is(err, sitetest.ErrIndex) {
		t.Errorf("its place cannot be read: got %v", err)
	}
	seen.unread = nil
	for n := range 50 {
		b.Begin(n, false)
		err := o.Sets.Follow(t.Context())
		if calls := b.Made(); len(calls) <= n {
			sitetest.Must(t, err)
			if n == 0 || !slices.Contains(calls, "EpochChanges") {
				t.Errorf("the store is asked for %v", calls)
			}
			return
		}
		if !errors.Is(err, storetest.ErrScript) {
			t.Errorf("call %d of the store failed: got %v", n, err)
		}
	}
	t.Error("it does not come to an end")
}
