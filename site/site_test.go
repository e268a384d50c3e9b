package site_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/index"
	"concordat/profile"
	"concordat/report"
	"concordat/segment"
	"concordat/site"
	"concordat/site/answer"
	"concordat/site/ask"
	"concordat/store"
)

// parts is a site with the parts it stands on.
type parts struct {
	*services
	store    *store.DB
	index    *faulty
	profiler *profile.Profiler
}

// services are a site with what answers and asks for it.
type services struct {
	*site.Site
	*answer.Answerer
	*ask.Asker
}

// open returns the rooms of a site, whose store must be good for all of them.
func open(o site.Options) *services {
	r := &services{}
	r.Answerer = answer.New(answer.Options{ID: o.ID, Index: o.Index, Store: o.Store, Logger: o.Logger, Now: o.Now,
		Shared: o.Shared, Meaning: o.Profiler.Meaning(),
		Noticed: func(ctx context.Context, from concordat.SiteID, n *concordat.Notice) (concordat.TaskID, error) {
			return r.Noticed(ctx, from, n)
		}})
	o.Sharing = r.Answerer
	r.Site = site.New(o)
	r.Asker = ask.New(r.Site, ask.Options{Store: o.Store})
	return r
}

// faulty is an index whose next calls can be made to fail, or to answer in part.
type faulty struct {
	concordat.Index
	put, match error
	del, read  error
	missing    []concordat.ShardID
	capped     int  // added to the look-ups that were cut short
	panics     bool // where a document is asked for
	putPanics  bool
}

func (f *faulty) Document(ctx context.Context, ref concordat.Ref) (*concordat.Document, error) {
	if f.panics {
		panic("document")
	}
	if f.read != nil {
		return nil, f.read
	}
	return f.Index.Document(ctx, ref)
}

func (f *faulty) Put(ctx context.Context, ps ...*concordat.Profile) error {
	if f.putPanics {
		panic("put")
	}
	if f.put != nil {
		return f.put
	}
	return f.Index.Put(ctx, ps...)
}

func (f *faulty) Delete(ctx context.Context, refs ...concordat.Ref) error {
	if f.del != nil {
		return f.del
	}
	return f.Index.Delete(ctx, refs...)
}

func (f *faulty) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	if f.match != nil {
		return nil, f.match
	}
	a, err := f.Index.Match(ctx, q)
	if err == nil {
		a.Missing, a.Capped = f.missing, a.Capped+f.capped
	}
	return a, err
}

func newSite(t *testing.T, libraries ...concordat.LibraryID) *parts {
	t.Helper()
	return newKeyedSite(t, nil, libraries...)
}

// newKeyedSite is newSite with fingerprints by a key.
func newKeyedSite(t *testing.T, key []byte, libraries ...concordat.LibraryID) *parts {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(dir, "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	p, err := profile.New(profile.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	shard, err := index.Open(filepath.Join(dir, "index"), index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shard.Close() })
	for _, l := range libraries {
		if err := db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: l}); err != nil {
			t.Fatal(err)
		}
	}
	f := &faulty{Index: shard}
	return &parts{open(site.Options{ID: "here", Index: f, Store: db, Profiler: p}), db, f, p}
}

func docs(ds ...site.Incoming) iter.Seq2[site.Incoming, error] {
	return func(yield func(site.Incoming, error) bool) {
		for _, d := range ds {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// ingest returns what became of each document, as id:outcome.
func (p *parts) ingest(t *testing.T, lib concordat.LibraryID, ds ...site.Incoming) []string {
	t.Helper()
	var out []string
	err := p.Ingest(t.Context(), lib, docs(ds...), func(d site.Ingested) error {
		out = append(out, fmt.Sprintf("%s:%s", d.ID, d.Outcome))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	river  = "The ancient river carried silver timber downstream while the merchants counted barrels of salted fish beside the frozen harbour. "
	winter = "Every winter the council fixed the price of bread, coal and candles before the first ships returned from the northern islands. "
	garden = "A small botanical garden behind the hospital supplied physicians with foxglove, chamomile and a pale variety of valerian. "
	han    = "委员会认定，商人在整个漫长的冬季清点了成桶的咸鱼，并且向城市的居民按照规定的价格出售了这些食品和蜡烛。"
)

func TestIngest(t *testing.T) {
	p := newSite(t, "a")
	ds := []site.Incoming{{ID: "1", Text: river + winter}, {ID: "2", Title: "T", Text: garden}}
	for _, c := range []struct {
		name string
		in   []site.Incoming
		want []string
	}{
		{"new", ds, []string{"1:added", "2:added"}},
		{"again", ds, []string{"1:unchanged", "2:unchanged"}},
		{"changed text", []site.Incoming{{ID: "1", Text: river}}, []string{"1:replaced"}},
		{"changed title", []site.Incoming{{ID: "2", Title: "U", Text: garden}}, []string{"2:replaced"}},
		{"twice in one go: the later counts", []site.Incoming{{ID: "3", Text: river}, {ID: "3", Text: winter}}, []string{"3:added"}},
		{"empty text", []site.Incoming{{ID: "4"}}, []string{"4:added"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := p.ingest(t, "a", c.in...); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	d, err := p.index.Document(t.Context(), concordat.Ref{Site: "here", Library: "a", Document: "3"})
	if err != nil || d.Text != winter {
		t.Errorf("document 3: got %v, %v", d, err)
	}
	l, err := p.store.Catalogue.Library(t.Context(), "a")
	if err != nil || l.Documents != 4 {
		t.Errorf("library: got %+v, %v, want 4 documents", l, err)
	}
}

func TestIngestRefuses(t *testing.T) {
	p := newSite(t, "a")
	for _, c := range []struct {
		name string
		lib  concordat.LibraryID
		in   site.Incoming
		want error
	}{
		{"unknown library", "b", site.Incoming{ID: "1", Text: river}, concordat.ErrNotFound},
		{"empty id", "a", site.Incoming{Text: river}, concordat.ErrInvalid},
		{"long id", "a", site.Incoming{ID: concordat.DocumentID(strings.Repeat("x", 600)), Text: river}, concordat.ErrInvalid},
		{"control in id", "a", site.Incoming{ID: "a\x00b", Text: river}, concordat.ErrInvalid},
		{"text not UTF-8", "a", site.Incoming{ID: "1", Text: "\xff\xfe"}, concordat.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := p.Ingest(t.Context(), c.lib, docs(site.Incoming{ID: "good-" + concordat.DocumentID(c.name), Text: garden}, c.in),
				func(site.Ingested) error { return nil })
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	// What came before the fault is kept.
	if got := p.ingest(t, "a", site.Incoming{ID: "good-empty id", Text: garden}); !slices.Equal(got, []string{"good-empty id:unchanged"}) {
		t.Errorf("document before the fault: got %v", got)
	}
}

// TestIngestFails: a failing index leaves nothing in the catalogue, and the same call completes later.
func TestIngestFails(t *testing.T) {
	p := newSite(t, "a")
	p.index.put = concordat.ErrDiskFull
	d := site.Incoming{ID: "1", Text: river}
	if err := p.Ingest(t.Context(), "a", docs(d),
		func(site.Ingested) error { t.Error("told of a document that is not there"); return nil }); !errors.Is(err, concordat.ErrDiskFull) {
		t.Errorf("got %v, want ErrDiskFull", err)
	}
	if _, err := p.store.Catalogue.DocumentRow(t.Context(), "a", "1"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("catalogue: got %v, want ErrNotFound", err)
	}
	p.index.put = nil
	if got := p.ingest(t, "a", d); !slices.Equal(got, []string{"1:added"}) {
		t.Errorf("got %v", got)
	}
}

func TestIngestCancelled(t *testing.T) {
	p := newSite(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := p.Ingest(ctx, "a", func(yield func(site.Incoming, error) bool) {
		for i := range 5000 {
			if !yield(site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: river + fmt.Sprint(i)}, nil) {
				return
			}
		}
	}, func(site.Ingested) error {
		if n++; n == 300 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want Canceled", err)
	}
	l, err := p.store.Catalogue.Library(t.Context(), "a")
	if err != nil || l.Documents < n || l.Documents > 5000 {
		t.Errorf("%d documents in the catalogue (%v), %d acknowledged", l.Documents, err, n)
	}
	rows, err := p.store.Catalogue.Documents(t.Context(), "a", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if _, err := p.index.Document(t.Context(), concordat.Ref{Site: "here", Library: "a", Document: r.ID}); err != nil {
			t.Fatalf("catalogued document %s: %v", r.ID, err)
		}
	}
}

func (p *parts) check(t *testing.T, text string, o site.CheckOptions) *report.Findings {
	t.Helper()
	f, err := p.Check(t.Context(), site.Submission{ID: "sub", Text: text}, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sources(f *report.Findings) []string {
	var out []string
	for _, s := range report.Build(f, report.Rules{}).Sources {
		out = append(out, fmt.Sprintf("%s/%s", s.Library, s.Document))
	}
	slices.Sort(out)
	return out
}

func TestCheck(t *testing.T) {
	p := newSite(t, "a", "b", "old")
	p.ingest(t, "a", site.Incoming{ID: "river", Title: "The river", Text: river + winter}, site.Incoming{ID: "garden", Text: garden})
	p.ingest(t, "b", site.Incoming{ID: "copy", Text: "Quite another beginning stands in this document, about nothing. " + river},
		site.Incoming{ID: "zh", Text: han})
	p.ingest(t, "old", site.Incoming{ID: "river", Text: river})
	if err := p.store.Catalogue.UpdateLibrary(t.Context(), store.Library{ID: "old",
		Policy: store.Policy{Expires: time.Now().Add(-time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	own := "My own words open this essay and owe nothing to anybody who wrote before me on the subject. "
	ref := func(lib, id string) concordat.Ref {
		return concordat.Ref{Site: "here", Library: concordat.LibraryID(lib), Document: concordat.DocumentID(id)}
	}
	for _, c := range []struct {
		name string
		text string
		o    site.CheckOptions
		want []string
	}{
		{"copied sentence, all sources", own + river + own, site.CheckOptions{}, []string{"a/river", "b/copy"}},
		{"one library", own + river, site.CheckOptions{Libraries: []concordat.LibraryID{"b"}}, []string{"b/copy"}},
		{"excluded document", own + river, site.CheckOptions{Exclude: []concordat.Ref{ref("b", "copy")}}, []string{"a/river"}},
		{"exact bands", own + garden, site.CheckOptions{Exact: true}, []string{"a/garden"}},
		{"edited", own + strings.Replace(garden, "small botanical", "modest herbal", 1), site.CheckOptions{}, []string{"a/garden"}},
		{"chinese in traditional characters", "我自己寫的話。" + strings.NewReplacer("员", "員", "会", "會", "认", "認", "个", "個", "长", "長").Replace(han),
			site.CheckOptions{}, []string{"b/zh"}},
		{"nothing", own, site.CheckOptions{}, nil},
		{"no words", "…", site.CheckOptions{}, nil},
		{"expired library asked by name", river, site.CheckOptions{Libraries: []concordat.LibraryID{"old"}}, []string{"old/river"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := p.check(t, c.text, c.o)
			if got := sources(f); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for _, g := range f.Passages {
				if g.Span.In(c.text) == "" || g.Text == "" {
					t.Errorf("empty passage %+v", g)
				}
			}
			again, err := p.Findings(t.Context(), f.Task)
			if err != nil {
				t.Fatal(err)
			}
			if got := sources(again); !slices.Equal(got, c.want) {
				t.Errorf("stored findings have %v, want %v", got, c.want)
			}
			task, err := p.store.Checks.Task(t.Context(), f.Task)
			if err != nil || task.State != concordat.TaskDone {
				t.Errorf("task: got %+v, %v", task, err)
			}
		})
	}
}

// TestEvidenceIsExact: the spans of both sides hold the copied words and nothing else.
func TestEvidenceIsExact(t *testing.T) {
	p := newSite(t, "a")
	p.ingest(t, "a", site.Incoming{ID: "d", Text: garden + river + winter})
	text := "These first words are mine. " + strings.TrimSpace(river) + " And so are these last ones."
	f := p.check(t, text, site.CheckOptions{})
	if len(f.Passages) != 1 {
		t.Fatalf("%d passages, want 1: %+v", len(f.Passages), f.Passages)
	}
	want := strings.TrimRight(strings.TrimSpace(river), ".")
	g := f.Passages[0]
	if got := strings.TrimRight(g.Span.In(text), "."); got != want {
		t.Errorf("here: got %q, want %q", got, want)
	}
	if got := strings.TrimRight(g.Text, "."); got != want {
		t.Errorf("there: got %q, want %q", got, want)
	}
	if g.Kind != concordat.KindVerbatim || g.Documents != 1 {
		t.Errorf("kind %s in %d documents, want verbatim in 1", g.Kind, g.Documents)
	}
}

func TestCommonWording(t *testing.T) {
	p := newSite(t, "a")
	var in []site.Incoming
	for i := range 30 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: river +
			fmt.Sprintf("\n\nDocument %d goes on with a sentence that belongs to number %d alone and to no other one.", i, i*7919)})
	}
	p.ingest(t, "a", in...)
	rep := report.Build(p.check(t, "Some words of my own before the common sentence, and they are original. "+river, site.CheckOptions{}),
		report.Rules{})
	if rep.Scores.Covered > 0.01 || rep.Scores.Common < 0.3 {
		t.Errorf("wording of 30 documents: covered %.2f, common %.2f", rep.Scores.Covered, rep.Scores.Common)
	}
}

func TestCandidatesLeftOutAreSaid(t *testing.T) {
	p := newSite(t, "a")
	var in []site.Incoming
	for i := range 5 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: river})
	}
	p.ingest(t, "a", in...)
	f := p.check(t, river, site.CheckOptions{Candidates: 2})
	if got := sources(f); len(got) != 2 {
		t.Errorf("sources %v, want 2", got)
	}
	if !slices.ContainsFunc(f.Flags, func(g concordat.Flag) bool { return g.Code == "candidates_left_out" && g.Count == 3 }) {
		t.Errorf("flags %+v do not say that 3 were left out", f.Flags)
	}
}

func TestTemplate(t *testing.T) {
	p := newSite(t, "a")
	p.ingest(t, "a", site.Incoming{ID: "d", Text: river + garden})
	f := p.check(t, "Abstract\n\n"+river+"\n\nReferences\n\n"+garden, site.CheckOptions{Template: segment.Templates()["thesis"]})
	rep := report.Build(f, report.Rules{})
	var got []string
	for _, s := range rep.Sections {
		got = append(got, fmt.Sprintf("%s %.1f", s.Name, s.Share))
	}
	if want := []string{"abstract 1.0", "references 0.0"}; len(got) != 2 || !strings.HasPrefix(got[0], "abstract 0.9") && got[0] != want[0] {
		t.Errorf("sections %v, want about %v", got, want)
	}
	if !slices.ContainsFunc(f.Skipped, func(s concordat.Skipped) bool { return s.Reason == concordat.SkipSection }) {
		t.Errorf("skipped %+v does not name the section", f.Skipped)
	}
}

func TestPartialAnswerIsSaid(t *testing.T) {
	p := newSite(t, "a")
	p.ingest(t, "a", site.Incoming{ID: "d", Text: river})
	p.index.missing = []concordat.ShardID{"07"}
	f := p.check(t, river, site.CheckOptions{})
	if c := f.Consulted[0]; c.Answered != 0 || !slices.Equal(c.Missing, p.index.missing) {
		t.Errorf("consulted %+v does not name the missing shard", c)
	}
	task, err := p.store.Checks.Task(t.Context(), f.Task)
	if err != nil || task.State != concordat.TaskPartial {
		t.Errorf("task: got %+v, %v, want partial", task, err)
	}
}

func TestFailedCheckIsKept(t *testing.T) {
	p := newSite(t, "a")
	p.index.match = concordat.ErrUnavailable
	if _, err := p.Check(t.Context(), site.Submission{ID: "s", Text: river}, site.CheckOptions{}); !errors.Is(err, concordat.ErrUnavailable) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
	tasks, err := p.store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 || tasks[0].State != concordat.TaskFailed || !strings.Contains(tasks[0].Cause.String(), "unavailable") {
		t.Errorf("tasks: got %+v, %v", tasks, err)
	}
}

func TestCheckRefuses(t *testing.T) {
	p := newSite(t)
	for _, s := range []site.Submission{{Text: river}, {ID: "s", Text: "\xff"}} {
		if _, err := p.Check(t.Context(), s, site.CheckOptions{}); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%+v: got %v, want ErrInvalid", s, err)
		}
	}
	if _, err := p.Check(t.Context(), site.Submission{ID: "s", Text: river},
		site.CheckOptions{Libraries: []concordat.LibraryID{"none"}}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("unknown library: got %v, want ErrNotFound", err)
	}
	if _, err := p.Findings(t.Context(), "none"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("unknown findings: got %v, want ErrNotFound", err)
	}
}

func TestDeleteLibrary(t *testing.T) {
	p := newSite(t, "a", "b")
	p.ingest(t, "a", site.Incoming{ID: "d", Text: river}, site.Incoming{ID: "e", Text: garden})
	p.ingest(t, "b", site.Incoming{ID: "d", Text: river})
	last := 0
	if err := p.DeleteLibrary(t.Context(), "a", func(n int) { last = n }); err != nil || last != 2 {
		t.Fatalf("got %v after %d documents, want 2", err, last)
	}
	if got := sources(p.check(t, river+garden, site.CheckOptions{})); !slices.Equal(got, []string{"b/d"}) {
		t.Errorf("sources after deletion: %v", got)
	}
	if err := p.DeleteLibrary(t.Context(), "a", nil); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("again: got %v, want ErrNotFound", err)
	}
}

// TestSourceUnread: a check whose sources cannot be read fails; it does not end with nothing found.
func TestSourceUnread(t *testing.T) {
	p := newSite(t, "theses")
	must(t, p.Ingest(t.Context(), "theses", docs(site.Incoming{ID: "a", Text: river}), func(site.Ingested) error { return nil }))
	p.index.read = errors.New("the disk is broken")
	f, err := p.Check(t.Context(), site.Submission{ID: "essay", Text: river}, site.CheckOptions{})
	if !errors.Is(err, p.index.read) {
		t.Errorf("got %v, %v", f, err)
	}
}
