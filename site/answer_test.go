package site_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/index"
	"concordat/profile"
	"concordat/site"
	"concordat/site/answer"
	"concordat/store"
)

// owner is a site that answers, with a clock that stands still until it is moved.
type owner struct {
	*parts
	clock *testClock
	keyed *profile.Profiler
	set   *faulty // index of the epoch
	epoch concordat.Epoch
}

type testClock struct {
	mu sync.Mutex
	t  time.Time // guarded by mu
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *testClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

var testEpoch = concordat.Epoch{Federation: "health", Number: 1}

func key(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

func newOwner(t testing.TB, libraries ...concordat.LibraryID) *owner {
	t.Helper()
	dir := t.TempDir()
	o := &owner{clock: &testClock{t: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}, epoch: testEpoch}
	db, err := store.Options{Now: o.clock.now}.Open(t.Context(), filepath.Join(dir, "site.db"))
	must(t, err)
	t.Cleanup(func() { db.Close() })
	p, err := profile.New(profile.Options{})
	must(t, err)
	for _, l := range libraries {
		must(t, db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: l, Title: "Library " + string(l)}))
	}
	f := &faulty{Index: openShard(t, filepath.Join(dir, "index"), p)}
	o.parts = &parts{open(site.Options{ID: "here", Index: f, Store: db, Profiler: p, Now: o.clock.now}), db, f, p}
	o.use(t, o.newSet(t, testEpoch))
	return o
}

func openShard(t testing.TB, dir string, p *profile.Profiler) *index.Shard {
	t.Helper()
	shard, err := index.Open(dir, index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"})
	must(t, err)
	t.Cleanup(func() { shard.Close() })
	return shard
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newSet makes the set of an epoch over an empty index.
func (o *owner) newSet(t testing.TB, e concordat.Epoch) answer.EpochSet {
	t.Helper()
	p, err := profile.New(profile.Options{Key: key("prints of " + e.String())})
	must(t, err)
	return answer.EpochSet{Epoch: e, Profiler: p, Index: &faulty{Index: openShard(t, t.TempDir(), p)},
		SketchKey: key("sketch of " + e.String()), CellKey: key("cells of " + e.String()), HandleKey: key("handles here")}
}

// newSetOver is the first epoch's set over an index that is open already.
func (o *owner) newSetOver(t testing.TB, i concordat.Index) answer.EpochSet {
	t.Helper()
	return answer.EpochSet{Epoch: testEpoch, Profiler: o.keyed, Index: i, SketchKey: key("sketch of " + testEpoch.String()),
		CellKey: key("cells of " + testEpoch.String()), HandleKey: key("handles here")}
}

func profiler(t testing.TB) *profile.Profiler {
	t.Helper()
	p, err := profile.New(profile.Options{})
	must(t, err)
	return p
}

func (o *owner) use(t testing.TB, sets ...answer.EpochSet) {
	t.Helper()
	must(t, o.UseEpochs(t.Context(), sets...))
	o.keyed, o.set, o.epoch = sets[0].Profiler, sets[0].Index.(*faulty), sets[0].Epoch
}

// share opens a library with wide limits unless the rule has others.
func (o *owner) share(t testing.TB, lib concordat.LibraryID, partner concordat.SiteID, rule store.ShareRule) {
	t.Helper()
	_, err := o.Share(t.Context(), store.Share{Library: lib, Partner: partner, Rule: rule})
	must(t, err)
	must(t, o.CatchUp(t.Context()))
}

func (o *owner) add(t testing.TB, lib concordat.LibraryID, ds ...site.Incoming) {
	t.Helper()
	must(t, o.Ingest(t.Context(), lib, docs(ds...), func(site.Ingested) error { return nil }))
	must(t, o.CatchUp(t.Context()))
}

var jobs struct {
	sync.Mutex
	n byte
}

// ask makes an ask of a text, as an asker would.
func (o *owner) ask(t testing.TB, text string, level concordat.Show, libs ...concordat.LibraryID) *concordat.Ask {
	t.Helper()
	jobs.Lock()
	jobs.n++
	job := concordat.JobID{1, jobs.n}
	jobs.Unlock()
	p, err := o.keyed.Profile(concordat.Document{ID: "submission", Text: text}, nil)
	must(t, err)
	a := &concordat.Ask{Job: job, Epoch: o.epoch, Scheme: o.keyed.Scheme(), Libraries: libs, Probe: concordat.ProbeOne, Level: level,
		Purpose: "thesis", Commitment: sha256.Sum256([]byte(text))}
	for _, x := range p.Questions() {
		a.Sentences = append(a.Sentences, concordat.AskedSentence{Fingerprint: x.Fingerprint, Gate: x.Gate})
	}
	return a
}

func (o *owner) answer(t testing.TB, from concordat.SiteID, a *concordat.Ask) *concordat.SiteAnswer {
	t.Helper()
	tell, err := o.Answer(t.Context(), from, a)
	must(t, err)
	return tell
}

// refused wants a refusal for the reason.
func refused(t testing.TB, err error, want concordat.Reason) {
	t.Helper()
	var r *concordat.Refusal
	if !errors.As(err, &r) || r.Reason != want {
		t.Fatalf("got %v, want a refusal: %s", err, want)
	}
}

// reason returns why a library did not answer.
func reason(t concordat.LibraryAnswer) concordat.Reason {
	if t.Refusal == nil {
		return ""
	}
	return t.Refusal.Reason
}

const (
	harbour = "The harbour master recorded every vessel that left the estuary, its cargo of wool and the names of the sailors aboard. "
	mill    = "Behind the old windmill the farmers of the valley stored their barley, oats and rye until the spring markets opened again. "
	bridge  = "A narrow stone bridge, rebuilt twice after the floods, joined the monastery to the vineyards on the southern hillside. "
	school  = "Pupils of the village school copied passages from worn almanacs because printed books were expensive and seldom borrowed. "
	clocks  = "The clockmaker's apprentice repaired brass chronometers for captains who could not afford the instruments of the capital. "
)

func TestAnswerLevels(t *testing.T) {
	o := newOwner(t, "theses")
	in := []site.Incoming{{ID: "a", Title: "Rivers", Author: "Jane Doe", Text: river + winter + garden + harbour},
		{ID: "b", Title: "Mills", Text: mill + bridge}}
	for i := range 20 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint("x", i)),
			Text: fmt.Sprintf("Filler number %d about %s nothing in particular that anybody would ever want to quote.", i,
				strings.Repeat("quite ", i))})
	}
	o.add(t, "theses", in...)
	for _, level := range concordat.Levels()[1:] {
		o.share(t, "theses", "north", store.ShareRule{Level: level, Contact: "library@here", Outline: concordat.OutlineWords})
		tell := o.answer(t, "north", o.ask(t, river+winter+garden, concordat.ShowPassage, "theses"))
		l := tell.Libraries[0]
		if l.Refusal != nil || l.Level != level || !l.Exists || l.Ready != 1 {
			t.Errorf("%s: got %+v", level, l)
		}
		switch level {
		case concordat.ShowExists:
			if l.Documents != 0 || l.Sentences != 0 || tell.Documents != nil || tell.Hits != nil {
				t.Errorf("%s tells %+v", level, tell)
			}
		case concordat.ShowCounts:
			if l.Documents != 2 || l.Sentences != 3 || len(tell.Documents) != 1 || tell.Hits != nil {
				t.Errorf("%s tells %+v", level, tell)
			}
			if d := tell.Documents[0]; d.Title != "" || d.Author != "" || d.Contact != "" || d.Outline != "" || !d.Date.IsZero() || d.Matches != 3 {
				t.Errorf("%s tells of the document %+v", level, d)
			}
		default:
			if l.Documents != 1 || l.Sentences != 3 || len(tell.Documents) != 1 || len(tell.Hits) != 3 {
				t.Fatalf("%s tells %+v", level, tell)
			}
			if d := tell.Documents[0]; d.Title != "Rivers" || d.Author != "Jane Doe" || d.Contact != "library@here" ||
				d.Outline != concordat.OutlineWords || d.Matches != 3 {
				t.Errorf("%s tells of the document %+v", level, d)
			}
			for i, h := range tell.Hits {
				if h.Sentence != i || h.Ordinal != i || h.Closeness != concordat.CloseSame {
					t.Errorf("%s tells hit %+v", level, h)
				}
			}
		}
	}
	lower := o.answer(t, "north", o.ask(t, river+winter, concordat.ShowExists, "theses"))
	if lower.Libraries[0].Level != concordat.ShowExists || lower.Hits != nil {
		t.Errorf("asked for less, got %+v", lower)
	}
}

// TestGates is P-gates: each condition of a rule refuses by itself, and says so without telling what
// matches.
func TestGates(t *testing.T) {
	o := newOwner(t, "theses", "closed", "small")
	o.add(t, "theses", site.Incoming{ID: "a", Text: river + winter + garden})
	o.add(t, "closed", site.Incoming{ID: "a", Text: river + winter + garden})
	o.add(t, "small", site.Incoming{ID: "a", Text: river + winter + garden})
	all := store.ShareRule{Level: concordat.ShowMetadata}
	now := o.clock.now()
	one := func(rule store.ShareRule, a *concordat.Ask) (*concordat.SiteAnswer, concordat.LibraryAnswer) {
		t.Helper()
		o.share(t, "theses", "north", rule)
		tell := o.answer(t, "north", a)
		return tell, tell.Libraries[0]
	}
	both := river + winter
	tell := o.answer(t, "north", o.ask(t, both, concordat.ShowMetadata, "theses", "closed", "none"))
	for i, l := range tell.Libraries {
		if reason(l) != concordat.ReasonLibrary || l.Exists || l.Level != concordat.ShowNothing {
			t.Errorf("default deny: library %d got %+v", i, l)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*store.ShareRule)
		text   string
		want   concordat.Reason
		hits   int
	}{
		{"open", func(*store.ShareRule) {}, both, "", 2},
		{"nothing", func(r *store.ShareRule) { r.Level = concordat.ShowNothing }, both, concordat.ReasonLibrary, 0},
		{"embargo", func(r *store.ShareRule) { r.Embargo = now.Add(time.Hour) }, both, concordat.ReasonEmbargo, 0},
		{"embargo over", func(r *store.ShareRule) { r.Embargo = now }, both, "", 2},
		{"expired", func(r *store.ShareRule) { r.Expires = now }, both, concordat.ReasonExpired, 0},
		{"expires", func(r *store.ShareRule) { r.Expires = now.Add(1) }, both, "", 2},
		{"purpose", func(r *store.ShareRule) { r.Purposes = []string{"grant"} }, both, concordat.ReasonPurpose, 0},
		{"purposes", func(r *store.ShareRule) { r.Purposes = []string{"grant", "thesis"} }, both, "", 2},
		{"one match", func(*store.ShareRule) {}, river, "", 0},
		{"one is enough", func(r *store.ShareRule) { r.Matches = 1 }, river, "", 1},
		{"three matches", func(r *store.ShareRule) { r.Matches = 3 }, both, "", 0},
		{"far", func(r *store.ShareRule) { r.Closeness = 1 }, strings.ReplaceAll(both, "council", "parliament"), "", 0},
		{"budget", func(r *store.ShareRule) { r.Limits.Sentences = 63 }, both, concordat.ReasonBudget, 0},
		{"burst", func(r *store.ShareRule) { r.Limits.Burst = 63 }, both, concordat.ReasonBudget, 0},
		{"disclosures", func(r *store.ShareRule) { r.Limits.Disclosures = 1 }, both, "", 0},
		{"too small", func(r *store.ShareRule) { r.Level = concordat.ShowCounts }, both, concordat.ReasonGate, 0},
	} {
		rule := all
		c.change(&rule)
		if c.name != "budget" && c.name != "burst" {
			rule.Limits.Sentences, rule.Limits.Burst = -1, -1
		}
		if c.name != "disclosures" {
			rule.Limits.Disclosures = -1
		}
		rule.Limits.Documents = -1
		tell, l := one(rule, o.ask(t, c.text, concordat.ShowMetadata, "theses"))
		if reason(l) != c.want || len(tell.Hits) != c.hits {
			t.Errorf("%s: got %q and %d hits, want %q and %d", c.name, reason(l), len(tell.Hits), c.want, c.hits)
		}
		if c.want != "" && (l.Exists || l.Documents+l.Sentences+len(tell.Documents) > 0 || l.Level != concordat.ShowNothing) {
			t.Errorf("%s: a refusal tells %+v", c.name, tell)
		}
	}
	for name, change := range map[string]func(*concordat.Ask){
		"other epoch":  func(a *concordat.Ask) { a.Epoch.Number = 9 },
		"other scheme": func(a *concordat.Ask) { a.Scheme = o.Scheme() },
	} {
		a := o.ask(t, both, concordat.ShowMetadata, "theses")
		change(a)
		if _, err := o.Answer(t.Context(), "north", a); !errors.Is(err, concordat.ErrScheme) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A job's matches add up over its asks; variants of one sentence count once, and another
// submission's job is refused.
func TestGateCountsAJob(t *testing.T) {
	o := newOwner(t, "theses")
	o.add(t, "theses", site.Incoming{ID: "a", Text: river + winter + garden})
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	first := o.ask(t, river, concordat.ShowMetadata, "theses")
	if tell := o.answer(t, "north", first); tell.Libraries[0].Exists {
		t.Errorf("one sentence opens the gate: %+v", tell)
	}
	variant := o.ask(t, strings.Replace(river, "frozen", "icy", 1), concordat.ShowMetadata, "theses")
	variant.Job, variant.Commitment = first.Job, first.Commitment
	if tell := o.answer(t, "north", variant); tell.Libraries[0].Exists {
		t.Errorf("two variants of one sentence open the gate: %+v", tell)
	}
	second := o.ask(t, winter, concordat.ShowMetadata, "theses")
	second.Job, second.Commitment = first.Job, first.Commitment
	if tell := o.answer(t, "north", second); len(tell.Hits) != 1 || tell.Hits[0].Ordinal != 1 {
		t.Errorf("the second sentence of the job: got %+v", tell)
	}
	other := o.ask(t, garden, concordat.ShowMetadata, "theses")
	other.Job = first.Job
	_, err := o.Answer(t.Context(), "north", other)
	refused(t, err, concordat.ReasonUnknown)
	if tell := o.answer(t, "south", first); reason(tell.Libraries[0]) != concordat.ReasonLibrary {
		t.Errorf("another partner got %+v", tell)
	}
}

func TestOwnAuthorsAreLeftOut(t *testing.T) {
	o := newOwner(t, "theses")
	o.add(t, "theses", site.Incoming{ID: "a", Author: "Doe, Jané; Richard Roe", Text: river + winter})
	sketch := key("sketch of " + testEpoch.String())
	for _, c := range []struct {
		rule    bool
		authors string
		want    bool
	}{{true, "Jane DOE", false}, {true, "Roe, Richard", false}, {true, "Jane Roe", true}, {false, "Jane Doe", true}} {
		o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, ExcludeAuthors: c.rule})
		a := o.ask(t, river+winter, concordat.ShowMetadata, "theses")
		a.Authors = answer.AuthorHashes(sketch, c.authors)
		if got := o.answer(t, "north", a).Libraries[0].Exists; got != c.want {
			t.Errorf("%+v: exists %v", c, got)
		}
	}
}

// Every call leaves one line, which holds neither text nor fingerprints.
func TestAnswersAreAudited(t *testing.T) {
	o := newOwner(t, "theses")
	o.add(t, "theses", site.Incoming{ID: "a", Title: "Rivers", Text: river + winter})
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	a := o.ask(t, river+winter, concordat.ShowMetadata, "theses")
	o.answer(t, "north", a)
	a.Epoch.Number = 7
	if _, err := o.Answer(t.Context(), "north", a); err == nil {
		t.Error("an epoch of the future is answered")
	}
	lines, err := o.store.Audit.Audit(t.Context(), 0, 0)
	must(t, err)
	var answers []string
	for _, l := range lines {
		if l.Action == "answer" && l.Actor == "north" {
			answers = append(answers, string(l.Detail))
		}
		for _, x := range a.Sentences {
			if strings.Contains(string(l.Detail), x.Fingerprint.String()) {
				t.Errorf("line %d holds a fingerprint", l.Seq)
			}
		}
		if strings.Contains(string(l.Detail), "river") || strings.Contains(string(l.Detail), "Rivers") {
			t.Errorf("line %d holds text: %s", l.Seq, l.Detail)
		}
	}
	if len(answers) != 2 || !strings.Contains(answers[0], `"hits":2`) || !strings.Contains(answers[0], `"sentences":64`) ||
		!strings.Contains(answers[1], `"refused":"epoch"`) {
		t.Errorf("got lines %q", answers)
	}
}

// TestLongThesis: a thesis of 4,000 sentences is asked within the default budgets, and four of them in a day.
func TestLongThesis(t *testing.T) {
	o := newOwner(t, "theses")
	o.add(t, "theses", site.Incoming{ID: "a", Text: long(river+winter, 30)})
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	for thesis := range 5 {
		a := o.ask(t, long(river, 10), concordat.ShowMetadata, "theses")
		a.Job[5] = byte(thesis)
		for len(a.Sentences) < 4000 {
			a.Sentences = append(a.Sentences, a.Sentences[0])
		}
		switch r := o.answer(t, "north", a).Libraries[0].Refusal; {
		case thesis < 4 && r != nil:
			t.Errorf("thesis %d: %v", thesis, r)
		case thesis == 4 && (r == nil || r.Reason != concordat.ReasonBudget):
			t.Errorf("a fifth: %v, want the end of the budget", r)
		}
		o.clock.move(time.Hour)
	}
}

// TestBudgets is A1: concurrent asks cannot overspend.
func TestBudgets(t *testing.T) {
	o := newOwner(t, "theses")
	o.add(t, "theses", site.Incoming{ID: "a", Text: river + winter})
	const most = 7
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Limits: store.Limits{Sentences: most*64 + 10, Burst: -1}})
	var mu sync.Mutex
	answered := 0
	var wg sync.WaitGroup
	for range 20 {
		a := o.ask(t, river+winter, concordat.ShowMetadata, "theses")
		wg.Go(func() {
			tell, err := o.Answer(context.Background(), "north", a)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch reason(tell.Libraries[0]) {
			case "":
				answered++
			case concordat.ReasonBudget:
				if tell.Libraries[0].Refusal.Retry.IsZero() {
					t.Error("a used-up budget names no time")
				}
			default:
				t.Errorf("got %+v", tell.Libraries[0])
			}
		})
	}
	wg.Wait()
	if answered != most {
		t.Errorf("%d asks were answered, the budget is for %d", answered, most)
	}
	o.clock.move(24*time.Hour + store.SpendSlot)
	if tell := o.answer(t, "north", o.ask(t, river+winter, concordat.ShowMetadata, "theses")); tell.Libraries[0].Refusal != nil ||
		tell.Libraries[0].LeftSentences != (most-1)*64+10 {
		t.Errorf("a day later got %+v", tell.Libraries[0])
	}
}

// The documents beyond a budget of disclosures are counted and not named; what was told in a job
// costs nothing again.
func TestDisclosureBudget(t *testing.T) {
	o := newOwner(t, "theses")
	o.add(t, "theses", site.Incoming{ID: "a", Text: river + winter}, site.Incoming{ID: "b", Text: winter + garden + river},
		site.Incoming{ID: "c", Text: garden + river})
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Limits: store.Limits{Disclosures: 5, Documents: 2}})
	a := o.ask(t, river+winter+garden, concordat.ShowMetadata, "theses")
	for range 2 { // the same ask again
		tell := o.answer(t, "north", a)
		named := 0
		for _, d := range tell.Documents {
			if d.Contact+d.Title != "" || !d.Date.IsZero() {
				named++
			}
		}
		if l := tell.Libraries[0]; len(tell.Documents) != 3 || named != 2 || len(tell.Hits) != 5 || l.LeftDisclosures != 0 || l.Documents != 3 {
			t.Errorf("got %d documents, %d named, %d hits, %+v", len(tell.Documents), named, len(tell.Hits), l)
		}
	}
}
