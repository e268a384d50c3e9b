package batch_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

func TestBatchSeesBothWaysInAnyOrder(t *testing.T) {
	texts := sitetest.Twins()
	names := slices.Sorted(maps.Keys(texts))
	var first []string
	for round, order := range [][]string{names, reversed(names)} {
		p := sitetest.NewSite(t, "theses")
		b := sitetest.NewBatch(t, p, texts, order, batch.Job{})
		v := b.Run(t)
		if v.State != concordat.TaskDone || v.Cause.String() != "1 of 6 documents could not be read" {
			t.Errorf("ended as %s: %s", v.State, v.Cause)
		}
		if len(v.Pairs) != 2 || len(v.Clusters) != 2 || len(v.Unread()) != 1 {
			t.Fatalf("%d pairs, %d clusters, %d unread: %v", len(v.Pairs), len(v.Clusters), len(v.Unread()), sitetest.Said(v))
		}
		if round == 0 {
			first = sitetest.Said(v)
		} else if d := cmp.Diff(first, sitetest.Said(v)); d != "" {
			t.Errorf("in another order: %s", d)
		}
		for _, m := range v.Members {
			other := map[string]string{"a.txt": "b.txt", "b.txt": "a.txt", "c.txt": "d.txt", "d.txt": "c.txt"}[m.Name]
			if !m.Cause.IsZero() {
				continue
			}
			f, err := b.Findings(t.Context(), m.Task)
			if err != nil {
				t.Fatal(err)
			}
			var seen []string
			for _, s := range report.Build(f, report.Rules{}).Sources {
				if id, ok := s.Library.Batch(); !ok || id != b.BatchID {
					t.Errorf("%s: a source in %s", m.Name, s.Library)
				}
				seen = append(seen, string(s.Document))
			}
			if want := strings.Fields(other); !slices.Equal(seen, want) {
				t.Errorf("%s sees %v, want %v", m.Name, seen, want)
			}
			for _, x := range f.Passages {
				if texts[other][x.SourceSpan.Start:x.SourceSpan.End] != x.Text {
					t.Errorf("%s: the source's span does not hold its text", m.Name)
				}
				for _, w := range x.Words {
					if here, there := w.Span.In(texts[m.Name]), w.Source.In(texts[other]); !strings.EqualFold(here, there) {
						t.Errorf("%s: %q is paired with %q", m.Name, here, there)
					}
				}
			}
		}
	}
}

func reversed(in []string) []string {
	out := slices.Clone(in)
	slices.Reverse(out)
	return out
}

// TestBatchGoesOn interrupts a batch repeatedly. The result must be the same as without interruptions, and nothing may be done twice.
func TestBatchGoesOn(t *testing.T) {
	texts := sitetest.Twins()
	names := slices.Sorted(maps.Keys(texts))
	p := sitetest.NewSite(t, "theses")
	p.Add(t, "theses", site.Incoming{ID: "old", Text: texts["e.txt"]})
	want := sitetest.Said(sitetest.NewBatch(t, p, texts, names, batch.Job{}).Run(t))
	b := sitetest.NewBatch(t, p, texts, names, batch.Job{})
	for stops := 0; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		o := b.BatchOptions
		steps := 0
		o.Progress = func(string, int, int) {
			if steps++; steps > 3 {
				cancel()
			}
		}
		o.Store = b.Store
		var mu sync.Mutex
		progress := o.Progress
		o.Progress = func(s string, d, n int) { mu.Lock(); defer mu.Unlock(); progress(s, d, n) }
		err := batch.Run(ctx, b.Site, b.BatchID, o)
		cancel()
		if err == nil {
			if stops < 2 {
				t.Fatalf("it was cut short %d times only", stops)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if stops > 40 {
			t.Fatal("it never ends")
		}
	}
	v := b.View(t)
	if d := cmp.Diff(want, sitetest.Said(v)); d != "" {
		t.Error(d)
	}
	tasks, err := b.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	of := 0
	for _, x := range tasks {
		if x.Batch == b.BatchID {
			of++
			if x.State != concordat.TaskDone || x.Attempts != 1 {
				t.Errorf("task %s: %s after %d attempts", x.ID, x.State, x.Attempts)
			}
		}
	}
	if of != 5 {
		t.Errorf("%d tasks, want 5", of)
	}
	// Another run does not read or check finished work again.
	if err := b.Store.Batches.ReopenBatch(t.Context(), b.BatchID, "test", false); err != nil {
		t.Fatal(err)
	}
	before := maps.Clone(b.Read)
	o := b.BatchOptions
	o.Options = func(context.Context, batch.Job) (site.CheckOptions, func(), error) {
		return site.CheckOptions{}, nil, errors.New("nothing is left to check")
	}
	if err := batch.Run(t.Context(), b.Site, b.BatchID, o); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, b.Read); d != "" {
		t.Errorf("files were read again: %s", d)
	}
}

func TestBatchLineage(t *testing.T) {
	p := sitetest.NewSite(t, "theses")
	j := batch.Job{Manifest: []batch.ManifestLine{{File: "a.txt", Author: "Ann Lee; Bo"}, {File: "b.txt", Author: "ann  lee"},
		{File: "d.txt", DraftOf: "c.txt"}, {File: "gone.txt"}}}
	texts := sitetest.Twins()
	b := sitetest.NewBatch(t, p, texts, slices.Sorted(maps.Keys(texts)), j)
	v := b.Run(t)
	if len(v.Clusters) != 0 || len(v.Pairs) != 2 {
		t.Fatalf("clusters %v of pairs %v", v.Clusters, sitetest.Said(v))
	}
	reasons := map[string]string{}
	for _, l := range v.PairLines() {
		reasons[l.A] = l.Reason
	}
	if d := cmp.Diff(map[string]string{"a.txt": "author", "c.txt": "draft"}, reasons); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"gone.txt"}, batch.Strays(v.Job.Manifest, v.Members)); d != "" {
		t.Error(d)
	}
	share := func() (out []float64) {
		for _, m := range b.View(t).Members[:4] {
			out = append(out, m.Share)
		}
		return out
	}
	if s := share(); slices.Max(s) > 0 {
		t.Errorf("shares %v of pairs that do not count", s)
	}
	// Each of the two sets of rules can be undone, and the reports change accordingly.
	if err := batch.SetLineage(t.Context(), p.Site, p.Store, b.BatchID, "officer", batch.LineageRules{Draft: true},
		report.Rules{}); err != nil {
		t.Fatal(err)
	}
	if s := share(); s[0] < 0.3 || s[1] < 0.3 || s[2] > 0 || s[3] > 0 {
		t.Errorf("shares %v when authors count", s)
	}
	if v = b.View(t); len(v.Clusters) != 1 {
		t.Errorf("clusters %v", v.Clusters)
	}
	c, d := v.Members[2].Number, v.Members[3].Number
	if err := batch.SetVerdict(t.Context(), p.Site, p.Store, b.BatchID, "officer", c, d, store.VerdictCount, "not a draft",
		report.Rules{}); err != nil {
		t.Fatal(err)
	}
	if s := share(); s[2] == 0 || s[3] == 0 {
		t.Errorf("shares %v when somebody has the pair count", s)
	}
	if err := batch.SetVerdict(t.Context(), p.Site, p.Store, b.BatchID, "officer", c, d, "", "", report.Rules{}); err != nil {
		t.Fatal(err)
	}
	if err := batch.SetLineage(t.Context(), p.Site, p.Store, b.BatchID, "officer", batch.DefaultLineage(), report.Rules{}); err != nil {
		t.Fatal(err)
	}
	if s := share(); slices.Max(s) > 0 {
		t.Errorf("shares %v after all was taken back", s)
	}
	events, err := p.Store.Batches.BatchEvents(t.Context(), b.BatchID)
	if err != nil || len(events) != 4 {
		t.Fatalf("events %v, %v", events, err)
	}
	slices.SortStableFunc(events, func(x, y store.BatchEvent) int { return strings.Compare(x.Text, y.Text) })
	var verdicts []string
	for _, e := range events {
		if strings.HasPrefix(e.Action, "pair_") {
			verdicts = append(verdicts, e.Text)
		}
	}
	if d := cmp.Diff([]string{"c.txt – d.txt", "c.txt – d.txt: not a draft"}, verdicts); d != "" {
		t.Errorf("what was said of the pair: %s", d)
	}
	// The computer's name is in every file; this excuses nothing unless a person says so.
	rules := batch.LineageRules{Author: true}
	x, y := store.BatchMember{Author: "Computer", AuthorBy: store.AuthorMetadata},
		store.BatchMember{Author: "computer", AuthorBy: store.AuthorMetadata}
	if got := rules.Lineage(&x, &y); got != "" {
		t.Errorf("metadata excuse: %s", got)
	}
	if rules.Metadata = true; rules.Lineage(&x, &y) != batch.LineageAuthor {
		t.Error("metadata do not count when they shall")
	}
}

func TestLineage(t *testing.T) {
	all := batch.DefaultLineage()
	declared := func(author, title string, date concordat.Date) store.BatchMember {
		return store.BatchMember{Author: author, AuthorBy: store.AuthorDeclared, Title: title, Dated: date}
	}
	for name, c := range map[string]struct {
		a, b store.BatchMember
		want string
	}{
		"strangers":      {declared("Ann", "T", ""), declared("Bo", "T", ""), ""},
		"no author":      {declared("", "T", ""), declared("", "T", ""), ""},
		"author":         {declared("Ann; Bo", "T", ""), declared("Cy;bo", "U", ""), batch.LineageAuthor},
		"later":          {declared("Ann", "T", "2023"), declared("ann", " t", "2024-02"), batch.LineageDraft},
		"no titles":      {declared("Ann", "", "2023"), declared("ann", "", "2024-02"), batch.LineageAuthor},
		"perhaps later":  {declared("Ann", "T", "2024"), declared("ann", "t", "2024-02"), batch.LineageAuthor},
		"group":          {store.BatchMember{Group: "G1"}, store.BatchMember{Group: "g1"}, batch.LineageGroup},
		"no group":       {store.BatchMember{}, store.BatchMember{}, ""},
		"draft by name":  {store.BatchMember{Name: "x.zip!/1/a.txt"}, store.BatchMember{Name: "b.txt", DraftOf: "a.txt"}, batch.LineageDraft},
		"draft of other": {store.BatchMember{Name: "c.txt"}, store.BatchMember{Name: "b.txt", DraftOf: "a.txt"}, ""},
	} {
		if x, y := all.Lineage(&c.a, &c.b), all.Lineage(&c.b, &c.a); x != c.want || y != c.want {
			t.Errorf("%s: %q and %q, want %q", name, x, y, c.want)
		}
		if none := (batch.LineageRules{}).Lineage(&c.a, &c.b); none != "" {
			t.Errorf("%s: %q by no rule", name, none)
		}
	}
}

func TestParseManifest(t *testing.T) {
	want := []batch.ManifestLine{{File: "a.txt", Author: "Ann, Lee", Group: "g", DraftOf: "b.txt", Date: "2024-01"}, {File: "b.txt"}}
	for name, text := range map[string]string{
		"commas": "\ufefffile,Author,group,draft-of,date,colour\r\na.txt,\"Ann, Lee\",g,b.txt,2024-01,red\r\nb.txt\r\n",
		"tabs":   "file\tauthor\tgroup\tdraft_of\tdate\na.txt\tAnn, Lee\tg\tb.txt\t2024-01\nb.txt\n",
		"semi":   "file;author;group;draft_of;date\na.txt;Ann, Lee;g;b.txt;2024-01\nb.txt\n",
	} {
		got, err := batch.ParseManifest(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	got, err := batch.ParseManifest(strings.NewReader("file,date\na.txt,2026-05-31 14:03 +02:00\nb.txt,2026-05-31T12:04:05Z\n"))
	timed := []batch.ManifestLine{{File: "a.txt", Date: "2026-05-31", Time: "2026-05-31T14:03+02:00"},
		{File: "b.txt", Date: "2026-05-31", Time: "2026-05-31T12:04:05Z"}}
	if d := cmp.Diff(timed, got); d != "" || err != nil {
		t.Errorf("times: %v %s", err, d)
	}
	for _, text := range []string{"", "name,author\na,b\n", "file\n\"\n", "file,date\na,yesterday\n", "file\na\na\n", "file,author\n,x\n"} {
		if _, err := batch.ParseManifest(strings.NewReader(text)); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add("file,author\na,b\n")
	f.Add("file\tdate\r\nx\t2024\r\n")
	f.Add("\ufefffile;x\n\"a\nb\";")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := batch.ParseManifest(strings.NewReader(text))
		if err != nil && !errors.Is(err, concordat.ErrInvalid) {
			t.Fatal(err)
		}
		for _, l := range lines {
			if err == nil && (l.File == "" || l.Date.Validate() != nil) {
				t.Fatalf("line %+v", l)
			}
		}
	})
}

// TestRecheck repeats a batch and a check on a date, and requires that they name the new source.
func TestRecheck(t *testing.T) {
	p := sitetest.NewSite(t, "theses")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pr, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := site.New(site.Options{ID: "here", Index: p.Index, Store: p.Store, Profiler: pr, Now: func() time.Time { return now }})
	texts := map[string]string{"a.txt": sitetest.Prose(1, 20), "b.txt": sitetest.Prose(2, 20)}
	b := sitetest.NewBatch(t, p, texts, []string{"a.txt", "b.txt"}, batch.Job{})
	b.Run(t)
	f := p.Found(t, texts["a.txt"], site.CheckOptions{})
	q := s.NewQueue(site.QueueOptions{Store: p.Store, Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
		return site.CheckOptions{Libraries: j.Libraries}, nil, nil
	}})
	all := batch.NewQueue(s, batch.QueueOptions{Store: p.Store, Queue: q, Read: b.BatchOptions.Read, Options: b.BatchOptions.Options,
		Rules: func() report.Rules { return report.Rules{} },
		Open: func(context.Context, string) (concordat.Index, func() error, error) {
			return b.Index, func() error { return nil }, nil
		}})
	next, err := batch.RecheckTime(now, 7, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []store.Recheck{{Kind: store.RecheckBatch, Target: b.BatchID, Every: 7, Next: next},
		{Kind: store.RecheckCheck, Target: string(f.Task), Every: 7, Next: next}} {
		if err := p.Store.Alerts.PutRecheck(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	p.Add(t, "theses", site.Incoming{ID: "leaked", Title: "Leaked", Text: texts["a.txt"]})
	step := func() {
		t.Helper()
		if err := all.Rechecks(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if v := b.View(t); v.Round != 1 {
		t.Fatal("it was done before its time")
	}
	now = now.AddDate(0, 0, 8)
	step()
	step() // running work is not started twice
	if v := b.View(t); v.Round != 2 || v.State != concordat.TaskQueued {
		t.Fatalf("round %d, %s", v.Round, v.State)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- q.Run(ctx) }()
	go func() { done <- all.Run(ctx) }()
	defer func() { cancel(); <-done; <-done }()
	for _, r := range []struct{ kind, target string }{{store.RecheckBatch, b.BatchID}, {store.RecheckCheck, string(f.Task)}} {
		var got store.Recheck
		for {
			step()
			if got, err = p.Store.Alerts.Recheck(t.Context(), r.kind, r.target); err != nil {
				t.Fatal(err)
			}
			if got.Due == "" {
				break
			}
			select {
			case <-t.Context().Done():
				t.Fatal("it does not end")
			case <-time.After(20 * time.Millisecond): // check again
			}
		}
		if !strings.Contains(string(got.Fresh), `"title":"Leaked"`) || got.Ran.IsZero() || !got.Next.After(now) {
			t.Errorf("%s: %s, next %s", r.kind, got.Fresh, got.Next)
		}
	}
	v := b.View(t)
	if v.Round != 2 || !strings.Contains(string(v.Members[0].Fresh), "leaked") || string(v.Members[1].Fresh) != "[]" {
		t.Errorf("round %d: %s, %s", v.Round, v.Members[0].Fresh, v.Members[1].Fresh)
	}
	if n := b.Read["a.txt"]; n != 1 {
		t.Errorf("the file was read %d times", n)
	}
}

func TestRecheckTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if next, err := batch.RecheckTime(now, 0, "2026-05-02"); err != nil || !next.Equal(time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%s, %v", next, err)
	}
	for _, c := range []struct {
		every int
		on    string
	}{{-1, ""}, {0, ""}, {5, "soon"}, {100_000, ""}} {
		if _, err := batch.RecheckTime(now, c.every, c.on); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
