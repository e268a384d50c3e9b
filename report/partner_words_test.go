package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/report"
)

// TestSharedWords: only words that the partner has are shown, in order and once, with a blank for anything between them; invalid spans
// from a partner show nothing.
func TestSharedWords(t *testing.T) {
	const text = "one two three four five"
	at := func(words string) concordat.Span {
		i := strings.Index(text, words)
		return concordat.Span{Start: i, End: i + len(words)}
	}
	whole := concordat.Span{End: len(text)}
	for _, c := range []struct {
		name   string
		span   concordat.Span
		shared []concordat.Span
		want   string
	}{
		{"nothing", whole, nil, ""},
		{"all", whole, []concordat.Span{whole}, text},
		{"the first", whole, []concordat.Span{at("one")}, "one ▁▁▁"},
		{"the last", whole, []concordat.Span{at("five")}, "▁▁▁ five"},
		{"beside each other", whole, []concordat.Span{at("one"), at("two"), at("four five")}, "one two ▁▁▁ four five"},
		{"touching", whole, []concordat.Span{at("one "), at("two three four five")}, text},
		{"to the end of the passage", at("one two"), []concordat.Span{at("one two")}, "one two"},
		{"up to a space", at("one two "), []concordat.Span{at("one two")}, "one two"},
		{"empty spans", whole, []concordat.Span{{}, {Start: 8, End: 8}, at("two")}, "▁▁▁ two ▁▁▁"},
		{"twice and out of order", whole, []concordat.Span{at("three"), at("three"), at("one"), at("three four")}, "▁▁▁ three ▁▁▁"},
		{"outside of the text", whole, []concordat.Span{{Start: -5, End: 3}, {Start: 19, End: 900}, {Start: 5000, End: 6000},
			{Start: 9, End: 2}}, "one ▁▁▁ five"},
		{"beyond the passage", at("one"), []concordat.Span{at("one two")}, "one two"},
	} {
		if got := report.SharedWords(text, concordat.Passage{Span: c.span, Shared: c.shared}); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPartnerOfSource: a partner's statement is found only for the partner's own document, and a source says what is known about it.
func TestPartnerOfSource(t *testing.T) {
	f := partnerFindings()
	ref := f.Partners[0].Ref
	other := ref
	other.Document = "ffeeddccbbaa99887766554433221100"
	f.Partners = append(f.Partners, report.PartnerSource{Ref: other, Title: "Another"})
	const long concordat.SiteID = "ABCDEFG-HIJKLMN"
	f.Sites = map[concordat.SiteID]string{"north": "North", long: "Long"}
	r := report.Build(f, report.Rules{})
	for want, ref := range map[string]concordat.Ref{"Millers": ref, "Another": other} {
		if p, ok := r.Partner(ref); !ok || p.Title != want {
			t.Errorf("of %v: %+v, %v", ref, p, ok)
		}
	}
	here := concordat.Ref{Site: "here", Library: "a", Document: "d"}
	if p, ok := r.Partner(here); ok {
		t.Errorf("of a document of this site: %+v", p)
	}
	if got := r.SourceWords(here); got != "" {
		t.Errorf("a source of this site: %q", got)
	}
	if got := r.SourceWords(ref); got != "by A. Writer; of 2026-05-04; contact library@north" {
		t.Errorf("a source with an outline: %q", got)
	}
	if got := r.SourceWords(other); got != "known only from matched sentences" {
		t.Errorf("a source without an outline: %q", got)
	}
	// A partner and its libraries have names; its documents have pseudonyms, which are not shown to people.
	own := concordat.Ref{Site: "here", Library: "a", Document: "its-name.txt"}
	places := func(want map[string]concordat.Ref) {
		t.Helper()
		for want, ref := range want {
			if got := r.Place(ref); got != want {
				t.Errorf("place %q, want %q", got, want)
			}
		}
	}
	places(map[string]concordat.Ref{"North/theses": ref, "here/a/its-name.txt": own})
	r.Names = report.Names{Site: "here", Sites: map[concordat.SiteID]string{"here": "Our Site", "east": "East"},
		Libraries: map[report.LibraryPlace]string{{Site: "here", Library: "a"}: "Awards 2024",
			{Site: "north", Library: "theses"}: "Theses"},
		People: map[string]string{"olga": "Olga Officer"}}
	places(map[string]concordat.Ref{"North/Theses": ref, "Awards 2024/its-name.txt": own,
		"East/b": {Site: "east", Library: "b", Document: "1"}})
	for id, want := range map[concordat.SiteID]string{long: "Long", "here": "Our Site", "east": "East", "nobody": "nobody"} {
		if got := r.SiteName(id); got != want {
			t.Errorf("site %s is called %q, want %q", id, got, want)
		}
	}
	if got := r.Names.Person("olga") + ", " + r.Names.Person("nemo"); got != "Olga Officer, nemo" {
		t.Errorf("people are called %s", got)
	}
	r.Names.Sites["east"] = "Long" // two partners have the same name
	if got := r.SiteName(long) + ", " + r.SiteName("east"); got != "Long (ABCDEFG), Long (east)" {
		t.Errorf("two sites of one name are called %s", got)
	}
}

// consultedWords returns the line of a text report about a library of north.
func consultedWords(t *testing.T, c concordat.Consulted) string {
	t.Helper()
	c.Site, c.Library = "north", "theses"
	var b bytes.Buffer
	f := partnerFindings()
	f.Consulted = []concordat.Consulted{c}
	if err := report.WriteText(&b, report.Build(f, report.Rules{})); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	i := strings.Index(text, "north/theses: ")
	if i < 0 {
		t.Fatalf("no line of the library in\n%s", text)
	}
	return text[i:]
}

// TestConsultedWords: a library's line lists exactly what was exchanged.
func TestConsultedWords(t *testing.T) {
	for _, c := range []struct {
		name      string
		consulted concordat.Consulted
		has, not  []string
	}{
		{"withheld", concordat.Consulted{Asked: 3, Answered: 3, Level: concordat.ShowMetadata, Withheld: 1},
			[]string{"Not sent: 1 sentence, which this partner has already seen in another form."},
			[]string{"It will tell of later", "Not measured:"}},
		{"nothing withheld", concordat.Consulted{Asked: 3, Answered: 3, Level: concordat.ShowMetadata},
			[]string{"Known here: that nothing matches"}, []string{"Not sent:"}},
		{"empty", concordat.Consulted{Asked: 3, Answered: 3, Empty: true},
			[]string{"contains no documents, so nothing was compared"}, []string{"answered"}},
		{"no answer", concordat.Consulted{Asked: 3, Level: concordat.ShowMetadata, Err: "down"}, []string{"did not answer"},
			[]string{"Known here:"}},
		{"found, though the last answer failed", concordat.Consulted{Asked: 3, Level: concordat.ShowMetadata, Err: "down",
			Shown: concordat.Shown{Exists: true, Documents: 1}},
			[]string{"Known here: the titles of 1 document that matches."}, nil},
		{"titles alone", concordat.Consulted{Asked: 3, Answered: 3, Level: concordat.ShowMetadata,
			Shown: concordat.Shown{Exists: true, Documents: 3}},
			[]string{"Known here: the titles of 3 documents that match."},
			[]string{"outlines of 0", "the order of 0", "in common with 0", "0 passages in full"}},
		{"passages", concordat.Consulted{Asked: 3, Answered: 3, Level: concordat.ShowPassage,
			Shown: concordat.Shown{Exists: true, Documents: 1, Passages: 2}},
			[]string{"the titles of 1 document that matches, 2 passages in full."}, nil},
		{"exists", concordat.Consulted{Asked: 3, Answered: 3, Level: concordat.ShowExists, Shown: concordat.Shown{Exists: true}},
			[]string{"Known here: that something matches, and no more."}, nil},
		{"counts of three", concordat.Consulted{Asked: 3, Answered: 3, Level: concordat.ShowCounts,
			Shown: concordat.Shown{Exists: true, Documents: 3, Sentences: 1}},
			[]string{"Known here: that 3 documents match with 1 sentence of those asked, and no more."}, []string{"few"}},
	} {
		got := consultedWords(t, c.consulted)
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %q", c.name, want, got)
			}
		}
		for _, not := range c.not {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q in %q", c.name, not, got)
			}
		}
	}
}

// TestHiddenMatches: if no passage was found, the report distinguishes a partner that has matches but shows none from one that has none.
func TestHiddenMatches(t *testing.T) {
	for _, c := range []struct {
		level  concordat.Show
		exists bool
		want   bool
	}{
		{concordat.ShowExists, true, true}, {concordat.ShowCounts, true, true}, {concordat.ShowMetadata, true, false},
		{concordat.ShowExists, false, false}, {concordat.ShowCounts, false, false}, {concordat.ShowNothing, true, false},
	} {
		f := partnerFindings()
		f.Passages, f.Partners, f.Disclosures, f.Statements = nil, nil, nil, nil
		f.Consulted = []concordat.Consulted{{Site: "north", Library: "theses", Asked: 2, Answered: 2, Level: c.level,
			Shown: concordat.Shown{Exists: c.exists, Documents: 1, Sentences: 1}}}
		var b bytes.Buffer
		if err := report.WriteText(&b, report.Build(f, report.Rules{})); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(strings.Fields(b.String()), " "),
			"a partner's library contains something that matches and discloses no more than that"); got != c.want {
			t.Errorf("level %s, exists %v: says that matches are hidden: %v, want %v\n%s", c.level, c.exists, got, c.want, b.String())
		}
	}
}

// TestDisclosureWords: each state of a request is described in words, with the date and the partner's statement.
func TestDisclosureWords(t *testing.T) {
	asked, changed := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 5, 9, 0, 0, 0, 0, time.UTC)
	for state, want := range map[string]string{
		concordat.DisclosureGranted: "shown on 2026-05-09", concordat.DisclosurePending: "requested on 2026-05-01, not decided yet",
		concordat.DisclosureRefused: "refused on 2026-05-09", concordat.DisclosureExpired: "no longer open since 2026-05-09",
		concordat.DisclosureWithdrawn: "withdrawn on 2026-05-09",
	} {
		d := report.Disclosure{Source: concordat.Ref{Site: "n", Library: "l", Document: "d"}, Level: concordat.ShowOverlap, State: state,
			Asked: asked, Changed: changed,
			Passages: make([]concordat.SpanPair, 2)}
		if got, want := report.English.Disclosure(d), "The words in common with 2 passages of n/l/d: "+want+"."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		d.Level, d.Words = concordat.ShowPassage, "by the dean"
		if got, want := report.English.Disclosure(d), "The full wording of 2 passages of n/l/d: "+want+" (by the dean)."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
