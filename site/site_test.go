package site_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/segment"
	"concordat/site"
	"concordat/store"
)

func TestIngest(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	ds := []site.Incoming{{ID: "1", Text: sitetest.River + sitetest.Winter}, {ID: "2", Title: "T", Text: sitetest.Garden}}
	for _, c := range []struct {
		name string
		in   []site.Incoming
		want []string
	}{
		{"new", ds, []string{"1:added", "2:added"}},
		{"again", ds, []string{"1:unchanged", "2:unchanged"}},
		{"changed text", []site.Incoming{{ID: "1", Text: sitetest.River}}, []string{"1:replaced"}},
		{"changed title", []site.Incoming{{ID: "2", Title: "U", Text: sitetest.Garden}}, []string{"2:replaced"}},
		{"twice in one go: the later counts", []site.Incoming{{ID: "3", Text: sitetest.River}, {ID: "3", Text: sitetest.Winter}},
			[]string{"3:added"}},
		{"empty text", []site.Incoming{{ID: "4"}}, []string{"4:added"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := p.Add(t, "a", c.in...); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	d, err := p.Index.Document(t.Context(), concordat.Ref{Site: "here", Library: "a", Document: "3"})
	if err != nil || d.Text != sitetest.Winter {
		t.Errorf("document 3: got %v, %v", d, err)
	}
	l, err := p.Store.Catalogue.Library(t.Context(), "a")
	if err != nil || l.Documents != 4 {
		t.Errorf("library: got %+v, %v, want 4 documents", l, err)
	}
}

func TestIngestRefuses(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	for _, c := range []struct {
		name string
		lib  concordat.LibraryID
		in   site.Incoming
		want error
	}{
		{"unknown library", "b", site.Incoming{ID: "1", Text: sitetest.River}, concordat.ErrNotFound},
		{"empty id", "a", site.Incoming{Text: sitetest.River}, concordat.ErrInvalid},
		{"long id", "a", site.Incoming{ID: concordat.DocumentID(strings.Repeat("x", 600)), Text: sitetest.River}, concordat.ErrInvalid},
		{"control in id", "a", site.Incoming{ID: "a\x00b", Text: sitetest.River}, concordat.ErrInvalid},
		{"text not UTF-8", "a", site.Incoming{ID: "1", Text: "\xff\xfe"}, concordat.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := p.Ingest(t.Context(), c.lib, sitetest.Docs(site.Incoming{ID: "good-" + concordat.DocumentID(c.name), Text: sitetest.Garden},
				c.in),
				func(site.Ingested) error { return nil })
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	// Documents added before the fault are kept.
	if got := p.Add(t, "a", site.Incoming{ID: "good-empty id", Text: sitetest.Garden}); !slices.Equal(got,
		[]string{"good-empty id:unchanged"}) {
		t.Errorf("document before the fault: got %v", got)
	}
}

// TestIngestFails: if the index fails, nothing is left in the catalogue, and the same call completes later.
func TestIngestFails(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	p.Index.PutErr = concordat.ErrDiskFull
	d := site.Incoming{ID: "1", Text: sitetest.River}
	if err := p.Ingest(t.Context(), "a", sitetest.Docs(d),
		func(site.Ingested) error { t.Error("told of a document that is not there"); return nil }); !errors.Is(err, concordat.ErrDiskFull) {
		t.Errorf("got %v, want ErrDiskFull", err)
	}
	if _, err := p.Store.Catalogue.DocumentRow(t.Context(), "a", "1"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("catalogue: got %v, want ErrNotFound", err)
	}
	p.Index.PutErr = nil
	if got := p.Add(t, "a", d); !slices.Equal(got, []string{"1:added"}) {
		t.Errorf("got %v", got)
	}
}

func TestIngestCancelled(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := p.Ingest(ctx, "a", func(yield func(site.Incoming, error) bool) {
		for i := range 5000 {
			if !yield(site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: sitetest.River + fmt.Sprint(i)}, nil) {
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
	l, err := p.Store.Catalogue.Library(t.Context(), "a")
	if err != nil || l.Documents < n || l.Documents > 5000 {
		t.Errorf("%d documents in the catalogue (%v), %d acknowledged", l.Documents, err, n)
	}
	rows, err := p.Store.Catalogue.Documents(t.Context(), "a", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if _, err := p.Index.Document(t.Context(), concordat.Ref{Site: "here", Library: "a", Document: r.ID}); err != nil {
			t.Fatalf("catalogued document %s: %v", r.ID, err)
		}
	}
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
	p := sitetest.NewSite(t, "a", "b", "old")
	p.Add(t, "a", site.Incoming{ID: "river", Title: "The river", Text: sitetest.River + sitetest.Winter},
		site.Incoming{ID: "garden", Text: sitetest.Garden})
	p.Add(t, "b", site.Incoming{ID: "copy", Text: "Quite another beginning stands in this document, about nothing. " + sitetest.River},
		site.Incoming{ID: "zh", Text: sitetest.Han})
	p.Add(t, "old", site.Incoming{ID: "river", Text: sitetest.River})
	if err := p.Store.Catalogue.UpdateLibrary(t.Context(), store.Library{ID: "old",
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
		{"copied sentence, all sources", own + sitetest.River + own, site.CheckOptions{}, []string{"a/river", "b/copy"}},
		{"one library", own + sitetest.River, site.CheckOptions{Libraries: []concordat.LibraryID{"b"}}, []string{"b/copy"}},
		{"excluded document", own + sitetest.River, site.CheckOptions{Exclude: []concordat.Ref{ref("b", "copy")}}, []string{"a/river"}},
		{"exact bands", own + sitetest.Garden, site.CheckOptions{Exact: true}, []string{"a/garden"}},
		{"edited", own + strings.Replace(sitetest.Garden, "small botanical", "modest herbal", 1), site.CheckOptions{}, []string{"a/garden"}},
		{"chinese in traditional characters", "我自己寫的話。" + strings.NewReplacer("员", "員", "会", "會", "认", "認", "个", "個", "长",
			"長").Replace(sitetest.Han),
			site.CheckOptions{}, []string{"b/zh"}},
		{"nothing", own, site.CheckOptions{}, nil},
		{"no words", "…", site.CheckOptions{}, nil},
		{"expired library asked by name", sitetest.River, site.CheckOptions{Libraries: []concordat.LibraryID{"old"}}, []string{"old/river"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := p.Found(t, c.text, c.o)
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
			task, err := p.Store.Checks.Task(t.Context(), f.Task)
			if err != nil || task.State != concordat.TaskDone {
				t.Errorf("task: got %+v, %v", task, err)
			}
		})
	}
}

// TestEvidenceIsExact: the spans of both sides cover exactly the copied words.
func TestEvidenceIsExact(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	p.Add(t, "a", site.Incoming{ID: "d", Text: sitetest.Garden + sitetest.River + sitetest.Winter})
	text := "These first words are mine. " + strings.TrimSpace(sitetest.River) + " And so are these last ones."
	f := p.Found(t, text, site.CheckOptions{})
	if len(f.Passages) != 1 {
		t.Fatalf("%d passages, want 1: %+v", len(f.Passages), f.Passages)
	}
	want := strings.TrimRight(strings.TrimSpace(sitetest.River), ".")
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
	p := sitetest.NewSite(t, "a")
	var in []site.Incoming
	for i := range 30 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: sitetest.River +
			fmt.Sprintf("\n\nDocument %d goes on with a sentence that belongs to number %d alone and to no other one.", i, i*7919)})
	}
	p.Add(t, "a", in...)
	rep := report.Build(p.Found(t, "Some words of my own before the common sentence, and they are original. "+sitetest.River,
		site.CheckOptions{}),
		report.Rules{})
	if rep.Scores.Covered > 0.01 || rep.Scores.Common < 0.3 {
		t.Errorf("wording of 30 documents: covered %.2f, common %.2f", rep.Scores.Covered, rep.Scores.Common)
	}
}

func TestCandidatesLeftOutAreSaid(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	var in []site.Incoming
	for i := range 5 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: sitetest.River + fmt.Sprintf("\n\nCopy %d", i)})
	}
	p.Add(t, "a", in...)
	f := p.Found(t, sitetest.River, site.CheckOptions{Candidates: 2})
	if got := sources(f); len(got) != 2 {
		t.Errorf("sources %v, want 2", got)
	}
	if !slices.ContainsFunc(f.Flags, func(g concordat.Flag) bool { return g.Code == "candidates_left_out" && g.Count == 3 }) {
		t.Errorf("flags %+v do not say that 3 were left out", f.Flags)
	}
}

func TestTemplate(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	p.Add(t, "a", site.Incoming{ID: "d", Text: sitetest.River + sitetest.Garden})
	f := p.Found(t, "Abstract\n\n"+sitetest.River+"\n\nReferences\n\n"+sitetest.Garden,
		site.CheckOptions{Template: segment.Templates()["thesis"]})
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

// TestEmptyLibrary: a library without documents is named as such; it does not appear to have been compared.
func TestEmptyLibrary(t *testing.T) {
	p := sitetest.NewSite(t, "a", "b")
	p.Add(t, "a", site.Incoming{ID: "d", Text: sitetest.River})
	f := p.Found(t, sitetest.River, site.CheckOptions{})
	for _, c := range f.Consulted {
		if c.Empty != (c.Library == "b") {
			t.Errorf("library %s: empty %v", c.Library, c.Empty)
		}
	}
	if len(f.Consulted) != 2 {
		t.Errorf("got %d libraries, want 2", len(f.Consulted))
	}
}

func TestPartialAnswerIsSaid(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	p.Add(t, "a", site.Incoming{ID: "d", Text: sitetest.River})
	p.Index.Missing = []concordat.ShardID{"07"}
	f := p.Found(t, sitetest.River, site.CheckOptions{})
	if c := f.Consulted[0]; c.Answered != 0 || !slices.Equal(c.Missing, p.Index.Missing) {
		t.Errorf("consulted %+v does not name the missing shard", c)
	}
	task, err := p.Store.Checks.Task(t.Context(), f.Task)
	if err != nil || task.State != concordat.TaskPartial {
		t.Errorf("task: got %+v, %v, want partial", task, err)
	}
}

func TestFailedCheckIsKept(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	p.Index.MatchErr = concordat.ErrUnavailable
	if _, err := p.Check(t.Context(), site.Submission{ID: "s", Text: sitetest.River}, site.CheckOptions{}); !errors.Is(err,
		concordat.ErrUnavailable) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
	tasks, err := p.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 || tasks[0].State != concordat.TaskFailed || !strings.Contains(tasks[0].Cause.String(), "unavailable") {
		t.Errorf("tasks: got %+v, %v", tasks, err)
	}
}

func TestCheckRefuses(t *testing.T) {
	p := sitetest.NewSite(t)
	for _, s := range []site.Submission{{Text: sitetest.River}, {ID: "s", Text: "\xff"}} {
		if _, err := p.Check(t.Context(), s, site.CheckOptions{}); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%+v: got %v, want ErrInvalid", s, err)
		}
	}
	if _, err := p.Check(t.Context(), site.Submission{ID: "s", Text: sitetest.River},
		site.CheckOptions{Libraries: []concordat.LibraryID{"none"}}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("unknown library: got %v, want ErrNotFound", err)
	}
	if _, err := p.Findings(t.Context(), "none"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("unknown findings: got %v, want ErrNotFound", err)
	}
}

func TestDeleteLibrary(t *testing.T) {
	p := sitetest.NewSite(t, "a", "b")
	p.Add(t, "a", site.Incoming{ID: "d", Text: sitetest.River}, site.Incoming{ID: "e", Text: sitetest.Garden})
	p.Add(t, "b", site.Incoming{ID: "d", Text: sitetest.River})
	last := 0
	if err := p.DeleteLibrary(t.Context(), "a", func(n int) { last = n }); err != nil || last != 2 {
		t.Fatalf("got %v after %d documents, want 2", err, last)
	}
	if got := sources(p.Found(t, sitetest.River+sitetest.Garden, site.CheckOptions{})); !slices.Equal(got, []string{"b/d"}) {
		t.Errorf("sources after deletion: %v", got)
	}
	if err := p.DeleteLibrary(t.Context(), "a", nil); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("again: got %v, want ErrNotFound", err)
	}
}

// TestSourceUnread: a check whose sources cannot be read fails instead of reporting no matches.
func TestSourceUnread(t *testing.T) {
	p := sitetest.NewSite(t, "theses")
	sitetest.Must(t, p.Ingest(t.Context(), "theses", sitetest.Docs(site.Incoming{ID: "a", Text: sitetest.River}),
		func(site.Ingested) error { return nil }))
	p.Index.ReadErr = errors.New("the disk is broken")
	f, err := p.Check(t.Context(), site.Submission{ID: "essay", Text: sitetest.River}, site.CheckOptions{})
	if !errors.Is(err, p.Index.ReadErr) {
		t.Errorf("got %v, %v", f, err)
	}
}
