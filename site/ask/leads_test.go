package ask_test

import (
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/meaning"
	"concordat/report"
	"concordat/site"
	"concordat/site/ask"
	"concordat/site/compare"
)

// leadsAsker returns a site that asks an owner for leads.
func leadsAsker(t *testing.T, o *sitetest.Owner) (*sitetest.Member, site.PartnerLibraries, *report.Findings) {
	t.Helper()
	m := sitetest.NewMember(t, "north", "own")
	sitetest.Must(t, m.Ingest(t.Context(), "own", sitetest.Docs(site.Incoming{ID: "mine", Title: "Mine", Text: sitetest.Elsewhere}),
		func(site.Ingested) error { return nil }))
	p := site.PartnerLibraries{Partner: sitetest.InProcess{From: "north", To: o.Answerer, ID: "here"}, Epoch: o.Epoch, Profiler: o.Keyed,
		SketchKey: sitetest.Key("sketch of " + sitetest.TestEpoch.String()), CellKey: sitetest.Key("cells of " + o.Epoch.String()),
		Libraries: []concordat.LibraryID{"theses"}, Purpose: "thesis"}
	f, err := m.Check(t.Context(), site.Submission{ID: "thesis", Text: sitetest.InOtherWords},
		site.CheckOptions{Leads: true, PartnerLeads: true,
			Partners: []site.PartnerLibraries{p}})
	sitetest.Must(t, err)
	return m, p, f
}

// lineOf returns the line of the partner's library.
func lineOf(t *testing.T, f *report.Findings) concordat.Consulted {
	t.Helper()
	i := slices.IndexFunc(f.Consulted, func(c concordat.Consulted) bool { return c.Site == "here" })
	if i < 0 {
		t.Fatal("no line of the partner")
	}
	return f.Consulted[i]
}

// TestLeadsOfPartners: a partner's document that says the same thing in other words is shown as possible, without text. Once the partner
// has shown its places, with a person's consent, they are compared and listed among the leads, but do not count towards a share.
func TestLeadsOfPartners(t *testing.T) {
	o := sitetest.NewLeadsOwner(t)
	o.ShareWith(t, "theses", "north", sitetest.LeadsRule())
	m, p, f := leadsAsker(t, o)
	if len(f.PartnerLeads) != 1 || f.PartnerLeads[0].Title != "Of ice" || f.PartnerLeads[0].Number != "P1" || len(f.Leads) != 0 {
		t.Fatalf("possible: %+v, leads %+v", f.PartnerLeads, f.Leads)
	}
	if c := lineOf(t, f); c.Leads != concordat.LeadsAsked || c.Exposed.Cells != 6 || c.Shown.Leads != 1 {
		t.Errorf("the partner's line: %+v", c)
	}
	rep := report.Build(f, report.Rules{})
	var text strings.Builder
	sitetest.Must(t, report.WriteText(&text, rep))
	if s := text.String(); !strings.Contains(s, "[P1]") || !strings.Contains(s, "6 sentences as meaning codes") ||
		strings.Contains(s, "price of fish doubled") {
		t.Errorf("in text:\n%s", s)
	}
	partner := p.Partner.(ask.Discloser)
	ds, err := m.RevealLead(t.Context(), f.Task, ask.RevealRequest{Partner: partner, Reason: "an examination", Contact: "dean"}, "P1")
	sitetest.Must(t, err)
	if len(ds) != 1 || ds[0].State != concordat.DisclosurePending {
		t.Fatalf("asked: %+v", ds)
	}
	waiting, err := o.Requests.Disclosures(t.Context(), concordat.DisclosurePending, 10)
	sitetest.Must(t, err)
	_, err = o.Requests.Decide(t.Context(), waiting[0].ID, "officer", true, "yes")
	sitetest.Must(t, err)
	ds, err = m.RefreshDisclosures(t.Context(), f.Task, partner)
	sitetest.Must(t, err)
	if len(ds) != 1 || ds[0].State != concordat.DisclosureGranted {
		t.Fatalf("granted: %+v", ds)
	}
	f, err = m.Findings(t.Context(), f.Task)
	sitetest.Must(t, err)
	if len(f.Leads) != 1 || f.PartnerLeads[0].Outcome != report.PartnerLeadFound {
		t.Fatalf("leads %+v, of %+v", f.Leads, f.PartnerLeads)
	}
	l := f.Leads[0]
	if l.Source.Site != "here" || l.SourceSpan.In(sitetest.Wordy) != l.Text || !strings.Contains(l.Text, "price of fish doubled") {
		t.Errorf("the lead %+v", l)
	}
	for _, x := range l.Pairs {
		if x.SourceSpan.In(sitetest.Wordy) != x.Text {
			t.Errorf("a pair %+v: there stands %q", x, x.SourceSpan.In(sitetest.Wordy))
		}
	}
	var places []string
	for _, p := range f.PartnerLeads[0].Places {
		places = append(places, p.In(sitetest.Wordy))
	}
	shown := []rune(strings.Join(places, "\n\n"))
	if x := l.SourcePoints; x.End > len(shown) || string(shown[x.Start:x.End]) != l.Text {
		t.Errorf("code points %+v of the lead in what was shown, %q", x, string(shown))
	}
	if rep = report.Build(f, report.Rules{}); len(rep.Leads) != 1 || rep.Scores.Covered != 0 {
		t.Errorf("the report has leads %+v, covered %v", rep.Leads, rep.Scores.Covered)
	}
}

// TestLeadsThatAreNotAsked: the report says why a partner was not asked for leads, and no cells are sent to it.
func TestLeadsThatAreNotAsked(t *testing.T) {
	o := sitetest.NewLeadsOwner(t)
	closed := sitetest.LeadsRule()
	closed.Leads = false
	o.ShareWith(t, "theses", "north", closed)
	_, _, f := leadsAsker(t, o)
	if c := lineOf(t, f); c.Leads != concordat.LeadsClosed || c.Exposed.Cells != 0 || len(f.PartnerLeads) > 0 {
		t.Errorf("closed: %+v", c)
	}
	m, north := sitetest.NewMember(t, "north", "own"), sitetest.NewPartner(t, "here")
	north.Put(t, "theses", "ice", sitetest.Wordy)
	for what, x := range map[string]struct {
		options site.CheckOptions
		want    string
	}{
		"a version before":      {site.CheckOptions{Leads: true, PartnerLeads: true}, concordat.LeadsVersion},
		"a site that asks none": {site.CheckOptions{Leads: true}, concordat.LeadsHere},
		"a check without leads": {site.CheckOptions{PartnerLeads: true}, ""},
	} {
		x.options.Partners = []site.PartnerLibraries{north.Libraries("theses")}
		f, err := m.Check(t.Context(), site.Submission{ID: "thesis", Text: sitetest.InOtherWords}, x.options)
		sitetest.Must(t, err)
		if c := lineOf(t, f); c.Leads != x.want || c.Exposed.Cells != 0 || c.Err != "" {
			t.Errorf("%s: %+v, want %s", what, c, x.want)
		}
	}
	for what, x := range map[string]struct {
		leads func(a *concordat.LeadAsk) (*concordat.LeadAnswer, error)
		sent  bool
	}{
		"an answer that cannot be": {func(a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
			t := leadAnswer(a)
			t.Documents = []concordat.LeadDocument{{Library: 3}}
			return t, nil
		}, false},
		"silence once cells were sent": {func(a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
			if len(a.Cells) > 0 {
				return nil, concordat.ErrUnavailable
			}
			return leadAnswer(a), nil
		}, true},
		"one document twice": {func(a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
			t := leadAnswer(a)
			for d := range min(2, len(a.Cells)) {
				t.Documents = append(t.Documents, concordat.LeadDocument{Handle: concordat.Handle{7}, Title: "Twice",
					Places: []concordat.Span{{Start: 10, End: 90}}})
				for k := range a.Cells {
					t.Hits = append(t.Hits, concordat.LeadHit{Cells: k, Document: d})
				}
			}
			return t, nil
		}, true},
	} {
		north.TellLeads = x.leads
		f, err := sitetest.NewMember(t, "north", "own").Check(t.Context(), site.Submission{ID: "thesis", Text: sitetest.InOtherWords},
			site.CheckOptions{Leads: true, PartnerLeads: true, Partners: []site.PartnerLibraries{north.Libraries("theses")}})
		sitetest.Must(t, err)
		if c := lineOf(t, f); c.Leads != concordat.LeadsFailed || c.Exposed.Cells > 0 != x.sent || len(f.PartnerLeads) > 0 {
			t.Errorf("%s: %+v", what, c)
		}
	}
}

// leadAnswer returns an answer that names no document.
func leadAnswer(a *concordat.LeadAsk) *concordat.LeadAnswer {
	t := &concordat.LeadAnswer{Table: a.Table}
	for _, l := range a.Libraries {
		t.Libraries = append(t.Libraries, concordat.LeadLibraryAnswer{Library: l})
	}
	return t
}

// TestLeadsNotMeasured: the report says how much of a partner's index gave no answer by meaning, and how many sentences did not fit into
// a question.
func TestLeadsNotMeasured(t *testing.T) {
	m, north := sitetest.NewMember(t, "north", "own"), sitetest.NewPartner(t, "here")
	north.TellLeads = func(a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
		t := leadAnswer(a)
		if len(a.Cells) > 0 {
			t.Libraries[0].Missing = 2
		}
		return t, nil
	}
	o := site.CheckOptions{Leads: true, PartnerLeads: true, Partners: []site.PartnerLibraries{north.Libraries("theses")}}
	check := func(text string) (*report.Findings, concordat.Consulted) {
		t.Helper()
		f, err := m.Check(t.Context(), site.Submission{ID: "thesis", Text: text}, o)
		sitetest.Must(t, err)
		return f, lineOf(t, f)
	}
	f, c := check(sitetest.InOtherWords)
	if c.Leads != concordat.LeadsAsked || c.LeadsMissing != 2 || c.LeadsUnasked != 0 || sitetest.Flagged(f, compare.FlagLeadsEnd) {
		t.Errorf("with two parts silent: %+v, flags %v", c, f.Flags)
	}
	if words := report.ConsultedWords(c); !strings.Contains(words, "Not searched for leads: 2 parts of its index, which did not answer.") {
		t.Errorf("it reads %q", words)
	}
	f, c = check(sitetest.Fillers(t, meaning.MaxSentences+3))
	if c.Leads != concordat.LeadsAsked || c.LeadsUnasked != 3 || c.Exposed.Cells != meaning.MaxSentences ||
		!sitetest.Flagged(f, compare.FlagLeadsEnd) {
		t.Errorf("of %d sentences: %+v, flags %v", meaning.MaxSentences+3, c, f.Flags)
	}
	if words := report.ConsultedWords(c); !strings.Contains(words, "Not asked about leads: 3 sentences at the end of the text") {
		t.Errorf("it reads %q", words)
	}
}

// TestWithheldLeads: no cells are sent for a sentence that a partner has seen under another key, and the report does not claim to be
// complete.
func TestWithheldLeads(t *testing.T) {
	m, north := sitetest.NewMember(t, "north", "own"), sitetest.NewPartner(t, "here")
	cells := 0
	north.TellLeads = func(a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
		cells += len(a.Cells)
		return leadAnswer(a), nil
	}
	check := func(text string, l site.PartnerLibraries) concordat.Consulted {
		t.Helper()
		f, err := m.Check(t.Context(), site.Submission{ID: "thesis", Text: text}, site.CheckOptions{Leads: true, PartnerLeads: true,
			Forward: site.ForwardAll, Partners: []site.PartnerLibraries{l}})
		sitetest.Must(t, err)
		return lineOf(t, f)
	}
	first := check(sitetest.InOtherWords, north.Libraries("theses"))
	next := north.Libraries("theses")
	next.Epoch.Number = 2
	next.Profiler = sitetest.Keyed(t, []byte("the key of the next period, 32 B"))
	north.Index.Scheme = next.Profiler.Scheme()
	cells = 0
	if c := check(sitetest.InOtherWords, next); first.Exposed.Cells != 6 || c.Withheld != first.Asked || c.Leads != concordat.LeadsWithheld ||
		cells+c.Exposed.Cells > 0 {
		t.Errorf("the same text under another key: %+v, with %d cells, after %+v", c, cells, first)
	}
	c := check(sitetest.InOtherWords+"\n\n"+sitetest.Orchard+sitetest.Glacier, next)
	if c.Withheld != first.Asked || c.Leads != concordat.LeadsAsked || c.Exposed.Cells != 2 {
		t.Errorf("two more sentences under another key: %+v", c)
	}
}
