package site_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/index"
	"concordat/site"
	"concordat/site/answer"
	"concordat/store"
)

var errKilled = errors.New("killed")

// holds returns the documents that the epoch's index itself holds, by asking it for the sentences.
func (o *owner) holds(t testing.TB, text string) []string {
	t.Helper()
	p, err := o.keyed.ForIndex(concordat.Document{Text: text})
	must(t, err)
	q := &concordat.Query{Scheme: p.Scheme}
	for _, x := range p.Indexed {
		q.Fingerprints = append(q.Fingerprints, x.Fingerprint)
	}
	a, err := o.set.Index.Match(t.Context(), q)
	must(t, err)
	out := []string{}
	for _, m := range a.Matches {
		out = append(out, string(m.Source.Library+"/"+concordat.LibraryID(m.Source.Document)))
		if m.Title != "" {
			t.Errorf("the set holds the title %q", m.Title)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestSetFollowsTheCatalogue(t *testing.T) {
	o := newOwner(t, "theses", "closed")
	want := func(step, text string, docs ...string) {
		t.Helper()
		if got := o.holds(t, text); !slices.Equal(got, append([]string{}, docs...)) {
			t.Errorf("%s: %v hold the text, want %v", step, got, docs)
		}
	}
	o.add(t, "theses", site.Incoming{ID: "a", Title: "T", Text: river}, site.Incoming{ID: "b", Text: winter})
	o.add(t, "closed", site.Incoming{ID: "c", Text: river})
	want("nothing is shared", river)
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	want("shared", river, "theses/a")
	want("shared", winter, "theses/b")
	if d, err := o.set.Index.Document(t.Context(), concordat.Ref{Site: "here", Library: "theses", Document: "a"}); err == nil && d.Text != "" {
		t.Errorf("the set holds the text %q", d.Text)
	}
	o.add(t, "theses", site.Incoming{ID: "a", Text: garden})
	want("replaced", river)
	want("replaced", garden, "theses/a")
	must(t, o.DeleteDocuments(t.Context(), "theses", "b"))
	// Before the set follows, the answer must not tell of what is gone.
	if tell := o.answer(t, "north", o.ask(t, winter, concordat.ShowMetadata, "theses")); tell.Libraries[0].Exists {
		t.Errorf("a deleted document is told: %+v", tell)
	}
	must(t, o.CatchUp(t.Context()))
	want("deleted", winter)
	must(t, o.Unshare(t.Context(), "theses", "north"))
	must(t, o.CatchUp(t.Context()))
	want("unshared", garden)
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Expires: o.clock.now().Add(time.Hour)})
	want("shared again", garden, "theses/a")
	o.clock.move(2 * time.Hour)
	must(t, o.CatchUp(t.Context()))
	want("expired", garden)
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	must(t, o.DeleteLibrary(t.Context(), "theses", nil))
	must(t, o.CatchUp(t.Context()))
	want("library deleted", garden)
}

// cutIndex fails from some call on, before or after the call has taken effect.
type cutIndex struct {
	concordat.Index
	left  int // calls that work
	after bool
}

func (c *cutIndex) cut(do func() error) error {
	if c.left--; c.left >= 0 {
		return do()
	}
	if c.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errKilled
}

func (c *cutIndex) Put(ctx context.Context, ps ...*concordat.Profile) error {
	return c.cut(func() error { return c.Index.Put(ctx, ps...) })
}

func (c *cutIndex) Delete(ctx context.Context, refs ...concordat.Ref) error {
	return c.cut(func() error { return c.Index.Delete(ctx, refs...) })
}

// A pass that is cut short at any call to the index, before or after it took effect, leaves nothing
// in the set that is not listed, and the next pass ends with what the catalogue has.
func TestSetSurvivesACut(t *testing.T) {
	for left := range 4 {
		for _, after := range []bool{false, true} {
			if testing.Short() && after != (left%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%d after=%v", left, after), func(t *testing.T) {
				o := newOwner(t, "theses", "grants")
				o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
				o.share(t, "grants", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
				o.add(t, "theses", site.Incoming{ID: "old", Text: river}, site.Incoming{ID: "gone", Text: garden})
				must(t, o.DeleteDocuments(t.Context(), "theses", "gone"))
				ingest := func(lib concordat.LibraryID, d site.Incoming) {
					must(t, o.Ingest(t.Context(), lib, docs(d), func(site.Ingested) error { return nil }))
				}
				ingest("theses", site.Incoming{ID: "old", Text: winter})
				ingest("theses", site.Incoming{ID: "new", Text: mill})
				ingest("grants", site.Incoming{ID: "g", Text: bridge})
				working := o.set.Index
				o.set.Index = &cutIndex{Index: working, left: left, after: after}
				err := o.CatchUp(t.Context())
				if left < 3 && !errors.Is(err, errKilled) {
					t.Fatalf("got %v, want the cut", err)
				}
				o.set.Index = working
				// Meanwhile a document that the set may hold is deleted.
				must(t, o.DeleteDocuments(t.Context(), "theses", "new"))
				if tell := o.answer(t, "north", o.ask(t, river+mill+garden, concordat.ShowMetadata, "theses")); tell.Libraries[0].Exists {
					t.Errorf("after the cut, texts that are gone are told: %+v", tell)
				}
				o.parts.services = open(site.Options{ID: "here", Index: o.index, Store: o.store, Profiler: profiler(t), Now: o.clock.now})
				set := o.newSetOver(t, o.set)
				o.use(t, set)
				must(t, o.CatchUp(t.Context()))
				for text, want := range map[string][]string{river: {}, garden: {}, mill: {}, winter: {"theses/old"}, bridge: {"grants/g"}} {
					if got := o.holds(t, text); !slices.Equal(got, want) {
						t.Errorf("%.20s is held by %v, want %v", text, got, want)
					}
				}
			})
		}
	}
}

// A pass that is cut short by its context goes on where it was.
func TestSetResumes(t *testing.T) {
	o := newOwner(t, "theses")
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	var in []site.Incoming
	for i := range 450 { // three batches
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprintf("%03d", i)),
			Text: strings.Replace(river, "ancient", fmt.Sprintf("ancient%d", i), 1)})
	}
	must(t, o.Ingest(t.Context(), "theses", docs(in...), func(site.Ingested) error { return nil }))
	working := o.set.Index
	o.set.Index = &cutIndex{Index: working, left: 1}
	if err := o.CatchUp(t.Context()); !errors.Is(err, errKilled) {
		t.Fatalf("got %v", err)
	}
	ready := func() float64 {
		c, err := o.OpenTo(t.Context(), "north")
		must(t, err)
		return c.Libraries[0].Ready[0].Ready
	}
	if got := ready(); got != 0.44 { // 200 of 450
		t.Errorf("after one batch ready is %v", got)
	}
	counting := &countingIndex{Index: working}
	o.set.Index = counting
	must(t, o.CatchUp(t.Context()))
	if got := ready(); got != 1 || counting.put != 250 {
		t.Errorf("ready is %v after %d more documents, want 1 after 250", got, counting.put)
	}
	must(t, o.CatchUp(t.Context()))
	if counting.put != 250 {
		t.Errorf("a pass with nothing to do put %d documents", counting.put-250)
	}
}

type countingIndex struct {
	concordat.Index
	put int
}

func (c *countingIndex) Put(ctx context.Context, ps ...*concordat.Profile) error {
	c.put += len(ps)
	return c.Index.Put(ctx, ps...)
}

// After a rotation both epochs are answered for 14 days, then only the new one.
func TestRotation(t *testing.T) {
	o := newOwner(t, "theses")
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	o.add(t, "theses", site.Incoming{ID: "a", Text: river + winter})
	old := o.newSetOver(t, o.set)
	oldAsk := o.ask(t, river+winter, concordat.ShowMetadata, "theses")
	next := o.newSet(t, concordat.Epoch{Federation: "health", Number: 2})
	must(t, o.UseEpochs(t.Context(), next, old))
	o.keyed, o.epoch = next.Profiler, next.Epoch
	newAsk := o.ask(t, river+winter, concordat.ShowMetadata, "theses")
	if tell := o.answer(t, "north", newAsk); tell.Libraries[0].Ready != 0 || tell.Libraries[0].Exists {
		t.Errorf("a set that is not there yet tells %+v", tell.Libraries[0])
	}
	must(t, o.CatchUp(t.Context()))
	o.clock.move(time.Minute) // readiness is looked up again
	for _, a := range []*concordat.Ask{oldAsk, newAsk} {
		a.Job[5]++
		if tell := o.answer(t, "north", a); !tell.Libraries[0].Exists || tell.Libraries[0].Ready != 1 {
			t.Errorf("%s: got %+v", a.Epoch, tell.Libraries[0])
		}
	}
	if err := o.DropEpoch(t.Context(), old.Epoch); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("an epoch in use is dropped: %v", err)
	}
	o.clock.move(answer.EpochGrace)
	oldAsk.Job[5]++
	_, err := o.Answer(t.Context(), "north", oldAsk)
	refused(t, err, concordat.ReasonEpoch)
	states, err := o.EpochStates(t.Context())
	must(t, err)
	if len(states) != 2 || !states[0].Retired || states[1].Retired || states[1].Libraries[0].Held != 1 {
		t.Errorf("got states %+v", states)
	}
	must(t, o.DropEpoch(t.Context(), old.Epoch))
	must(t, o.CatchUp(t.Context()))
	if states, err = o.EpochStates(t.Context()); err != nil || len(states) != 1 {
		t.Errorf("after the drop got %+v and %v", states, err)
	}
	wrong := next
	wrong.Profiler = profiler(t)
	if err := o.UseEpochs(t.Context(), wrong); !errors.Is(err, concordat.ErrScheme) {
		t.Errorf("another scheme for a known epoch: %v", err)
	}
}

// A partner of one federation is not answered in another, and a set holds only what its members may ask.
func TestFederationsApart(t *testing.T) {
	o := newOwner(t, "theses", "grants")
	health, law := o.newSetOver(t, o.set), o.newSet(t, concordat.Epoch{Federation: "law", Number: 4})
	health.Members, law.Members = []concordat.SiteID{"north"}, []concordat.SiteID{"south"}
	must(t, o.UseEpochs(t.Context(), health, law))
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	o.share(t, "grants", "south", store.ShareRule{Level: concordat.ShowMetadata})
	o.add(t, "theses", site.Incoming{ID: "a", Text: river + winter})
	o.add(t, "grants", site.Incoming{ID: "b", Text: garden + mill})
	if got := o.holds(t, river+garden); !slices.Equal(got, []string{"theses/a"}) {
		t.Errorf("the set of health holds %v", got)
	}
	if tell := o.answer(t, "north", o.ask(t, river+winter, concordat.ShowMetadata, "theses")); !tell.Libraries[0].Exists {
		t.Errorf("got %+v", tell)
	}
	_, err := o.Answer(t.Context(), "south", o.ask(t, garden+mill, concordat.ShowMetadata, "grants"))
	refused(t, err, concordat.ReasonEpoch)
	o.keyed, o.epoch, o.set = law.Profiler, law.Epoch, law.Index.(*faulty)
	if got := o.holds(t, river+garden); !slices.Equal(got, []string{"grants/b"}) {
		t.Errorf("the set of law holds %v", got)
	}
	if tell := o.answer(t, "south", o.ask(t, garden+mill, concordat.ShowMetadata, "grants")); !tell.Libraries[0].Exists {
		t.Errorf("got %+v", tell)
	}
}

// KeepEpochs follows changes by itself and ends with its context.
func TestKeepEpochs(t *testing.T) {
	o := newOwner(t, "theses")
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	put := make(chan struct{}, 100)
	o.set.Index = &signalIndex{o.set.Index, put}
	go func() { done <- o.KeepEpochs(ctx) }()
	must(t, o.Ingest(t.Context(), "theses", docs(site.Incoming{ID: "a", Text: river}), func(site.Ingested) error { return nil }))
	<-put
	cancel()
	must(t, <-done)
	if got := o.holds(t, river); len(got) != 1 {
		t.Errorf("held by %v", got)
	}
}

type signalIndex struct {
	concordat.Index
	put chan struct{}
}

func (s *signalIndex) Put(ctx context.Context, ps ...*concordat.Profile) error {
	err := s.Index.Put(ctx, ps...)
	s.put <- struct{}{}
	return err
}

// When UseEpochs returns, no pass writes to a set that it took out of use.
func TestUseEpochsEndsAPass(t *testing.T) {
	o := newOwner(t, "theses")
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	var in []site.Incoming
	for i := range 450 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)),
			Text: strings.Replace(river, "ancient", fmt.Sprintf("ancient%d", i), 1)})
	}
	must(t, o.Ingest(t.Context(), "theses", docs(in...), func(site.Ingested) error { return nil }))
	held, release := make(chan struct{}, 10), make(chan struct{})
	counting := &countingIndex{Index: &gatedIndex{o.set.Index, held, release}}
	o.set.Index = counting
	passed, used := make(chan error, 1), make(chan error, 1)
	go func() { passed <- o.CatchUp(context.Background()) }()
	<-held // within the first batch
	next := o.newSet(t, concordat.Epoch{Federation: "health", Number: 2})
	go func() { used <- o.UseEpochs(context.Background(), next) }()
	for { // until the new set has taken the place of the old one
		c, err := o.OpenTo(t.Context(), "north")
		must(t, err)
		if len(c.Libraries[0].Ready) == 1 && c.Libraries[0].Ready[0].Epoch == next.Epoch {
			break
		}
		runtime.Gosched()
	}
	close(release)
	must(t, <-used)
	if counting.put != 200 {
		t.Errorf("when UseEpochs returned %d documents were put, want the batch of 200", counting.put)
	}
	must(t, <-passed)
	if counting.put != 200 {
		t.Errorf("then %d more were put", counting.put-200)
	}
}

// gatedIndex says when a Put has come, and lets it go on when it is released.
type gatedIndex struct {
	concordat.Index
	held, release chan struct{}
}

func (g *gatedIndex) Put(ctx context.Context, ps ...*concordat.Profile) error {
	g.held <- struct{}{}
	<-g.release
	return g.Index.Put(ctx, ps...)
}

// A set that was closed and opened again answers as before, spans included.
func TestSetReopens(t *testing.T) {
	o := newOwner(t, "theses")
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowOverlap})
	set := o.newSet(t, concordat.Epoch{Federation: "health", Number: 2})
	dir := t.TempDir()
	first, err := index.Open(dir, index.Options{Site: "here", Scheme: set.Profiler.Scheme(), Shard: "00"})
	must(t, err)
	set.Index = &faulty{Index: first}
	o.use(t, set)
	text := long(river+winter, 3)
	o.add(t, "theses", site.Incoming{ID: "a", Text: text})
	want := o.answer(t, "north", o.ask(t, river+winter, concordat.ShowOverlap, "theses"))
	must(t, first.Close())
	set.Index = &faulty{Index: openShard(t, dir, set.Profiler)}
	o.use(t, set)
	a, d, _ := o.told(t, "north", river+winter, "theses")
	if len(want.Hits) != 2 || d.Handle != want.Documents[0].Handle || d.Matches != 2 {
		t.Errorf("got %+v, before it was %+v", d, want)
	}
	r, err := o.AnswerReveal(t.Context(), "north", o.revealAsk(a, d, concordat.ShowOverlap, text, river, river))
	must(t, err)
	if len(r.Passages[0].Shared) != 1 {
		t.Errorf("got %+v", r)
	}
}
