package sitetest

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/index"
	"concordat/internal/storetest"
	"concordat/profile"
	"concordat/site"
	"concordat/site/answer"
	"concordat/store"
)

// Owner is a site that answers, with a clock that stands still until it is moved.
type Owner struct {
	*Parts
	Clock *testClock
	Keyed *profile.Profiler
	Set   *Faulty // index of the epoch
	Epoch concordat.Epoch
}

// testClock is a clock that only Move advances.
type testClock struct {
	mu sync.Mutex
	t  time.Time // guarded by mu
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *testClock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// TestEpoch is an owner's first epoch.
var TestEpoch = concordat.Epoch{Federation: "health", Number: 1}

// Key derives a 32-byte key from a name.
func Key(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

// NewOwner returns a site with empty libraries and the set for TestEpoch.
func NewOwner(t testing.TB, libraries ...concordat.LibraryID) *Owner {
	t.Helper()
	dir := t.TempDir()
	o := &Owner{Clock: &testClock{t: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}, Epoch: TestEpoch}
	db, err := store.Options{Now: o.Clock.Now}.Open(t.Context(), storetest.SQLitePath(t))
	Must(t, err)
	t.Cleanup(func() { db.Close() })
	p, err := profile.New(profile.Options{})
	Must(t, err)
	for _, l := range libraries {
		Must(t, db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: l, Title: "Library " + string(l)}))
	}
	f := &Faulty{Index: OpenShard(t, filepath.Join(dir, "index"), p)}
	o.Parts = &Parts{Open(site.Options{ID: "here", Index: f, Store: db, Profiler: p, Now: o.Clock.Now}), db, f, p}
	o.Use(t, o.NewSet(t, TestEpoch))
	return o
}

// OpenShard opens an index and closes it when the test ends.
func OpenShard(t testing.TB, dir string, p *profile.Profiler) *index.Shard {
	t.Helper()
	shard, err := index.Open(dir, index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"})
	Must(t, err)
	t.Cleanup(func() { shard.Close() })
	return shard
}

// Must stops the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// NewSet creates the set for an epoch over an empty index.
func (o *Owner) NewSet(t testing.TB, e concordat.Epoch) answer.EpochSet {
	t.Helper()
	p, err := profile.New(profile.Options{Key: Key("prints of " + e.String())})
	Must(t, err)
	return answer.EpochSet{Epoch: e, Profiler: p, Index: &Faulty{Index: OpenShard(t, t.TempDir(), p)},
		SketchKey: Key("sketch of " + e.String()), CellKey: Key("cells of " + e.String()), HandleKey: Key("handles here")}
}

// NewSetOver returns the first epoch's set over an open index.
func (o *Owner) NewSetOver(t testing.TB, i concordat.Index) answer.EpochSet {
	t.Helper()
	return answer.EpochSet{Epoch: TestEpoch, Profiler: o.Keyed, Index: i, SketchKey: Key("sketch of " + TestEpoch.String()),
		CellKey: Key("cells of " + TestEpoch.String()), HandleKey: Key("handles here")}
}

// Profiler returns a profiler without a key.
func Profiler(t testing.TB) *profile.Profiler {
	t.Helper()
	p, err := profile.New(profile.Options{})
	Must(t, err)
	return p
}

// Use replaces the epochs' sets.
func (o *Owner) Use(t testing.TB, sets ...answer.EpochSet) {
	t.Helper()
	Must(t, o.Sets.UseEpochs(t.Context(), sets...))
	o.Keyed, o.Set, o.Epoch = sets[0].Profiler, sets[0].Index.(*Faulty), sets[0].Epoch
}

// ShareWith shares a library with a partner, with generous limits unless the rule sets others.
func (o *Owner) ShareWith(t testing.TB, lib concordat.LibraryID, partner concordat.SiteID, rule store.ShareRule) {
	t.Helper()
	_, err := o.Answerer.Shares.Share(t.Context(), store.Share{Library: lib, Partner: partner, Rule: rule})
	Must(t, err)
	Must(t, o.Sets.CatchUp(t.Context()))
}

// AddDocuments ingests documents and updates the sets.
func (o *Owner) AddDocuments(t testing.TB, lib concordat.LibraryID, ds ...site.Incoming) {
	t.Helper()
	Must(t, o.Ingest(t.Context(), lib, Docs(ds...), func(site.Ingested) error { return nil }))
	Must(t, o.Sets.CatchUp(t.Context()))
}

var jobs struct {
	sync.Mutex
	n byte
}

// Question creates an ask from a text, like an asker.
func (o *Owner) Question(t testing.TB, text string, level concordat.Show, libs ...concordat.LibraryID) *concordat.Ask {
	t.Helper()
	jobs.Lock()
	jobs.n++
	job := concordat.JobID{1, jobs.n}
	jobs.Unlock()
	p, err := o.Keyed.Profile(concordat.Document{ID: "submission", Text: text}, nil)
	Must(t, err)
	a := &concordat.Ask{Job: job, Epoch: o.Epoch, Scheme: o.Keyed.Scheme(), Libraries: libs, Probe: concordat.ProbeOne, Level: level,
		Purpose: "thesis", Commitment: sha256.Sum256([]byte(text))}
	for _, x := range p.Questions() {
		a.Sentences = append(a.Sentences, concordat.AskedSentence{Fingerprint: x.Fingerprint, Gate: x.Gate})
	}
	return a
}

// Told returns the answer to an ask and fails the test on a refusal.
func (o *Owner) Told(t testing.TB, from concordat.SiteID, a *concordat.Ask) *concordat.SiteAnswer {
	t.Helper()
	tell, err := o.Answer(t.Context(), from, a)
	Must(t, err)
	return tell
}

const (
	Harbour = "The harbour master recorded every vessel that left the estuary, its cargo of wool and the names of the sailors aboard. "
	Mill    = "Behind the old windmill the farmers of the valley stored their barley, oats and rye until the spring markets opened again. "
	Bridge  = "A narrow stone bridge, rebuilt twice after the floods, joined the monastery to the vineyards on the southern hillside. "
	School  = "Pupils of the village school copied passages from worn almanacs because printed books were expensive and seldom borrowed. "
)

// Long returns a document with the given passage and around units of other text on either side.
func Long(passage string, around int) string {
	filler := func(side string) string {
		var b strings.Builder
		for i := range around {
			fmt.Fprintf(&b, "On the %s side, paragraph number %d%d treats of matters %d that concern nobody but archivist number %d of the office. ", side, i, i, i*7, i*13)
		}
		return b.String()
	}
	return filler("left") + passage + filler("right")
}

// Named asks about the text at level metadata and returns the only document in the answer.
func (o *Owner) Named(t testing.TB, from concordat.SiteID, text string,
	lib concordat.LibraryID) (*concordat.Ask, concordat.DocumentAnswer, []int) {
	t.Helper()
	a := o.Question(t, text, concordat.ShowPassage, lib)
	tell := o.Told(t, from, a)
	if len(tell.Documents) != 1 {
		t.Fatalf("got %+v, want one document", tell)
	}
	var ordinals []int
	for _, h := range tell.Hits {
		ordinals = append(ordinals, h.Ordinal)
	}
	slices.Sort(ordinals)
	return a, tell.Documents[0], slices.Compact(ordinals)
}

// Outline returns the outlines of documents in an answer.
func (o *Owner) Outline(t testing.TB, from concordat.SiteID, a *concordat.Ask, of ...concordat.OutlineOf) []concordat.Outline {
	t.Helper()
	got, err := o.AnswerOutline(t.Context(), from, &concordat.OutlineAsk{Job: a.Job, Epoch: a.Epoch, Documents: of})
	Must(t, err)
	return got.Documents
}

// Passage consists of four sentences that align.
var Passage = River + Winter + Garden + Harbour

// RevealAsk creates a request to see a document's passage theirs next to the text mine.
func (o *Owner) RevealAsk(a *concordat.Ask, d concordat.DocumentAnswer, level concordat.Show, text, mine,
	theirs string) *concordat.RevealAsk {
	at := strings.Index(text, theirs)
	return &concordat.RevealAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle, Level: level,
		Passages: []concordat.RevealPassage{{Span: concordat.Span{Start: at, End: at + len(theirs)}, Text: mine}}}
}

// Holds returns the documents in the epoch's index that contain the sentences of text.
func (o *Owner) Holds(t testing.TB, text string) []string {
	t.Helper()
	p, err := o.Keyed.ForIndex(concordat.Document{Text: text})
	Must(t, err)
	q := &concordat.Query{Scheme: p.Scheme}
	for _, x := range p.Indexed {
		q.Fingerprints = append(q.Fingerprints, x.Fingerprint)
	}
	a, err := o.Set.Index.Match(t.Context(), q)
	Must(t, err)
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

// Sharing returns a rule that allows north to see everything.
func Sharing(ship bool) store.ShareRule {
	return store.ShareRule{Level: concordat.ShowPassage, Outline: concordat.OutlineFingerprints, Ship: ship, Approval: 2 * time.Hour,
		Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1, Characters: -1, Opened: -1}}
}
