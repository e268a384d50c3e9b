package site_test

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
	"concordat/internal/storetest"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

// places is site.Followed in memory.
type places struct {
	mu     sync.Mutex
	at     map[concordat.LibraryID]int64
	unread error // of the next calls of Position
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

// TestFollow: what one process makes of the set of an epoch another has as well, in an index of its own, and
// answers from it; and the two can change places.
func TestFollow(t *testing.T) {
	a := newOwner(t, "theses")
	b := &owner{parts: &parts{store: a.store, index: a.index}, clock: a.clock}
	seen := map[*owner]*places{}
	for _, o := range []*owner{a, b} {
		o.services = open(site.Options{ID: "here", Index: a.index, Store: a.store, Profiler: profiler(t), Now: a.clock.now, Shared: true})
		set := o.newSet(t, testEpoch)
		seen[o] = &places{at: map[concordat.LibraryID]int64{}}
		set.Followed = seen[o]
		o.use(t, set)
	}
	want := func(step string, o *owner, text string, docs ...string) {
		t.Helper()
		if got := o.holds(t, text); len(got) != len(docs) || len(docs) > 0 && got[0] != docs[0] {
			t.Errorf("%s: %v hold the text, want %v", step, got, docs)
		}
	}
	shares := func(o *owner) float64 {
		t.Helper()
		c, err := o.OpenTo(t.Context(), "north")
		must(t, err)
		if len(c.Libraries) != 1 || len(c.Libraries[0].Ready) != 1 {
			t.Fatalf("catalogue %+v", c)
		}
		return c.Libraries[0].Ready[0].Ready
	}
	a.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	a.add(t, "theses", site.Incoming{ID: "1", Text: river}, site.Incoming{ID: "2", Text: winter})
	want("kept", a, river, "theses/1")
	want("behind", b, river)
	if got := shares(b); got != 0 {
		t.Errorf("a process that is behind tells that it holds %v", got)
	}
	must(t, b.Follow(t.Context()))
	want("followed", b, river, "theses/1")
	if got := shares(b); got != 1 {
		t.Errorf("a process that has followed tells that it holds %v", got)
	}
	if tell := b.answer(t, "north", b.ask(t, winter, concordat.ShowMetadata, "theses")); !tell.Libraries[0].Exists {
		t.Errorf("the other process does not answer: %+v", tell)
	}
	// They change places: what one has made itself it does not take over again.
	at := seen[b].at["theses"]
	b.add(t, "theses", site.Incoming{ID: "1", Text: garden})
	if seen[b].at["theses"] <= at {
		t.Error("its own changes are to be followed")
	}
	want("replaced", b, river)
	must(t, a.Follow(t.Context()))
	want("replaced", a, river)
	want("replaced", a, garden, "theses/1")
	must(t, a.DeleteDocuments(t.Context(), "theses", "2"))
	must(t, a.CatchUp(t.Context()))
	must(t, b.Follow(t.Context()))
	want("deleted", b, winter)
	must(t, a.DeleteLibrary(t.Context(), "theses", nil))
	must(t, a.CatchUp(t.Context()))
	must(t, b.Follow(t.Context()))
	want("library deleted", b, garden)
}

// TestBatchRegain: a batch goes on in another process, whose index has nothing of it yet, and ends as one that
// was left alone.
func TestBatchRegain(t *testing.T) {
	texts := twins()
	names := slices.Sorted(maps.Keys(texts))
	alone := said(newBatch(t, newSite(t, "theses"), texts, names, batch.Job{}).run(t))

	b := newBatch(t, newSite(t, "theses"), texts, names, batch.Job{})
	b.services = open(site.Options{ID: "here", Index: b.parts.index, Store: b.store, Profiler: profiler(t), Shared: true})
	ctx, stop := context.WithCancel(t.Context())
	b.options.Progress = func(stage string, done, _ int) {
		if stage == batch.StageCompare && done > 1 {
			stop()
		}
	}
	if err := batch.Run(ctx, b.Site, b.id, b.options); err == nil {
		t.Fatal("it was not interrupted")
	}
	b.options.Progress, b.options.Index = nil, openShard(t, filepath.Join(t.TempDir(), "other"), profiler(t))
	if d := cmp.Diff(alone, said(b.run(t))); d != "" {
		t.Errorf("in another process: %s", d)
	}

	// Without the files there is nothing to go on with.
	must(t, b.store.Batches.ReopenBatch(t.Context(), b.id, "test", true))
	clear(texts)
	b.options.Index = openShard(t, filepath.Join(t.TempDir(), "third"), profiler(t))
	if err := batch.Run(t.Context(), b.Site, b.id, b.options); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("without files: %v", err)
	}
}

// TestFollowFails: where a document that another process has made cannot be read, the one that follows is told, and comes back
// to it: it does not go on as if it had it.
func TestFollowFails(t *testing.T) {
	a := newOwner(t, "theses")
	broken := &brokenIndex{Index: a.index, fail: -1}
	b := &owner{parts: &parts{store: a.store, index: a.index}, clock: a.clock}
	seen := &places{at: map[concordat.LibraryID]int64{}}
	for o, i := range map[*owner]concordat.Index{a: a.index, b: broken} {
		o.services = open(site.Options{ID: "here", Index: i, Store: a.store, Profiler: profiler(t), Now: a.clock.now, Shared: true})
		set := o.newSet(t, testEpoch)
		set.Followed = &places{at: map[concordat.LibraryID]int64{}}
		if o == b {
			set.Followed = seen
		}
		o.use(t, set)
	}
	a.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	failed := 0
	for n := range 20 {
		id := concordat.DocumentID(rune('a' + n))
		a.add(t, "theses", site.Incoming{ID: id, Text: river})
		at := seen.at["theses"]
		broken.begin(n)
		err := b.Follow(t.Context())
		calls := broken.made()
		broken.begin(-1)
		if calls <= n {
			must(t, err)
			break
		}
		if failed++; !errors.Is(err, errIndex) || seen.at["theses"] != at {
			t.Errorf("call %d of the index failed: error %v, and it stands at %d, was at %d", n, err, seen.at["theses"], at)
		}
		must(t, b.Follow(t.Context()))
		if got := b.holds(t, river); len(got) != n+1 {
			t.Errorf("call %d of the index failed, and it followed again: %v hold the text, want %d", n, got, n+1)
		}
	}
	if failed == 0 {
		t.Error("the index was never asked")
	}
}

// TestBehindUnknown: where it cannot be read how far a set is behind, no partner is told that it holds all.
func TestBehindUnknown(t *testing.T) {
	o, b := newBroken(t)
	set := o.newSet(t, testEpoch)
	set.Followed = &places{at: map[concordat.LibraryID]int64{}}
	o.services = open(site.Options{ID: "here", Index: o.index, Store: o.Site.Options().Store, Profiler: profiler(t), Now: o.clock.now,
		Shared: true})
	o.use(t, set)
	o.share(t, "theses", "north", sharing(false))
	for _, failing := range []bool{false, true} {
		o.clock.move(time.Minute) // so that it is looked up
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

// TestFollowStoreFails: each call of the store that fails while a set is followed is told, and so is a place that cannot be read; it is not
// taken for all that there is.
func TestFollowStoreFails(t *testing.T) {
	o, b := newBroken(t)
	seen := &places{at: map[concordat.LibraryID]int64{}}
	set := o.newSet(t, testEpoch)
	set.Followed = seen
	o.services = open(site.Options{ID: "here", Index: o.index, Store: o.Site.Options().Store, Profiler: profiler(t), Now: o.clock.now,
		Shared: true})
	o.use(t, set)
	o.share(t, "theses", "north", sharing(false))
	o.add(t, "theses", site.Incoming{ID: "followed", Text: garden})
	seen.unread = errIndex
	if err := o.Follow(t.Context()); !errors.Is(err, errIndex) {
		t.Errorf("its place cannot be read: got %v", err)
	}
	seen.unread = nil
	for n := range 50 {
		b.Begin(n, false)
		err := o.Follow(t.Context())
		if calls := b.Made(); len(calls) <= n {
			must(t, err)
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
