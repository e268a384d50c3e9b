package html_test

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
	"concordat/report/html"
)

// several returns findings in which one passage has the given number of sources.
func several(text string, s concordat.Span, sources int) *report.Findings {
	f := &report.Findings{Submission: concordat.Document{Text: text}}
	for i := range sources {
		words := s.In(text)
		f.Passages = append(f.Passages, concordat.Passage{Span: s, Kind: concordat.KindVerbatim, Similarity: 1, Text: words,
			Source: concordat.Ref{Site: "s", Library: "l", Document: concordat.DocumentID(fmt.Sprintf("d%02d", i))},
			Title:  fmt.Sprintf("Title %02d", i), SourceSpan: concordat.Span{Start: 100, End: 100 + len(words)}})
	}
	return f
}

// TestBlankTextIsSaid: if there is no text to show, the file says so, as the view's pages do.
func TestBlankTextIsSaid(t *testing.T) {
	for text, want := range map[string]bool{"": true, "\n \t\n": true, "Words.": false} {
		page := write(t, report.Build(&report.Findings{Submission: concordat.Document{Text: text}}, report.Rules{}))
		if got := strings.Contains(whole(t, page), "The document contains no text."); got != want {
			t.Errorf("of %q the page says that there is no text: %v, want %v", text, got, want)
		}
	}
}

// TestParagraphsStayApart: the text is shown with its paragraphs and lines.
func TestParagraphsStayApart(t *testing.T) {
	f := &report.Findings{Submission: concordat.Document{Text: "First line\nand second.\n\nNext\n \n\nLast.\n"}}
	var got []string
	for _, n := range parse(t, write(t, report.Build(f, report.Rules{}))) {
		if n.Data == "p" && n.Parent != nil && attr(n.Parent, "class") == "body" {
			got = append(got, textOf(n))
		}
	}
	if want := []string{"First line\nand second.", "Next", "Last."}; !slices.Equal(got, want) {
		t.Errorf("paragraphs %q, want %q", got, want)
	}
}

// TestContextOfSource: the words before a passage are shown with an ellipsis unless they begin the source.
func TestContextOfSource(t *testing.T) {
	text := "Where the river bends the old mill has stood for two hundred years."
	for before, want := range map[string]string{
		strings.Repeat("x", 100): "<i>xxx", strings.Repeat("x", 99): "<i>…xxx", "": "the old mill",
	} {
		f := several(text, concordat.Span{Start: 22, End: 40}, 1)
		f.Passages[0].Before = before
		page := write(t, report.Build(f, report.Rules{}))
		_, there, _ := strings.Cut(page, `<div class="side there">`)
		there, _, _ = strings.Cut(there, "</div>")
		_, there, _ = strings.Cut(there, `<p dir="auto"`)
		if _, there, _ = strings.Cut(there, ">"); !strings.HasPrefix(there, want) {
			t.Errorf("%d bytes before a passage at 100: %.40q, want %q", len(before), there, want)
		}
	}
}

// TestUnfitWordsMarkNothing: if a source's wording and its place have different lengths, places in it are unknown and no words are marked
// as different.
func TestUnfitWordsMarkNothing(t *testing.T) {
	text := "Where the river bends the old mill has stood for two hundred years."
	for _, more := range []string{"", "!"} {
		f := several(text, concordat.Span{End: 21}, 1)
		p := &f.Passages[0]
		p.Kind, p.Similarity, p.Text = concordat.KindNear, 0.9, "Where the brook bends"+more
		p.Words = []concordat.SpanPair{{Span: concordat.Span{End: 9}, Source: concordat.Span{Start: 100, End: 109}},
			{Span: concordat.Span{Start: 16, End: 21}, Source: concordat.Span{Start: 116, End: 121}}}
		page := write(t, report.Build(f, report.Rules{}))
		if fits := more == ""; strings.Contains(page, "<u>brook</u>") != fits || strings.Contains(page, "<u>river</u>") != fits {
			t.Errorf("with %q more than the place holds the differences are not marked as they should", more)
		}
	}
}

// TestFurtherSourcesAreNamedApart: sources not shown next to a passage are named one by one.
func TestFurtherSourcesAreNamedApart(t *testing.T) {
	page := whole(t, write(t, report.Build(several("Where the old mill has stood.", concordat.Span{End: 28}, 23), report.Rules{})))
	if !strings.Contains(page, "Also in 3 further sources") || !strings.Contains(page, "Title 20, Title 21, Title 22.") {
		t.Errorf("the page names no three further sources:\n%s", page)
	}
}

// TestExcludedSourceLooksSo: exactly the sources that do not count are listed as such, with the reason.
func TestExcludedSourceLooksSo(t *testing.T) {
	f := several("Where the old mill has stood.", concordat.Span{End: 28}, 2)
	r := report.Build(f, report.Rules{ExcludeSources: []concordat.Ref{f.Passages[1].Source}})
	items := 0
	for _, n := range parse(t, write(t, r)) {
		if n.Data != "li" || attr(n, "data-s") == "" {
			continue
		}
		items++
		excluded := strings.Contains(textOf(n), "Title 01")
		if off := attr(n, "class") == "off"; off != excluded || strings.Contains(textOf(n), "Not counted: ") != excluded {
			t.Errorf("%q is shown as excluded: %v, want %v", textOf(n), off, excluded)
		}
	}
	if items != 2 {
		t.Errorf("%d sources, want 2", items)
	}
}

// TestShortTextsShowBoth: a short text is shown next to the source's wording.
func TestShortTextsShowBoth(t *testing.T) {
	f := &report.Findings{Submission: concordat.Document{Title: "Old mills", Text: "Words."}, Short: &report.ShortFindings{Threshold: 0.5,
		Pieces: []report.ShortPiece{{Text: "Old mills"}}, Matches: []report.ShortMatch{{Similarity: 0.7, Text: "Old mills & <others>", Title: "T",
			Source: concordat.Ref{Site: "s", Library: "l", Document: "d"}}}}}
	page := whole(t, write(t, report.Build(f, report.Rules{})))
	if !strings.Contains(page, "Old mills (title)") || !strings.Contains(page, "Old mills & <others>") {
		t.Errorf("the page shows not both short texts:\n%s", page)
	}
}

// TestToolsStandWithTheirPlace: a page's additions to a passage, a source or a lead appear next to it exactly once.
func TestToolsStandWithTheirPlace(t *testing.T) {
	f := several("Where the old mill has stood. Nobody knows for how long.", concordat.Span{End: 28}, 2)
	lead := report.Lead{Span: concordat.Span{Start: 30, End: 56}, Source: f.Passages[0].Source, Kind: report.LeadRewording}
	lead.Pairs = []report.LeadPair{{Span: lead.Span, Similarity: 0.8}}
	f.Leads = []report.Lead{lead}
	v := html.NewView(report.Build(f, report.Rules{}))
	tool := func(i int) template.HTML { return template.HTML(fmt.Sprintf("<b>tool %d</b>", i)) }
	l := html.Links{PassageTools: tool, SourceTools: tool, LeadTools: tool}
	for name, part := range map[string]template.HTML{"passage": v.Passage(0, l), "lead": v.Leads(l), "source": v.Sources(0, 1, l)} {
		if strings.Count(string(part), "<b>tool 0</b>") != 1 || strings.Count(string(part), "<b>tool") != 1 {
			t.Errorf("the tools of the first %s do not stand there once:\n%s", name, part)
		}
	}
	balanced(t, string(v.Leads(html.Links{})))
}

// TestSmallMapShowsEveryKind: on the small map, a passage that counts has its source's colour, a passage that does not has the colour of
// the reason, and a lead has its own colour, each in its place.
func TestSmallMapShowsEveryKind(t *testing.T) {
	text := strings.Repeat("Where the old mill has stood. ", 20)
	f := several(text, concordat.Span{End: 28}, 1)
	for i, kind := range []concordat.Kind{concordat.KindParaphrase, concordat.KindVerbatim, concordat.KindVerbatim} {
		p := f.Passages[0]
		p.Span, p.Kind = concordat.Span{Start: 120 + 120*i, End: 148 + 120*i}, kind
		p.Source.Document, p.SourceSpan = concordat.DocumentID(fmt.Sprint(i)), concordat.Span{Start: 500 * i, End: 500*i + 28}
		f.Passages = append(f.Passages, p)
	}
	f.Passages[3].Wording = concordat.KindCommon
	f.Leads = []report.Lead{{Span: concordat.Span{Start: 540, End: 568}, Source: f.Passages[0].Source, Kind: report.LeadRewording,
		Pairs: []report.LeadPair{{Span: concordat.Span{Start: 540, End: 568}}}}}
	r := report.Build(f, report.Rules{ExcludePassages: []report.ExcludedPassage{{Span: concordat.Span{Start: 120, End: 148}}}})
	drawn := map[string]string{}
	for _, n := range parse(t, string(html.NewView(r).Map(html.Links{}))) {
		if n.Data == "path" && strings.HasPrefix(attr(n, "class"), "f-") {
			drawn[attr(n, "class")] += attr(n, "d")
		}
	}
	want := map[string]string{"f-so3": "M0.0 ", "f-out": "M200.0 ", "f-so2": "M400.0 ", "f-common": "M600.0 ", "f-lead": "M900.0 "}
	for class, at := range want {
		if d := drawn[class]; !strings.HasPrefix(d, at) || strings.Count(d, "M") != 1 {
			t.Errorf("%s is drawn as %q, want one place that begins with %q", class, d, at)
		}
	}
	if len(drawn) != len(want) {
		t.Errorf("drawn are %v", drawn)
	}
}
