package ask_test

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
	"concordat/site"
	"concordat/store"
)

// TestForward: the right sentences are asked about, and one report contains everything found anywhere.
func TestForward(t *testing.T) {
	text := sitetest.River + "\n\n" + sitetest.Glacier + sitetest.Bakery + "\n\n" + sitetest.Orchard + sitetest.Foundry
	for forward, want := range map[string]struct {
		asked   bool
		sources []string
	}{
		site.ForwardAll:       {true, []string{"here/own", "north/Title of both", "north/Title of ice"}},
		site.ForwardUnmatched: {true, []string{"here/own", "north/Title of ice"}},
		site.ForwardNone:      {false, []string{"here/own"}},
	} {
		t.Run(forward, func(t *testing.T) {
			p := sitetest.NewHere(t, sitetest.River+sitetest.Winter)
			north := sitetest.NewPartner(t, "north")
			north.Put(t, "lib", "both", sitetest.River+sitetest.Winter)
			north.Put(t, "lib", "ice", sitetest.Glacier+sitetest.Bakery)
			f := p.Found(t, text, site.CheckOptions{Forward: forward, Partners: []site.PartnerLibraries{north.Libraries("lib")}})
			if got := sitetest.FoundAt(f); !slices.Equal(got, want.sources) {
				t.Errorf("sources %v, want %v", got, want.sources)
			}
			if f.Forward != forward {
				t.Errorf("findings say %q", f.Forward)
			}
			if !want.asked {
				if len(north.Asks) > 0 {
					t.Error("a partner was asked")
				}
				return
			}
			c := sitetest.LineOf(t, f, "north", "lib")
			if c.Asked == 0 || c.Answered != c.Asked || c.Exposed.Sentences != c.Asked || c.Level != concordat.ShowMetadata ||
				c.Epoch != "test/1" || !c.Shown.Exists {
				t.Errorf("line %+v", c)
			}
			if n := len(north.Asks[0].Sentences); n != c.Asked {
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

// TestUnmatchedRule: a sentence is asked about unless half of it lies in a passage found here.
func TestUnmatchedRule(t *testing.T) {
	p := sitetest.NewHere(t, sitetest.River)
	north := sitetest.NewPartner(t, "north")
	p.Found(t, sitetest.River+"\n\n"+sitetest.Glacier, site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")}})
	all := sitetest.NewPartner(t, "all")
	p.Found(t, sitetest.River+"\n\n"+sitetest.Glacier, site.CheckOptions{Forward: site.ForwardAll,
		Partners: []site.PartnerLibraries{all.Libraries("lib")}})
	q, err := north.Profiler.Profile(concordat.Document{Text: sitetest.River + "\n\n" + sitetest.Glacier}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []concordat.Fingerprint
	for _, s := range q.Questions() {
		inRiver := min(s.Span.End, len(sitetest.River)) - s.Span.Start
		if 2*inRiver < s.Span.Len() {
			want = append(want, s.Fingerprint)
		}
	}
	var got []concordat.Fingerprint
	for _, s := range north.Asks[0].Sentences {
		got = append(got, s.Fingerprint)
	}
	for _, fs := range [][]concordat.Fingerprint{got, want} {
		slices.SortFunc(fs, func(a, b concordat.Fingerprint) int { return strings.Compare(a.String(), b.String()) })
	}
	if !slices.Equal(got, want) || len(want) == 0 || len(all.Asks[0].Sentences) <= len(got) {
		t.Errorf("asked %d of %d sentences, want %d", len(got), len(all.Asks[0].Sentences), len(want))
	}
}

// TestPartnersThatFail: whatever a partner does, the check ends, reports the failure, and includes the other partners' answers.
func TestPartnersThatFail(t *testing.T) {
	garbage := func(f func(*concordat.SiteAnswer)) func(*sitetest.Partner) {
		return func(p *sitetest.Partner) { p.Mangle = f }
	}
	for name, c := range map[string]struct {
		spoil  func(*sitetest.Partner)
		reason concordat.Reason
		words  string
	}{
		"silent": {func(p *sitetest.Partner) { p.Silent = true }, concordat.ReasonBusy, "no answer within 50ms"},
		"refuses": {func(p *sitetest.Partner) {
			p.Refuse = &concordat.Refusal{Reason: concordat.ReasonPurpose, Words: "theses\x1b[2J only"}
		}, concordat.ReasonPurpose, "not open for this purpose: theses [2J only"},
		"other scheme": {func(p *sitetest.Partner) { p.Refuse = &concordat.Refusal{Reason: concordat.ReasonScheme} }, concordat.ReasonScheme,
			"uses a different fingerprint scheme"},
		"refuses library": {func(p *sitetest.Partner) {
			p.Library = map[concordat.LibraryID]*concordat.Refusal{"lib": {Reason: concordat.ReasonBudget}}
		}, concordat.ReasonBudget, "used up"},
		"no libraries":     {garbage(func(t *concordat.SiteAnswer) { t.Libraries = nil }), concordat.ReasonFault, "could not be read"},
		"sentence":         {garbage(func(t *concordat.SiteAnswer) { t.Hits[0].Sentence = 1 << 30 }), concordat.ReasonFault, "could not be read"},
		"negative":         {garbage(func(t *concordat.SiteAnswer) { t.Hits[0].Document = -1 }), concordat.ReasonFault, "could not be read"},
		"document":         {garbage(func(t *concordat.SiteAnswer) { t.Documents = nil }), concordat.ReasonFault, "could not be read"},
		"library of a doc": {garbage(func(t *concordat.SiteAnswer) { t.Documents[0].Library = 7 }), concordat.ReasonFault, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			p := sitetest.NewHere(t, sitetest.River)
			bad, good := sitetest.NewPartner(t, "bad"), sitetest.NewPartner(t, "good")
			for _, x := range []*sitetest.Partner{bad, good} {
				x.Put(t, "lib", "ice", sitetest.Glacier+sitetest.Bakery)
			}
			c.spoil(bad)
			slow := bad.Libraries("lib")
			if name == "silent" {
				slow.Deadline = 50 * time.Millisecond
			}
			var states []string
			f := p.Found(t, sitetest.River+"\n\n"+sitetest.Glacier+sitetest.Bakery,
				site.CheckOptions{Partners: []site.PartnerLibraries{slow, good.Libraries("lib")},
					Progress: func(g site.Progress) {
						if g.Stage == "partner" {
							states = append(states, fmt.Sprintf("%s %s", g.Partner, g.State))
						}
					}})
			if got := sitetest.FoundAt(f); !slices.Equal(got, []string{"good/Title of ice", "here/own"}) {
				t.Errorf("sources %v", got)
			}
			l := sitetest.LineOf(t, f, "bad", "lib")
			if l.Reason != c.reason || !strings.Contains(l.Err, c.words) || l.Answered != 0 || l.Exposed.Sentences == 0 {
				t.Errorf("line %+v", l)
			}
			task, err := p.Store.Checks.Task(t.Context(), f.Task)
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

// alarmed requires an alarm about the partner's false answers, or no alarm if want is false.
func alarmed(t *testing.T, p *sitetest.Parts, partner concordat.SiteID, want bool) {
	t.Helper()
	as, err := p.Store.Partners.PartnerAlarms(t.Context(), partner, 0)
	sitetest.Must(t, err)
	if want != (len(as) == 1 && as[0].Kind == store.AlarmFalse) || !want && len(as) > 0 {
		t.Errorf("alarms about %s: %+v, want one of false answers: %v", partner, as, want)
	}
}

// TestPartialAnswersCanBeRead: while one partner has not answered yet, the findings from the others can be read.
func TestPartialAnswersCanBeRead(t *testing.T) {
	p := sitetest.NewHere(t, sitetest.River)
	silent, good := sitetest.NewPartner(t, "silent"), sitetest.NewPartner(t, "good")
	silent.Silent = true
	good.Put(t, "lib", "ice", sitetest.Glacier+sitetest.Bakery)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	answered := make(chan struct{})
	go func() {
		_, err := p.Check(ctx, site.Submission{ID: "s", Text: sitetest.River + "\n\n" + sitetest.Glacier + sitetest.Bakery}, site.CheckOptions{
			Partners: []site.PartnerLibraries{silent.Libraries("lib"), good.Libraries("lib")},
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
	for f == nil || !slices.Contains(sitetest.FoundAt(f), "good/Title of ice") {
		tasks, err := p.Store.Checks.Tasks(t.Context(), 0, 0)
		if err != nil || len(tasks) != 1 {
			t.Fatalf("tasks %v, %v", tasks, err)
		}
		f, err = p.Findings(t.Context(), tasks[0].ID)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) { // findings are stored at intervals
			t.Fatal(err)
		}
		<-poll.C
	}
	if l := sitetest.LineOf(t, f, "silent", "lib"); !strings.Contains(l.Err, "not answered yet") {
		t.Errorf("line %+v", l)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled check: %v", err)
	}
}

// TestManySentences: if there are too many sentences for one ask, they are sent in several, and a failure in the middle preserves the
// earlier answers.
func TestManySentences(t *testing.T) {
	p := sitetest.NewHere(t, "")
	north := sitetest.NewPartner(t, "north")
	north.Put(t, "lib", "ice", sitetest.Glacier+sitetest.Bakery)
	north.Put(t, "lib", "pear", sitetest.Orchard+sitetest.Foundry)
	text := strings.Join([]string{sitetest.Glacier + sitetest.Bakery, sitetest.Orchard + sitetest.Foundry, sitetest.Winter + sitetest.Garden,
		sitetest.River}, "\n\n")
	l := north.Libraries("lib")
	l.MaxAsked = 2
	f := p.Found(t, text, site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{l}})
	if got := sitetest.FoundAt(f); !slices.Equal(got, []string{"north/Title of ice", "north/Title of pear"}) {
		t.Errorf("sources %v", got)
	}
	jobs, asked := map[concordat.JobID]bool{}, 0
	for _, a := range north.Asks {
		if len(a.Sentences) > 2 || jobs[a.Job] {
			t.Errorf("ask of %d sentences, or a job twice", len(a.Sentences))
		}
		jobs[a.Job] = true
		asked += len(a.Sentences)
	}
	if c := sitetest.LineOf(t, f, "north", "lib"); c.Asked != asked || c.Answered != asked || len(north.Asks) < 2 {
		t.Errorf("%d asks of %d sentences, line %+v", len(north.Asks), asked, c)
	}
	n := 0
	north.Mangle = func(x *concordat.SiteAnswer) {
		if n++; n == 2 {
			x.Libraries = nil
		}
	}
	c := sitetest.LineOf(t, p.Found(t, text, site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{l}}), "north",
		"lib")
	if c.Answered != 2 || c.Exposed.Sentences != 4 || c.Err == "" || c.Asked != asked {
		t.Errorf("after a failure in the middle: %+v", c)
	}
}

// TestNeverTwoSketches: a sentence that a partner has seen under one key is not shown under another.
func TestNeverTwoSketches(t *testing.T) {
	p := sitetest.NewHere(t, "")
	north := sitetest.NewPartner(t, "north")
	text := sitetest.Glacier + "\n\n" + sitetest.Bakery
	o := site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{north.Libraries("lib")}}
	first := sitetest.LineOf(t, p.Found(t, text, o), "north", "lib")
	again := sitetest.LineOf(t, p.Found(t, text, o), "north", "lib")
	if first.Withheld+again.Withheld > 0 || again.Asked != first.Asked {
		t.Errorf("under the same key: %+v, then %+v", first, again)
	}
	next := north.Libraries("lib")
	next.Epoch.Number = 2
	next.Profiler = sitetest.Keyed(t, []byte("the key of the next period, 32 B"))
	north.Index.Scheme = next.Profiler.Scheme()
	f := p.Found(t, text+"\n\n"+sitetest.Orchard, site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{next}})
	c := sitetest.LineOf(t, f, "north", "lib")
	if c.Withheld == 0 || c.Asked == 0 || c.Asked+c.Withheld <= first.Asked {
		t.Errorf("under another key: %+v", c)
	}
	for _, s := range north.Asks[len(north.Asks)-1].Sentences {
		q, err := next.Profiler.Profile(concordat.Document{Text: text + "\n\n" + sitetest.Orchard}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range q.Questions() {
			if x.Fingerprint == s.Fingerprint && x.Span.End <= len(sitetest.Glacier) {
				t.Error("a sentence was shown under two keys")
			}
		}
	}
	if words := report.ConsultedWords(c); !strings.Contains(words, "Not sent") {
		t.Errorf("the line does not say so: %s", words)
	}
	other := sitetest.NewPartner(t, "south")
	if c := sitetest.LineOf(t, p.Found(t, text, site.CheckOptions{Forward: site.ForwardAll,
		Partners: []site.PartnerLibraries{other.Libraries("lib")}}), "south", "lib"); c.Withheld != 0 {
		t.Errorf("another partner: %+v", c)
	}
}

// TestAskedLevels: below level metadata, a partner discloses only whether or how much matches, and the report says so.
func TestAskedLevels(t *testing.T) {
	for level, want := range map[concordat.Show]string{concordat.ShowExists: "something matches", concordat.ShowCounts: "1 document"} {
		p := sitetest.NewHere(t, "")
		north := sitetest.NewPartner(t, "north")
		north.Level = level
		north.Put(t, "lib", "ice", sitetest.Glacier+sitetest.Bakery)
		f := p.Found(t, sitetest.Glacier+sitetest.Bakery, site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")}})
		if len(f.Passages) != 0 || len(f.Partners) != 0 {
			t.Errorf("%s: passages %+v", level, f.Passages)
		}
		if !slices.ContainsFunc(f.Flags, func(x concordat.Flag) bool { return x.Code == "matches_not_shown" }) {
			t.Errorf("%s: flags %+v", level, f.Flags)
		}
		c := sitetest.LineOf(t, f, "north", "lib")
		if words := report.ConsultedWords(c); !strings.Contains(words, want) {
			t.Errorf("%s: %s", level, words)
		}
		if h := report.Build(f, report.Rules{}).Headline(); strings.HasPrefix(h, "No matching passage was found in what was asked") {
			t.Errorf("%s: headline %q hides that a partner has matches", level, h)
		}
	}
}
