package ask_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// calls returns partner libraries with a given number of documents, as a catalogue does.
func calls(p *sitetest.Partner, documents int) site.PartnerLibraries {
	l := p.Libraries("lib")
	l.Documents = documents
	return l
}

// timesAsked returns how many of a text's sentences are in the first ask to a partner.
func timesAsked(t *testing.T, p *sitetest.Partner, text string) int {
	t.Helper()
	q, err := p.Profiler.Profile(concordat.Document{Text: text}, nil)
	sitetest.Must(t, err)
	n := 0
	for _, a := range p.Asks {
		for _, x := range a.Sentences {
			if slices.ContainsFunc(q.Questions(), func(s concordat.Sentence) bool { return s.Fingerprint == x.Fingerprint }) {
				n++
			}
		}
	}
	return n
}

// TestSharedWordingIsNotAsked: wording that this site knows to be legitimately shared is never sent in a question, whatever the rule, and
// no answer mentions it.
func TestSharedWordingIsNotAsked(t *testing.T) {
	text := sitetest.Glacier + sitetest.Bakery + "\n\n" + sitetest.Form + "\n\n" + sitetest.Orchard + sitetest.Foundry
	var many []site.Incoming
	for i := range 9 {
		many = append(many, site.Incoming{ID: concordat.DocumentID('a' + rune(i)), Text: sitetest.Form + "\n\n" +
			strings.Repeat(fmt.Sprint("word", i, " "), 12)})
	}
	for name, set := range map[string]func(*sitetest.Parts, *site.CheckOptions){
		"template given": func(_ *sitetest.Parts, o *site.CheckOptions) {
			o.Templates = []report.Template{{Name: "form", Text: sitetest.Form}}
		},
		"common at this site": func(p *sitetest.Parts, _ *site.CheckOptions) { p.Add(t, "a", many...) },
		"template of this one": func(p *sitetest.Parts, _ *site.CheckOptions) {
			sitetest.Must(t, p.Store.Catalogue.PutTemplate(t.Context(), store.Template{Library: "a", Name: "form", Text: sitetest.Form}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := sitetest.NewHere(t, sitetest.River)
			north := sitetest.NewPartner(t, "north")
			north.Put(t, "lib", "d", sitetest.Form+"\n\n"+sitetest.Garden)
			o := site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{north.Libraries("lib")}}
			set(p, &o)
			f := p.Found(t, text, o)
			if n := timesAsked(t, north, sitetest.Form); n != 0 {
				t.Errorf("%d sentences of the form were asked", n)
			}
			if n := timesAsked(t, north, sitetest.Glacier+sitetest.Bakery); n == 0 {
				t.Error("no other sentence was asked")
			}
			if got := sitetest.FoundAt(f); slices.Contains(got, "north/Title of d") {
				t.Errorf("sources %v", got)
			}
		})
	}
}

// TestQuotationAtPartner: if a partner's document contains a quotation that names its source, the quotation is not evidence from that
// document and is shown next to it as a quotation. Without quotation marks or without a source, the same wording is evidence.
func TestQuotationAtPartner(t *testing.T) {
	quoted := strings.TrimSpace(sitetest.Orchard + sitetest.Foundry)
	for _, c := range []struct {
		name, text string
		counts     bool
	}{
		{"with its source", sitetest.Glacier + sitetest.Bakery + sitetest.Winter + sitetest.Garden + sitetest.Harbour + sitetest.Mill +
			sitetest.Bridge + "\n\n“" + quoted + "” (Smith 2019)\n\n" + sitetest.River,
			false},
		{"without a source", sitetest.Glacier + sitetest.Bakery + sitetest.Winter + sitetest.Garden + "\n\n“" + quoted + "”\n\n" +
			sitetest.River, true},
		{"without marks", sitetest.Glacier + sitetest.Bakery + sitetest.Winter + sitetest.Garden + "\n\n" + quoted + " (Smith 2019)\n\n" +
			sitetest.River, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sitetest.NewHere(t, "")
			north := sitetest.NewPartner(t, "north")
			north.Put(t, "lib", "d", quoted)
			f := p.Found(t, c.text, site.CheckOptions{Partners: []site.PartnerLibraries{calls(north, 1)}})
			if got := sitetest.FoundAt(f); !slices.Equal(got, []string{"north/Title of d"}) {
				t.Fatalf("sources %v", got)
			}
			rep := report.Build(f, report.Rules{})
			if c.counts != (rep.Scores.Covered > 0) {
				t.Errorf("covered %.2f, want a score %v", rep.Scores.Covered, c.counts)
			}
			if c.counts {
				return
			}
			if !slices.ContainsFunc(f.Wording, func(x report.Wording) bool { return x.Kind == concordat.KindQuotation && x.Documents == 1 }) {
				t.Errorf("wording %+v, want the quotation", f.Wording)
			}
			for _, e := range rep.Evidence {
				if e.Excluded != concordat.ExcludedQuote {
					t.Errorf("%q is excluded as %q, want as a quotation", e.Span.In(c.text), e.Excluded)
				}
			}
			if err := f.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPassagesEndAtSharedWording: no passage of a partner extends across legitimately shared wording, in either form of outline.
func TestPassagesEndAtSharedWording(t *testing.T) {
	text := sitetest.Glacier + sitetest.Bakery + "\n\n" + sitetest.Form + "\n\n" + sitetest.Orchard + sitetest.Foundry
	at := strings.Index(text, sitetest.Form)
	wall := concordat.Span{Start: at, End: at + len(strings.TrimSpace(sitetest.Form))}
	for _, outline := range []string{"", concordat.OutlineWords, concordat.OutlineFingerprints} {
		t.Run("outline "+outline, func(t *testing.T) {
			p := sitetest.NewHere(t, "")
			north := sitetest.NewPartner(t, "north")
			north.Form = outline
			north.Put(t, "lib", "copy", sitetest.Winter+sitetest.Garden+"\n\n"+text)
			f := p.Found(t, text, site.CheckOptions{Partners: []site.PartnerLibraries{north.Libraries("lib")},
				Templates: []report.Template{{Name: "form", Text: sitetest.Form}}})
			found := 0
			for _, g := range f.Passages {
				if g.Wording != "" {
					continue
				}
				found++
				if g.Span.Overlaps(wall) {
					t.Errorf("%v holds the form: %q", g.Span, g.Span.In(text))
				}
			}
			if rep := report.Build(f, report.Rules{}); found < 2 || rep.Scores.Covered < 0.5 {
				t.Errorf("%d passages cover %.2f, want both halves", found, rep.Scores.Covered)
			}
		})
	}
}

// TestCommonAtPartner: a sentence is common wording if enough of a partner's documents contain it. The number required depends on how
// many documents the partner has.
func TestCommonAtPartner(t *testing.T) {
	text := sitetest.Glacier + sitetest.Bakery + "\n\n" + sitetest.Orchard + sitetest.Foundry
	for _, c := range []struct {
		holders, documents int
		common             bool
	}{
		{9, 9, true}, {9, 40, true}, {3, 9, true}, {9, 0, false}, {3, 40, false}, {25, 0, true}, {1, 9, false},
	} {
		t.Run(fmt.Sprintf("%d of %d", c.holders, c.documents), func(t *testing.T) {
			p := sitetest.NewHere(t, "")
			north := sitetest.NewPartner(t, "north")
			for i := range c.holders {
				north.Put(t, "lib", concordat.DocumentID(fmt.Sprint(i)), sitetest.Glacier+sitetest.Bakery+"\n\n"+strings.Repeat(fmt.Sprint("word", i,
					" "), 12))
			}
			f := p.Found(t, text, site.CheckOptions{Partners: []site.PartnerLibraries{calls(north, c.documents)}})
			s := report.Build(f, report.Rules{}).Scores
			if c.common != (s.Covered == 0) || c.common != (s.Common > 0) {
				t.Errorf("covered %.2f, common %.2f, want common wording %v", s.Covered, s.Common, c.common)
			}
			if !c.common {
				return
			}
			if len(f.Wording) == 0 || f.Wording[0].Documents != c.holders+1 {
				t.Errorf("wording %+v, want %d documents", f.Wording, c.holders+1)
			}
			sources := sitetest.FoundAt(f)
			if len(sources) == 0 || len(sources) > 8 {
				t.Errorf("shown beside %v", sources)
			}
			for _, g := range f.Passages {
				if !slices.ContainsFunc(f.Partners, func(x report.PartnerSource) bool { return x.Ref == g.Source }) {
					t.Errorf("nothing is told of %s", g.Source)
				}
			}
			if err := f.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRingOfTwoSites: documents of both sites are counted together, so that a few copiers at each site are not taken for users of a form.
func TestRingOfTwoSites(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	north := sitetest.NewPartner(t, "north")
	for i := range 15 {
		own := strings.Repeat(fmt.Sprint("word", i, " "), 12)
		if i < 2 {
			own += "\n\n" + sitetest.Glacier + sitetest.Bakery
		}
		p.Add(t, "a", site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: own})
		north.Put(t, "lib", concordat.DocumentID(fmt.Sprint(i)), own)
	}
	f := p.Found(t, sitetest.Glacier+sitetest.Bakery+"\n\n"+sitetest.Orchard+sitetest.Foundry, site.CheckOptions{Forward: site.ForwardAll,
		Partners: []site.PartnerLibraries{calls(north, 15)}})
	rep := report.Build(f, report.Rules{})
	if n := len(rep.Sources); rep.Scores.Covered < 0.4 || n != 4 {
		t.Errorf("covered %.2f by %d sources, want four: five of 31 documents are no form", rep.Scores.Covered, n)
	}
}
