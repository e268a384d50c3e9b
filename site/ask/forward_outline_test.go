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
	"concordat/site/ask"
)

// TestAskedOutlines: copied text is found with exact edges in both texts, although no text is exchanged.
func TestAskedOutlines(t *testing.T) {
	for _, form := range []string{concordat.OutlineWords, concordat.OutlineFingerprints} {
		t.Run(form, func(t *testing.T) {
			p := sitetest.NewHere(t, "")
			north := sitetest.NewPartner(t, "north")
			north.Form = form
			const head = "An introduction that the copier left out, about guilds and their seals and their quarrels. "
			north.Put(t, "lib", "essay", head+sitetest.Essay+" A closing word on other matters altogether stands at the end.")
			f := p.Found(t, sitetest.Mine+sitetest.Essay+" And I close it with a remark of my own as well.",
				site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")}})
			i := slices.IndexFunc(f.Passages, func(p concordat.Passage) bool { return p.Kind == concordat.KindVerbatim })
			if i < 0 {
				t.Fatalf("nothing word for word in %+v", f.Passages)
			}
			g := f.Passages[i]
			want := strings.TrimRight(strings.TrimSpace(sitetest.Essay), ".")
			if got := strings.TrimRight(g.Span.In(f.Submission.Text), "."); got != want {
				t.Errorf("here: %q", got)
			}
			if g.SourceSpan.Start != len(head) || g.Text != "" {
				t.Errorf("there: %v, text %q", g.SourceSpan, g.Text)
			}
			c := sitetest.LineOf(t, f, "north", "lib")
			if c.Shown.Outlines != 1 || c.Shown.Units == 0 || c.Shown.Words == 0 || c.Err != "" {
				t.Errorf("line %+v", c)
			}
			if len(f.Partners) != 1 || f.Partners[0].Outline != form || len(f.Statements) != 2 {
				t.Errorf("partners %+v, %d statements", f.Partners, len(f.Statements))
			}
			if s := report.Build(f, report.Rules{}).Scores; s.Verbatim < 0.6 {
				t.Errorf("word for word %.2f", s.Verbatim)
			}
		})
	}
}

// TestAskedOutlinesReworded: outlines find rewording, and it is never called verbatim.
func TestAskedOutlinesReworded(t *testing.T) {
	reworded := strings.NewReplacer("drilled", "bored", "dated", "determined", "petitioned", "begged", "melted", "smelted",
		"driven", "moved", "supplied", "provided", "fixed", "settled", "earlier", "sooner").Replace(sitetest.Essay)
	p := sitetest.NewHere(t, "")
	north := sitetest.NewPartner(t, "north")
	north.Form = concordat.OutlineWords
	north.Put(t, "lib", "essay", sitetest.Essay)
	f := p.Found(t, sitetest.Mine+reworded, site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")}})
	rep := report.Build(f, report.Rules{})
	if rep.Scores.Covered < 0.6 || len(rep.Evidence) == 0 {
		t.Errorf("covered %.2f by %+v", rep.Scores.Covered, f.Passages)
	}
	for _, g := range f.Passages {
		if s := g.Similarity; !slices.Contains([]float64{1, 0.9, 0.74, 0.5}, s) {
			t.Errorf("similarity %v is no step", s)
		}
	}
}

// TestSecondRoundFails: if the second round fails, the matched sentences are the evidence, and the partner's line reports the failure.
func TestSecondRoundFails(t *testing.T) {
	for name, spoil := range map[string]func(*sitetest.Partner){
		"late": func(p *sitetest.Partner) { p.Late = true },
		"garbage": func(p *sitetest.Partner) {
			p.Outlaws = func(o *concordat.Outlines) { o.Documents[0].Units[0].Words = []uint16{9, 1} }
		},
		"missing": func(p *sitetest.Partner) { p.Outlaws = func(o *concordat.Outlines) { o.Documents = nil } },
		"foreign": func(p *sitetest.Partner) { p.Outlaws = func(o *concordat.Outlines) { o.Documents[0].Handle[0]++ } },
		"bits":    func(p *sitetest.Partner) { p.Outlaws = func(o *concordat.Outlines) { o.Documents[0].Bits = 99 } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sitetest.NewHere(t, "")
			north := sitetest.NewPartner(t, "north")
			north.Form = concordat.OutlineWords
			north.Put(t, "lib", "essay", sitetest.Essay)
			spoil(north)
			l := north.Libraries("lib")
			if name == "late" {
				l.Deadline = 10 * time.Second // the first round must end within this time even on a busy machine
			}
			f := p.Found(t, sitetest.Mine+sitetest.Essay, site.CheckOptions{Partners: []site.PartnerLibraries{l}})
			c := sitetest.LineOf(t, f, "north", "lib")
			if c.Err == "" || c.Answered != c.Asked || len(f.Passages) == 0 || f.Partners[0].Outline != "" {
				t.Errorf("line %+v, %d passages", c, len(f.Passages))
			}
			alarmed(t, p, "north", name != "late")
		})
	}
	t.Run("refused", func(t *testing.T) {
		p := sitetest.NewHere(t, "")
		north := sitetest.NewPartner(t, "north")
		north.Form = concordat.OutlineWords
		north.Put(t, "lib", "essay", sitetest.Essay)
		north.Outlaws = func(o *concordat.Outlines) {
			o.Documents[0] = concordat.Outline{Handle: o.Documents[0].Handle, Refusal: &concordat.Refusal{Reason: concordat.ReasonBudget}}
		}
		f := p.Found(t, sitetest.Mine+sitetest.Essay, site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")}})
		if len(f.Passages) == 0 || sitetest.LineOf(t, f, "north", "lib").Shown.Outlines != 0 {
			t.Errorf("passages %+v", f.Passages)
		}
	})
}

// TestEdgesNotAnswered: if a partner's rules forbid comparing word order, the edges of whole sentences remain and its line shows no
// fault. If it was busy or failed, its answer is incomplete and its line says why.
func TestEdgesNotAnswered(t *testing.T) {
	for reason, clean := range map[concordat.Reason]bool{
		concordat.ReasonLevel: true, concordat.ReasonBudget: true, concordat.ReasonBusy: false, concordat.ReasonFault: false,
	} {
		t.Run(string(reason), func(t *testing.T) {
			p := sitetest.NewHere(t, "")
			north := sitetest.NewPartner(t, "north")
			north.Form, north.EdgesRefuse = concordat.OutlineWords, &concordat.Refusal{Reason: reason}
			north.Put(t, "lib", "essay", sitetest.Essay)
			f := p.Found(t, sitetest.Mine+sitetest.Essay, site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")}})
			c := sitetest.LineOf(t, f, "north", "lib")
			if north.AskedEdges != 1 || len(f.Passages) == 0 {
				t.Errorf("asked for edges %d times, %d passages", north.AskedEdges, len(f.Passages))
			}
			if clean != (c.Err == "") || !clean && c.Reason != reason {
				t.Errorf("the line says %q, %q", c.Reason, c.Err)
			}
		})
	}
}

// TestOneSentenceAlone: a single, only somewhat similar sentence is not evidence without its text.
func TestOneSentenceAlone(t *testing.T) {
	p := sitetest.NewHere(t, "")
	north := sitetest.NewPartner(t, "north")
	north.Put(t, "lib", "exact", sitetest.Glacier)
	north.Mangle = func(x *concordat.SiteAnswer) {
		for i := range x.Hits {
			x.Hits[i].Closeness = concordat.CloseNear
		}
	}
	o := site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")}}
	if f := p.Found(t, sitetest.Glacier, o); len(f.Passages) != 0 {
		t.Errorf("passages %+v", f.Passages)
	}
	north.Mangle = nil
	if f := p.Found(t, sitetest.Glacier, o); len(f.Passages) != 1 {
		t.Errorf("a copied sentence: passages %+v", f.Passages)
	}
}

// TestSameTextAtTwoSites: the same text at two sites is two sources, and wording is common if it is common across all sites. Wording in
// eight of 68 documents is not common at this site.
func TestSameTextAtTwoSites(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	var docs []site.Incoming
	for i := range 8 {
		docs = append(docs, site.Incoming{ID: concordat.DocumentID('a' + rune(i)), Text: sitetest.Glacier + sitetest.Orchard + "\n\n" +
			strings.Repeat(string(rune('a'+i))+"x ", 3)})
	}
	for i := range 60 {
		docs = append(docs, site.Incoming{ID: concordat.DocumentID(fmt.Sprint("other", i)), Text: strings.Repeat(fmt.Sprint("word", i, " "), 12)})
	}
	p.Add(t, "a", docs...)
	var partners []site.PartnerLibraries
	for _, id := range []concordat.SiteID{"north", "south"} {
		n := sitetest.NewPartner(t, id)
		for i := range 8 {
			n.Put(t, "lib", concordat.DocumentID('a'+rune(i)), sitetest.Glacier+sitetest.Orchard)
		}
		partners = append(partners, n.Libraries("lib"))
	}
	f := p.Found(t, sitetest.Glacier+sitetest.Orchard+"\n\n"+sitetest.Bakery,
		site.CheckOptions{Forward: site.ForwardAll, Partners: partners[:1]})
	if rep := report.Build(f, report.Rules{}); rep.Scores.Covered == 0 || rep.Scores.Common > 0 || len(rep.Sources) != 16 {
		t.Errorf("two sites, eight documents each: covered %.2f by %d sources, want 16", rep.Scores.Covered, len(rep.Sources))
	}
	f = p.Found(t, sitetest.Glacier+sitetest.Orchard+"\n\n"+sitetest.Bakery, site.CheckOptions{Forward: site.ForwardAll, Partners: partners})
	rep := report.Build(f, report.Rules{})
	if rep.Scores.Covered > 0 || rep.Scores.Common == 0 || len(rep.Sources) != 24 {
		t.Errorf("three sites, eight each: covered %.2f, common %.2f by %d sources", rep.Scores.Covered, rep.Scores.Common, len(rep.Sources))
	}
	for _, g := range f.Passages {
		if g.Documents != 24 {
			t.Errorf("%s: %d documents, want 24", g.Source, g.Documents)
		}
	}
}

// TestAskedReveal: common words are shown without any of the partner's other words, and passages are shown with a person's consent.
func TestAskedReveal(t *testing.T) {
	p := sitetest.NewHere(t, "")
	north := sitetest.NewPartner(t, "north")
	north.Form = concordat.OutlineWords
	secret := strings.Replace(sitetest.Essay, "argon", "strontium", 1)
	north.Put(t, "lib", "essay", secret)
	f := p.Found(t, sitetest.Mine+sitetest.Essay, site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")}})
	if len(f.Passages) == 0 {
		t.Fatal("nothing found")
	}
	got, err := p.Reveal(t.Context(), f.Task, ask.RevealRequest{Partner: north}, 0)
	if err != nil || len(got) != 1 || got[0].State != concordat.DisclosureGranted {
		t.Fatalf("got %+v, %v", got, err)
	}
	f, err = p.Findings(t.Context(), f.Task)
	if err != nil {
		t.Fatal(err)
	}
	g := f.Passages[0]
	words := report.SharedWords(f.Submission.Text, g)
	if !strings.Contains(words, "Vostok plateau") || strings.Contains(words, "strontium") || strings.Contains(words, "argon") || g.Text != "" {
		t.Errorf("shared %q, text %q", words, g.Text)
	}
	c := sitetest.LineOf(t, f, "north", "lib")
	if c.Exposed.Passages != 1 || c.Exposed.Letters == 0 || c.Shown.Overlaps != 1 {
		t.Errorf("line %+v", c)
	}
	if north.Reveals[0].Passages[0].Text != g.Span.In(f.Submission.Text) {
		t.Error("the wording sent is not the passage's")
	}
	if again, err := p.Reveal(t.Context(), f.Task, ask.RevealRequest{Partner: north}, 0); err != nil || len(again) != 0 ||
		len(north.Reveals) != 1 {
		t.Errorf("asked again: %+v, %v", again, err)
	}

	north.Decide = concordat.DisclosurePending
	request := ask.RevealRequest{Partner: north, Level: concordat.ShowPassage, Reason: "misconduct", Contact: "dean@here"}
	if got, err = p.Reveal(t.Context(), f.Task, request, 0); err != nil || got[0].State != concordat.DisclosurePending {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got, err = p.RefreshDisclosures(t.Context(), f.Task, north); err != nil || len(got) != 1 ||
		got[0].State != concordat.DisclosurePending {
		t.Errorf("meanwhile: %+v, %v", got, err)
	}
	north.Decide = ""
	if got, err = p.RefreshDisclosures(t.Context(), f.Task, north); err != nil || len(got) != 1 ||
		got[0].State != concordat.DisclosureGranted || got[0].Words != "by the librarian" {
		t.Errorf("decided: %+v, %v", got, err)
	}
	f, err = p.Findings(t.Context(), f.Task)
	if err != nil {
		t.Fatal(err)
	}
	if text := f.Passages[0].Text; !strings.Contains(text, "strontium") {
		t.Errorf("the passage is %q", text)
	}
	if c := sitetest.LineOf(t, f, "north", "lib"); c.Exposed.Passages != 2 || c.Shown.Passages != 1 {
		t.Errorf("line %+v", c)
	}
	for _, bad := range []int{-1, 99} {
		if _, err := p.Reveal(t.Context(), f.Task, request, bad); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("passage %d: %v", bad, err)
		}
	}
}

// TestAskedRevealGarbage: spans outside the passage are not shown.
func TestAskedRevealGarbage(t *testing.T) {
	p := sitetest.NewHere(t, "")
	north := sitetest.NewPartner(t, "north")
	north.Form = concordat.OutlineWords
	north.Put(t, "lib", "essay", sitetest.Essay)
	f := p.Found(t, sitetest.Mine+sitetest.Essay, site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")}})
	for _, spans := range [][]concordat.Span{{{Start: -1, End: 4}}, {{Start: 0, End: 1 << 30}}, {{Start: 9, End: 12}, {Start: 3, End: 5}},
		{{Start: 5, End: 5}}} {
		liar := &liar{north, spans}
		if _, err := p.Reveal(t.Context(), f.Task, ask.RevealRequest{Partner: liar}, 0); err != nil {
			t.Fatal(err)
		}
		g, err := p.Findings(t.Context(), f.Task)
		if err != nil || g.Passages[0].Shared != nil {
			t.Errorf("%v: shared %v, %v", spans, g.Passages[0].Shared, err)
		}
	}
}

// liar shows passages with invented spans.
type liar struct {
	*sitetest.Partner
	spans []concordat.Span
}

func (l *liar) Reveal(_ context.Context, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	return &concordat.Revealed{State: concordat.DisclosureGranted, Passages: []concordat.RevealedPassage{{Shared: l.spans}}}, nil
}
