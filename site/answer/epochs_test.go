package answer_test

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
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/site/answer"
	"concordat/store"
)

var errKilled = errors.New("killed")

func TestSetFollowsTheCatalogue(t *testing.T) {
	o := sitetest.NewOwner(t, "theses", "closed")
	want := func(step, text string, docs ...string) {
		t.Helper()
		if got := o.Holds(t, text); !slices.Equal(got, append([]string{}, docs...)) {
			t.Errorf("%s: %v hold the text, want %v", step, got, docs)
		}
	}
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "T", Text: sitetest.River}, site.Incoming{ID: "b", Text: sitetest.Winter})
	o.AddDocuments(t, "closed", site.Incoming{ID: "c", Text: sitetest.River})
	want("nothing is shared", sitetest.River)
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	want("shared", sitetest.River, "theses/a")
	want("shared", sitetest.Winter, "theses/b")
	if d, err := o.Set.Index.Document(t.Context(), concordat.Ref{Site: "here", Library: "theses", Document: "a"}); err == nil && d.Text != "" {
		t.Errorf("the set holds the text %q", d.Text)
	}
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.Garden})
	want("replaced", sitetest.River)
	want("replaced", sitetest.Garden, "theses/a")
	sitetest.Must(t, o.DeleteDocuments(t.Context(), "theses", "b"))
	// Until the set is updated, the answer must not report deleted documents.
	if tell := o.Told(t, "north", o.Question(t, sitetest.Winter, concordat.ShowMetadata, "theses")); tell.Libraries[0].Exists {
		t.Errorf("a deleted document is told: %+v", tell)
	}
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	want("deleted", sitetest.Winter)
	sitetest.Must(t, o.Answerer.Shares.Unshare(t.Context(), "theses", "north"))
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	want("unshared", sitetest.Garden)
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Expires: o.Clock.Now().Add(time.Hour)})
	want("shared again", sitetest.Garden, "theses/a")
	o.Clock.Move(2 * time.Hour)
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	want("expired", sitetest.Garden)
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	sitetest.Must(t, o.DeleteLibrary(t.Context(), "theses", nil))
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	want("library deleted", sitetest.Garden)
}

// cutIndex fails from a given call on, either before or after that call takes effect.
type cutIndex struct {
	concordat.Index
	left  int // calls before the failure
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

// TestSetSurvivesACut: if a pass is interrupted at any call to the index, before or after the call takes effect, the set contains nothing
// unlisted, and the next pass makes it equal to the catalogue.
func TestSetSurvivesACut(t *testing.T) {
	for left := range 4 {
		for _, after := range []bool{false, true} {
			if testing.Short() && after != (left%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%d after=%v", left, after), func(t *testing.T) {
				o := sitetest.NewOwner(t, "theses", "grants")
				o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
				o.ShareWith(t, "grants", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
				o.AddDocuments(t, "theses", site.Incoming{ID: "old", Text: sitetest.River}, site.Incoming{ID: "gone", Text: sitetest.Garden})
				sitetest.Must(t, o.DeleteDocuments(t.Context(), "theses", "gone"))
				ingest := func(lib concordat.LibraryID, d site.Incoming) {
					sitetest.Must(t, o.Ingest(t.Context(), lib, sitetest.Docs(d), func(site.Ingested) error { return nil }))
				}
				ingest("theses", site.Incoming{ID: "old", Text: sitetest.Winter})
				ingest("theses", site.Incoming{ID: "new", Text: sitetest.Mill})
				ingest("grants", site.Incoming{ID: "g", Text: sitetest.Bridge})
				working := o.Set.Index
				o.Set.Index = &cutIndex{Index: working, left: left, after: after}
				err := o.Sets.CatchUp(t.Context())
				if left < 3 && !errors.Is(err, errKilled) {
					t.Fatalf("got %v, want the cut", err)
				}
				o.Set.Index = working
				// A document that may be in the set is deleted in the meantime.
				sitetest.Must(t, o.DeleteDocuments(t.Context(), "theses", "new"))
				if tell := o.Told(t, "north", o.Question(t, sitetest.River+sitetest.Mill+sitetest.Garden, concordat.ShowMetadata,
					"theses")); tell.Libraries[0].Exists {
					t.Errorf("after the cut, texts that are gone are told: %+v", tell)
				}
				o.Parts.Services = sitetest.Open(site.Options{ID: "here", Index: o.Index, Store: o.Store, Profiler: sitetest.Profiler(t),
					Now: o.Clock.Now})
				set := o.NewSetOver(t, o.Set)
				o.Use(t, set)
				sitetest.Must(t, o.Sets.CatchUp(t.Context()))
				for text, want := range map[string][]string{sitetest.River: {}, sitetest.Garden: {}, sitetest.Mill: {},
					sitetest.Winter: {"theses/old"}, sitetest.Bridge: {"grants/g"}} {
					if got := o.Holds(t, text); !slices.Equal(got, want) {
						t.Errorf("%.20s is held by %v, want %v", text, got, want)
					}
				}
			})
		}
	}
}

// TestSetResumes: a pass that its context interrupts continues where it stopped.
func TestSetResumes(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	var in []site.Incoming
	for i := range 450 { // enough for three batches
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprintf("%03d", i)),
			Text: strings.Replace(sitetest.River, "ancient", fmt.Sprintf("ancient%d", i), 1)})
	}
	sitetest.Must(t, o.Ingest(t.Context(), "theses", sitetest.Docs(in...), func(site.Ingested) error { return nil }))
	working := o.Set.Index
	o.Set.Index = &cutIndex{Index: working, left: 1}
	if err := o.Sets.CatchUp(t.Context()); !errors.Is(err, errKilled) {
		t.Fatalf("got %v", err)
	}
	ready := func() float64 {
		c, err := o.OpenTo(t.Context(), "north")
		sitetest.Must(t, err)
		return c.Libraries[0].Ready[0].Ready
	}
	if got := ready(); got != 0.44 { // 200 of 450
		t.Errorf("after one batch ready is %v", got)
	}
	counting := &countingIndex{Index: working}
	o.Set.Index = counting
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	if got := ready(); got != 1 || counting.put != 250 {
		t.Errorf("ready is %v after %d more documents, want 1 after 250", got, counting.put)
	}
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
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

// TestRotation: for 14 days after a rotation, the site answers in both epochs, then only in the new one.
func TestRotation(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.River + sitetest.Winter})
	old := o.NewSetOver(t, o.Set)
	oldAsk := o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowMetadata, "theses")
	next := o.NewSet(t, concordat.Epoch{Federation: "health", Number: 2})
	sitetest.Must(t, o.Sets.UseEpochs(t.Context(), next, old))
	o.Keyed, o.Epoch = next.Profiler, next.Epoch
	newAsk := o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowMetadata, "theses")
	if tell := o.Told(t, "north", newAsk); tell.Libraries[0].Ready != 0 || tell.Libraries[0].Exists {
		t.Errorf("a set that is not there yet tells %+v", tell.Libraries[0])
	}
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	o.Clock.Move(time.Minute) // readiness is looked up again after a minute
	for _, a := range []*concordat.Ask{oldAsk, newAsk} {
		a.Job[5]++
		if tell := o.Told(t, "north", a); !tell.Libraries[0].Exists || tell.Libraries[0].Ready != 1 {
			t.Errorf("%s: got %+v", a.Epoch, tell.Libraries[0])
		}
	}
	if err := o.Sets.DropEpoch(t.Context(), old.Epoch); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("an epoch in use is dropped: %v", err)
	}
	o.Clock.Move(answer.EpochGrace)
	oldAsk.Job[5]++
	_, err := o.Answer(t.Context(), "north", oldAsk)
	refused(t, err, concordat.ReasonEpoch)
	states, err := o.Sets.EpochStates(t.Context())
	sitetest.Must(t, err)
	if len(states) != 2 || !states[0].Retired || states[1].Retired || states[1].Libraries[0].Held != 1 {
		t.Errorf("got states %+v", states)
	}
	sitetest.Must(t, o.Sets.DropEpoch(t.Context(), old.Epoch))
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	if states, err = o.Sets.EpochStates(t.Context()); err != nil || len(states) != 1 {
		t.Errorf("after the drop got %+v and %v", states, err)
	}
	wrong := next
	wrong.Profiler = sitetest.Profiler(t)
	if err := o.Sets.UseEpochs(t.Context(), wrong); !errors.Is(err, concordat.ErrScheme) {
		t.Errorf("another scheme for a known epoch: %v", err)
	}
}

// TestFederationsApart: a partner in one federation gets no answers in another, and a set contains only what its members can ask about.
func TestFederationsApart(t *testing.T) {
	o := sitetest.NewOwner(t, "theses", "grants")
	health, law := o.NewSetOver(t, o.Set), o.NewSet(t, concordat.Epoch{Federation: "law", Number: 4})
	health.Members, law.Members = []concordat.SiteID{"north"}, []concordat.SiteID{"south"}
	sitetest.Must(t, o.Sets.UseEpochs(t.Context(), health, law))
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	o.ShareWith(t, "grants", "south", store.ShareRule{Level: concordat.ShowMetadata})
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.River + sitetest.Winter})
	o.AddDocuments(t, "grants", site.Incoming{ID: "b", Text: sitetest.Garden + sitetest.Mill})
	if got := o.Holds(t, sitetest.River+sitetest.Garden); !slices.Equal(got, []string{"theses/a"}) {
		t.Errorf("the set of health holds %v", got)
	}
	if tell := o.Told(t, "north", o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowMetadata, "theses")); !tell.Libraries[0].Exists {
		t.Errorf("got %+v", tell)
	}
	_, err := o.Answer(t.Context(), "south", o.Question(t, sitetest.Garden+sitetest.Mill, concordat.ShowMetadata, "grants"))
	refused(t, err, concordat.ReasonEpoch)
	o.Keyed, o.Epoch, o.Set = law.Profiler, law.Epoch, law.Index.(*sitetest.Faulty)
	if got := o.Holds(t, sitetest.River+sitetest.Garden); !slices.Equal(got, []string{"grants/b"}) {
		t.Errorf("the set of law holds %v", got)
	}
	if tell := o.Told(t, "south", o.Question(t, sitetest.Garden+sitetest.Mill, concordat.ShowMetadata, "grants")); !tell.Libraries[0].Exists {
		t.Errorf("got %+v", tell)
	}
}

// TestKeepEpochs: KeepEpochs follows changes by itself and ends with its context.
func TestKeepEpochs(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	put := make(chan struct{}, 100)
	o.Set.Index = &signalIndex{o.Set.Index, put}
	go func() { done <- o.Sets.KeepEpochs(ctx) }()
	sitetest.Must(t, o.Ingest(t.Context(), "theses", sitetest.Docs(site.Incoming{ID: "a", Text: sitetest.River}),
		func(site.Ingested) error { return nil }))
	<-put
	cancel()
	sitetest.Must(t, <-done)
	if got := o.Holds(t, sitetest.River); len(got) != 1 {
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

// TestUseEpochsEndsAPass: once UseEpochs has returned, no pass writes to a set that it has retired.
func TestUseEpochsEndsAPass(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	var in []site.Incoming
	for i := range 450 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)),
			Text: strings.Replace(sitetest.River, "ancient", fmt.Sprintf("ancient%d", i), 1)})
	}
	sitetest.Must(t, o.Ingest(t.Context(), "theses", sitetest.Docs(in...), func(site.Ingested) error { return nil }))
	held, release := make(chan struct{}, 10), make(chan struct{})
	counting := &countingIndex{Index: &gatedIndex{o.Set.Index, held, release}}
	o.Set.Index = counting
	passed, used := make(chan error, 1), make(chan error, 1)
	go func() { passed <- o.Sets.CatchUp(context.Background()) }()
	<-held // wait until the first batch is being written
	next := o.NewSet(t, concordat.Epoch{Federation: "health", Number: 2})
	go func() { used <- o.Sets.UseEpochs(context.Background(), next) }()
	for { // until the new set has replaced the old one
		c, err := o.OpenTo(t.Context(), "north")
		sitetest.Must(t, err)
		if len(c.Libraries[0].Ready) == 1 && c.Libraries[0].Ready[0].Epoch == next.Epoch {
			break
		}
		runtime.Gosched()
	}
	close(release)
	sitetest.Must(t, <-used)
	if counting.put != 200 {
		t.Errorf("when UseEpochs returned %d documents were put, want the batch of 200", counting.put)
	}
	sitetest.Must(t, <-passed)
	if counting.put != 200 {
		t.Errorf("then %d more were put", counting.put-200)
	}
}

// gatedIndex announces each Put and lets it continue when released.
type gatedIndex struct {
	concordat.Index
	held, release chan struct{}
}

func (g *gatedIndex) Put(ctx context.Context, ps ...*concordat.Profile) error {
	g.held <- struct{}{}
	<-g.release
	return g.Index.Put(ctx, ps...)
}

// TestSetReopens: a set gives the same answers, including spans, after it was closed and opened again.
func TestSetReopens(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowOverlap})
	set := o.NewSet(t, concordat.Epoch{Federation: "health", Number: 2})
	dir := t.TempDir()
	first, err := index.Open(dir, index.Options{Site: "here", Scheme: set.Profiler.Scheme(), Shard: "00"})
	sitetest.Must(t, err)
	set.Index = &sitetest.Faulty{Index: first}
	o.Use(t, set)
	text := sitetest.Long(sitetest.River+sitetest.Winter, 3)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	want := o.Told(t, "north", o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowOverlap, "theses"))
	sitetest.Must(t, first.Close())
	set.Index = &sitetest.Faulty{Index: sitetest.OpenShard(t, dir, set.Profiler)}
	o.Use(t, set)
	a, d, _ := o.Named(t, "north", sitetest.River+sitetest.Winter, "theses")
	if len(want.Hits) != 2 || d.Handle != want.Documents[0].Handle || d.Matches != 2 {
		t.Errorf("got %+v, before it was %+v", d, want)
	}
	r, err := o.AnswerReveal(t.Context(), "north", o.RevealAsk(a, d, concordat.ShowOverlap, text, sitetest.River, sitetest.River))
	sitetest.Must(t, err)
	if len(r.Passages[0].Shared) != 1 {
		t.Errorf("got %+v", r)
	}
}
