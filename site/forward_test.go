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
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

const (
	glacier = "Glaciologists drilled an ice core from the Vostok plateau and dated volcanic ash layers in it by argon isotopes. "
	bakery  = "Bakers of the lower town petitioned the magistrate against millers who mixed chalk and sawdust into rye flour. "
	orchard = "Pears grafted upon quince rootstock bear fruit two summers earlier than those that are raised from seedlings. "
	foundry = "The bell founder melted copper and tin in a clay furnace whose bellows were driven by a small undershot wheel. "
)

// here returns a site with an own library that holds own.
func here(t *testing.T, own string) *parts {
	p := newSite(t, "a")
	if own != "" {
		p.ingest(t, "a", site.Incoming{ID: "own", Title: "own", Text: own})
	}
	return p
}

// from returns the sources of the passages, as site/title, each once, sorted.
func from(f *report.Findings) []string {
	var out []string
	for _, p := range f.Passages {
		out = append(out, string(p.Source.Site)+"/"+p.Title)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func line(t *testing.T, f *report.Findings, site concordat.SiteID, lib concordat.LibraryID) concordat.Consulted {
	t.Helper()
	for _, c := range f.Consulted {
		if c.Site == site && c.Library == lib {
			return c
		}
	}
	t.Fatalf("no line for %s/%s in %+v", site, lib, f.Consulted)
	return concordat.Consulted{}
}

// TestForward: which sentences are asked, and that what is found anywhere is in one report.
func TestForward(t *testing.T) {
	text := river + "\n\n" + glacier + bakery + "\n\n" + orchard + foundry
	for forward, want := range map[string]struct {
		asked   bool
		sources []string
	}{
		site.ForwardAll:       {true, []string{"here/own", "north/Title of both", "north/Title of ice"}},
		site.ForwardUnmatched: {true, []string{"here/own", "north/Title of ice"}},
		site.ForwardNone:      {false, []string{"here/own"}},
	} {
		t.Run(forward, func(t *testing.T) {
			p := here(t, river+winter)
			north := newPartner(t, "north")
			north.put(t, "lib", "both", river+winter)
			north.put(t, "lib", "ice", glacier+bakery)
			f := p.check(t, text, site.CheckOptions{Forward: forward, Partners: []site.PartnerLibraries{north.libraries("lib")}})
			if got := from(f); !slices.Equal(got, want.sources) {
				t.Errorf("sources %v, want %v", got, want.sources)
			}
			if f.Forward != forward {
				t.Errorf("findings say %q", f.Forward)
			}
			if !want.asked {
				if len(north.asks) > 0 {
					t.Error("a partner was asked")
				}
				return
			}
			c := line(t, f, "north", "lib")
			if c.Asked == 0 || c.Answered != c.Asked || c.Exposed.Sentences != c.Asked || c.Level != concordat.ShowMetadata ||
				c.Epoch != "test/1" || !c.Shown.Exists {
				t.Errorf("line %+v", c)
			}
			if n := len(north.asks[0].Sentences); n != c.Asked {
				t.Errorf("%d sentences asked, the line says %d", n, c.Asked)
			}
			if i := slices.IndexFunc(f.Partners, func(s report.PartnerSource) bool { return s.Title == "Title of ice" }); i < 0 ||
				f.Partners[i].Contact != "librarian@north" {
				t.Errorf("partners' sources %+v", f.Partners)
			}
			for _, g := range f.Passages {
				if g.Source.Site == "north" && (g.Text != "" || g.Kind == concordat.KindVerbatim) {
					t.Errorf("a passage without outline has text or is called word for word: %+v", g)
				}
			}
		})
	}
}

// TestUnmatchedRule: a sentence is asked unless half of it stands in a passage found here.
func TestUnmatchedRule(t *testing.T) {
	p := here(t, river)
	north := newPartner(t, "north")
	p.check(t, river+"\n\n"+glacier, site.CheckOptions{Partners: []site.PartnerLibraries{north.libraries("lib")}})
	all := newPartner(t, "all")
	p.check(t, river+"\n\n"+glacier, site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{all.libraries("lib")}})
	q, err := north.profiler.Profile(concordat.Document{Text: river + "\n\n" + glacier}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []concordat.Fingerprint
	for _, s := range q.Questions() {
		inRiver := min(s.Span.End, len(river)) - s.Span.Start
		if 2*inRiver < s.Span.Len() {
			want = append(want, s.Fingerprint)
		}
	}
	var got []concordat.Fingerprint
	for _, s := range north.asks[0].Sentences {
		got = append(got, s.Fingerprint)
	}
	for _, fs := range [][]concordat.Fingerprint{got, want} {
		slices.SortFunc(fs, func(a, b concordat.Fingerprint) int { return strings.Compare(a.String(), b.String()) })
	}
	if !slices.Equal(got, want) || len(want) == 0 || len(all.asks[0].Sentences) <= len(got) {
		t.Errorf("asked %d of %d sentences, want %d", len(got), len(all.asks[0].Sentences), len(want))
	}
}

// TestPartnersThatFail: whatever a partner does, the check ends, says so, and has what others told.
func TestPartnersThatFail(t *testing.T) {
	garbage := func(f func(*concordat.SiteAnswer)) func(*partner) { return func(p *partner) { p.mangle = f } }
	for name, c := range map[string]struct {
		spoil  func(*partner)
		reason concordat.Reason
		words  string
	}{
		"silent": {func(p *partner) { p.silent = true }, concordat.ReasonBusy, "no answer within 50ms"},
		"refuses": {func(p *partner) {
			p.refuse = &concordat.Refusal{Reason: concordat.ReasonPurpose, Words: "theses\x1b[2J only"}
		}, concordat.ReasonPurpose, "not open for this purpose: theses [2J only"},
		"other scheme": {func(p *partner) { p.refuse = &concordat.Refusal{Reason: concordat.ReasonScheme} }, concordat.ReasonScheme,
			"made another way"},
		"refuses library": {func(p *partner) {
			p.library = map[concordat.LibraryID]*concordat.Refusal{"lib": {Reason: concordat.ReasonBudget}}
		}, concordat.ReasonBudget, "used up"},
		"no libraries":     {garbage(func(t *concordat.SiteAnswer) { t.Libraries = nil }), concordat.ReasonFault, "could not be read"},
		"sentence":         {garbage(func(t *concordat.SiteAnswer) { t.Hits[0].Sentence = 1 << 30 }), concordat.ReasonFault, "could not be read"},
		"negative":         {garbage(func(t *concordat.SiteAnswer) { t.Hits[0].Document = -1 }), concordat.ReasonFault, "could not be read"},
		"document":         {garbage(func(t *concordat.SiteAnswer) { t.Documents = nil }), concordat.ReasonFault, "could not be read"},
		"library of a doc": {garbage(func(t *concordat.SiteAnswer) { t.Documents[0].Library = 7 }), concordat.ReasonFault, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t, river)
			bad, good := newPartner(t, "bad"), newPartner(t, "good")
			for _, x := range []*partner{bad, good} {
				x.put(t, "lib", "ice", glacier+bakery)
			}
			c.spoil(bad)
			slow := bad.libraries("lib")
			if name == "silent" {
				slow.Deadline = 50 * time.Millisecond
			}
			var states []string
			f := p.check(t, river+"\n\n"+glacier+bakery, site.CheckOptions{Partners: []site.PartnerLibraries{slow, good.libraries("lib")},
				Progress: func(g site.Progress) {
					if g.Stage == "partner" {
						states = append(states, fmt.Sprintf("%s %s", g.Partner, g.State))
					}
				}})
			if got := from(f); !slices.Equal(got, []string{"good/Title of ice", "here/own"}) {
				t.Errorf("sources %v", got)
			}
			l := line(t, f, "bad", "lib")
			if l.Reason != c.reason || !strings.Contains(l.Err, c.words) || l.Answered != 0 || l.Exposed.Sentences == 0 {
				t.Errorf("line %+v", l)
			}
			task, err := p.store.Checks.Task(t.Context(), f.Task)
			if err != nil || task.State != concordat.TaskPartial {
				t.Errorf("task %+v, %v", task.Task, err)
			}
			alarmed(t, p, "bad", c.words == "could not be read")
			alarmed(t, p, "good", false)
			end := "bad refused"
			switch c.reason {
			case concordat.ReasonBusy:
				end = "bad silent"
			case concordat.ReasonFault:
				end = "bad failed"
			}
			if !slices.Contains(states, "good done") || !slices.Contains(states, "bad asked") || !slices.Contains(states, end) {
				t.Errorf("states %v, want %s", states, end)
			}
		})
	}
}

// alarmed fails unless there is an alarm about false answers of a partner, or none.
func alarmed(t *testing.T, p *parts, partner concordat.SiteID, want bool) {
	t.Helper()
	as, err := p.store.Partners.PartnerAlarms(t.Context(), partner, 0)
	must(t, err)
	if want != (len(as) == 1 && as[0].Kind == store.AlarmFalse) || !want && len(as) > 0 {
		t.Errorf("alarms about %s: %+v, want one of false answers: %v", partner, as, want)
	}
}

// TestPartialAnswersCanBeRead: while one partner is silent the findings of the others are there.
func TestPartialAnswersCanBeRead(t *testing.T) {
	p := here(t, river)
	silent, good := newPartner(t, "silent"), newPartner(t, "good")
	silent.silent = true
	good.put(t, "lib", "ice", glacier+bakery)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	answered := make(chan struct{})
	go func() {
		_, err := p.Check(ctx, site.Submission{ID: "s", Text: river + "\n\n" + glacier + bakery}, site.CheckOptions{
			Partners: []site.PartnerLibraries{silent.libraries("lib"), good.libraries("lib")},
			Progress: func(g site.Progress) {
				if g.Partner == "good" && g.State == site.PartnerDone {
					close(answered)
				}
			}})
		done <- err
	}()
	<-answered
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	var f *report.Findings
	for f == nil || !slices.Contains(from(f), "good/Title of ice") {
		tasks, err := p.store.Checks.Tasks(t.Context(), 0, 0)
		if err != nil || len(tasks) != 1 {
			t.Fatalf("tasks %v, %v", tasks, err)
		}
		f, err = p.Findings(t.Context(), tasks[0].ID)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) { // kept every now and then
			t.Fatal(err)
		}
		<-poll.C
	}
	if l := line(t, f, "silent", "lib"); !strings.Contains(l.Err, "not answered yet") {
		t.Errorf("line %+v", l)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled check: %v", err)
	}
}

// TestManySentences: what is too much for one ask goes in several, and a failure in the middle keeps
// what came before.
func TestManySentences(t *testing.T) {
	p := here(t, "")
	north := newPartner(t, "north")
	north.put(t, "lib", "ice", glacier+bakery)
	north.put(t, "lib", "pear", orchard+foundry)
	text := strings.Join([]string{glacier + bakery, orchard + foundry, winter + garden, river}, "\n\n")
	l := north.libraries("lib")
	l.MaxAsked = 2
	f := p.check(t, text, site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{l}})
	if got := from(f); !slices.Equal(got, []string{"north/Title of ice", "north/Title of pear"}) {
		t.Errorf("sources %v", got)
	}
	jobs, asked := map[concordat.JobID]bool{}, 0
	for _, a := range north.asks {
		if len(a.Sentences) > 2 || jobs[a.Job] {
			t.Errorf("ask of %d sentences, or a job twice", len(a.Sentences))
		}
		jobs[a.Job] = true
		asked += len(a.Sentences)
	}
	if c := line(t, f, "north", "lib"); c.Asked != asked || c.Answered != asked || len(north.asks) < 2 {
		t.Errorf("%d asks of %d sentences, line %+v", len(north.asks), asked, c)
	}
	n := 0
	north.mangle = func(x *concordat.SiteAnswer) {
		if n++; n == 2 {
			x.Libraries = nil
		}
	}
	c := line(t, p.check(t, text, site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{l}}), "north", "lib")
	if c.Answered != 2 || c.Exposed.Sentences != 4 || c.Err == "" || c.Asked != asked {
		t.Errorf("after a failure in the middle: %+v", c)
	}
}

// TestNeverTwoSketches: a sentence that a partner has seen under one key is not shown under another.
func TestNeverTwoSketches(t *testing.T) {
	p := here(t, "")
	north := newPartner(t, "north")
	text := glacier + "\n\n" + bakery
	o := site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{north.libraries("lib")}}
	first := line(t, p.check(t, text, o), "north", "lib")
	again := line(t, p.check(t, text, o), "north", "lib")
	if first.Withheld+again.Withheld > 0 || again.Asked != first.Asked {
		t.Errorf("under the same key: %+v, then %+v", first, again)
	}
	next := north.libraries("lib")
	next.Epoch.Number = 2
	next.Profiler = keyed(t, []byte("the key of the next period, 32 B"))
	north.index.Scheme = next.Profiler.Scheme()
	f := p.check(t, text+"\n\n"+orchard, site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{next}})
	c := line(t, f, "north", "lib")
	if c.Withheld == 0 || c.Asked == 0 || c.Asked+c.Withheld <= first.Asked {
		t.Errorf("under another key: %+v", c)
	}
	for _, s := range north.asks[len(north.asks)-1].Sentences {
		q, err := next.Profiler.Profile(concordat.Document{Text: text + "\n\n" + orchard}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range q.Questions() {
			if x.Fingerprint == s.Fingerprint && x.Span.End <= len(glacier) {
				t.Error("a sentence was shown under two keys")
			}
		}
	}
	if words := report.ConsultedWords(c); !strings.Contains(words, "Not sent") {
		t.Errorf("the line does not say so: %s", words)
	}
	other := newPartner(t, "south")
	if c := line(t, p.check(t, text, site.CheckOptions{Forward: site.ForwardAll,
		Partners: []site.PartnerLibraries{other.libraries("lib")}}), "south", "lib"); c.Withheld != 0 {
		t.Errorf("another partner: %+v", c)
	}
}

// TestAskedLevels: below metadata nothing but that something matches, or how much, is told, and said.
func TestAskedLevels(t *testing.T) {
	for level, want := range map[concordat.Show]string{concordat.ShowExists: "something matches", concordat.ShowCounts: "1 document"} {
		p := here(t, "")
		north := newPartner(t, "north")
		north.level = level
		north.put(t, "lib", "ice", glacier+bakery)
		f := p.check(t, glacier+bakery, site.CheckOptions{Partners: []site.PartnerLibraries{north.libraries("lib")}})
		if len(f.Passages) != 0 || len(f.Partners) != 0 {
			t.Errorf("%s: passages %+v", level, f.Passages)
		}
		if !slices.ContainsFunc(f.Flags, func(x concordat.Flag) bool { return x.Code == "matches_not_shown" }) {
			t.Errorf("%s: flags %+v", level, f.Flags)
		}
		c := line(t, f, "north", "lib")
		if words := report.ConsultedWords(c); !strings.Contains(words, want) {
			t.Errorf("%s: %s", level, words)
		}
		if h := report.Build(f, report.Rules{}).Headline(); strings.HasPrefix(h, "No matching passage was found in what was asked") {
			t.Errorf("%s: headline %q hides that a partner has matches", level, h)
		}
	}
}
