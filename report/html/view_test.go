package html_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/report"
	"concordat/report/html"
)

// marks returns the passages marked in a piece of markup, in order.
func marks(s string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`id="m([0-9]+)"`).FindAllStringSubmatch(s, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestViewIsTheWholeReport: together, the pages of a view have the same text, marks and sources as the report in one file.
func TestViewIsTheWholeReport(t *testing.T) {
	for _, name := range []string{"english", "chinese", "arabic"} {
		f := load(t, name)
		// The text is repeated with its passages to fill several pages.
		text, found := f.Submission.Text, f.Passages
		for i := 1; len(f.Submission.Text) < 40_000; i++ {
			at := len(f.Submission.Text) + 2
			f.Submission.Text += "\n\n" + text
			for _, p := range found {
				p.Span = concordat.Span{Start: p.Span.Start + at, End: p.Span.End + at}
				p.Words = nil
				f.Passages = append(f.Passages, p)
			}
		}
		f.Checked, f.Sections, f.Skipped = nil, nil, nil
		r := report.Build(f, report.Rules{})
		var whole strings.Builder
		if err := html.Write(&whole, r); err != nil {
			t.Fatal(err)
		}
		_, one, _ := strings.Cut(whole.String(), `<div class="body"`)
		one, _, _ = strings.Cut(one, "</main>")
		v := html.NewView(r)
		var text2 strings.Builder
		for n := range v.Pages() {
			text2.WriteString(string(v.Text(n, html.Links{})))
		}
		if v.Pages() < 3 {
			t.Errorf("%s: %d pages", name, v.Pages())
		}
		plain := func(s string) string {
			s = regexp.MustCompile(`<a class="no".*?</a>`).ReplaceAllString(s, "")
			return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.ReplaceAll(s, "<p ", "\n<p "), "")), "")
		}
		if a, b := plain(`<div class="body"`+one), plain(text2.String()); a != b {
			t.Errorf("%s: the pages have another text: %d and %d bytes", name, len(a), len(b))
		}
		if a, b := strings.Join(marks(one), " "), strings.Join(marks(text2.String()), " "); a != b || a == "" {
			t.Errorf("%s: marks %s, want %s", name, b, a)
		}
		for e := range r.Evidence {
			page := string(v.Text(v.PageOf(e), html.Links{}))
			if !strings.Contains(page, `id="m`+strconv.Itoa(e+1)+`"`) {
				t.Errorf("%s: passage %d is not on its page", name, e+1)
			}
			if first := v.FirstOn(v.PageOf(e)); first > e {
				t.Errorf("%s: passage %d comes before the first of its page, %d", name, e+1, first+1)
			}
		}
		if s := string(v.Sources(0, len(r.Sources), html.Links{})); strings.Count(s, "<li ") != len(r.Sources) {
			t.Errorf("%s: %d sources, want %d", name, strings.Count(s, "<li "), len(r.Sources))
		}
		// Each link leads to the page of its target.
		l := html.Links{Page: func(n int) string { return "?page=" + strconv.Itoa(n+1) }}
		if s := string(v.Sources(0, 1, l)); !strings.Contains(s, `href="?page=`+strconv.Itoa(v.PageOf(r.Sources[0].Evidence[0])+1)+"#m") {
			t.Errorf("%s: links in\n%s", name, s)
		}
	}
}

// TestViewOfNothing: a report without text has one page, which states that there is no text.
func TestViewOfNothing(t *testing.T) {
	v := html.NewView(report.Build(&report.Findings{}, report.Rules{}))
	if s := string(v.Text(0, html.Links{})); v.Pages() != 1 || !strings.Contains(s, "no text") {
		t.Errorf("%d pages: %s", v.Pages(), s)
	}
	for _, s := range []string{string(v.Result(html.Links{})), string(v.Map(html.Links{})), string(v.Coverage()), string(v.Method()),
		string(v.Sources(0, 5, html.Links{}))} {
		if strings.Contains(s, "NaN") {
			t.Error(s)
		}
	}
}

// TestVeryLongParagraph: a text without line breaks is divided into pages between words, or else between characters.
func TestVeryLongParagraph(t *testing.T) {
	for _, text := range []string{strings.Repeat("word ", 20000), strings.Repeat("文", 30000)} {
		v := html.NewView(report.Build(&report.Findings{Submission: concordat.Document{Text: text}}, report.Rules{}))
		var b strings.Builder
		for n := range v.Pages() {
			b.WriteString(string(v.Text(n, html.Links{})))
		}
		if v.Pages() < 5 || strings.Contains(b.String(), "\uFFFD") {
			t.Errorf("%d pages", v.Pages())
		}
	}
}

// TestCompare: each place in one text has its counterpart on the other side, both texts keep their own order, and differences are marked.
func TestCompare(t *testing.T) {
	here := "First one line of ours. Then the quick brown fox jumps over the lazy dog again. " + strings.Repeat("Filling words. ", 200) +
		"At last a second place that both have."
	there := "In the source a second place that both have. " + strings.Repeat("Other words. ", 200) +
		"There the quick red fox jumps over the lazy dog again. <End>"
	ref := concordat.Ref{Site: "a", Library: "l", Document: "x"}
	span := func(text, s string) concordat.Span {
		i := strings.Index(text, s)
		return concordat.Span{Start: i, End: i + len(s)}
	}
	pair := func(a, b string) concordat.SpanPair {
		return concordat.SpanPair{Span: span(here, a), Source: span(there, b)}
	}
	fox := concordat.Passage{Source: ref, Kind: concordat.KindNear, Similarity: 0.9,
		Span:       span(here, "the quick brown fox jumps over the lazy dog again."),
		SourceSpan: span(there, "the quick red fox jumps over the lazy dog again."),
		Words: []concordat.SpanPair{pair("the quick", "the quick"), pair("fox jumps over the lazy dog again.",
			"fox jumps over the lazy dog again.")}}
	second := concordat.Passage{Source: ref, Kind: concordat.KindVerbatim, Similarity: 1,
		Span: span(here, "a second place that both have."), SourceSpan: span(there, "a second place that both have.")}
	fox.Text, second.Text = fox.SourceSpan.In(there), second.SourceSpan.In(there)
	r := report.Build(&report.Findings{Submission: concordat.Document{Text: here}, Passages: []concordat.Passage{fox, second}}, report.Rules{})
	v := html.NewView(r)
	c := v.Compare(0, html.CompareOptions{Text: there}, html.Links{})
	if c.Places != 2 || c.From != 0 || c.To != 2 {
		t.Fatalf("places %d, %d to %d", c.Places, c.From, c.To)
	}
	h, th := string(c.Here), string(c.There)
	if !strings.Contains(h, `id="h1"`) || !strings.Contains(h, `href="#t2"`) || strings.Index(h, `id="h1"`) > strings.Index(h, `id="h2"`) {
		t.Errorf("here:\n%s", h)
	}
	if strings.Index(th, `id="t2"`) > strings.Index(th, `id="t1"`) || !strings.Contains(th, `href="#h1"`) ||
		!strings.Contains(th, "&lt;End&gt;") || !strings.Contains(th, "characters omitted") {
		t.Errorf("there:\n%s", th)
	}
	if !strings.Contains(h, "<u>brown</u>") || !strings.Contains(th, "<u>red</u>") {
		t.Errorf("differences in\n%s\n%s", h, th)
	}
	// Without the text, or after a change to it, the part stored in the report is shown.
	for _, text := range []string{"", "short", strings.ToUpper(there)} {
		if th := string(v.Compare(0, html.CompareOptions{Text: text}, html.Links{}).There); !strings.Contains(th, "<u>red</u>") ||
			strings.Contains(th, "characters omitted") {
			t.Errorf("with %.10q:\n%s", text, th)
		}
	}
	if e := v.PlaceOf(0, 1); e != 1 {
		t.Errorf("passage 2 begins with place %d", e)
	}
}

// TestLeaf: a page has its picture, which loads when it comes into view, and its passages with the colours, letters and words of the
// text. A passage that began on an earlier page has no anchor here, so its mark is found only once.
func TestLeaf(t *testing.T) {
	r := report.Build(load(t, "english"), report.Rules{})
	v := html.NewView(r)
	at := []html.LeafBox{{X: 72, Y: 100, Width: 300, Height: 12}, {X: 72, Y: 114, Width: 120, Height: 12}}
	got := string(v.Leaf(html.Leaf{Number: 3, Pages: 9, Width: 595, Height: 842, Picture: "/p/3.png?a=1&b=2", Marks: []html.LeafMark{
		{Passage: 0, Boxes: at[:1]}, {Passage: 1, Begins: true, Boxes: at}}},
		html.Links{Passage: func(e int) string { return "/passages/" + r.Number(e) }}))
	text := string(v.Text(v.PageOf(1), html.Links{}))
	for _, want := range []string{`id="page-3"`, `src="/p/3.png?a=1&amp;b=2"`, `loading="lazy"`, `viewBox="0 0 595.0 842.0"`,
		`id="m` + r.Number(1) + `" aria-label="` + r.Number(1), `href="/passages/` + r.Number(0) + `" tabindex="-1" aria-hidden="true"`,
		`d="M72.0 100.0h300.0v12.0h-300.0zM72.0 114.0h120.0v12.0h-120.0z"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s:\n%s", want, got)
		}
	}
	look := regexp.MustCompile(`class="(m k-[^"]*)" data-e="` + r.Number(1) + `"`)
	here, there := look.FindStringSubmatch(got), look.FindStringSubmatch(text)
	if here == nil || there == nil || here[1] != there[1] {
		t.Errorf("the mark looks as %q, in the text as %q", here, there)
	}
}

// TestLeafFlags: a flagged stretch is framed on its page, with the flag's name and anchors; a flag that may conceal something has a sign.
func TestLeafFlags(t *testing.T) {
	f := load(t, "english")
	at := func(start, end int) *concordat.Span { return &concordat.Span{Start: start, End: end} }
	f.Flags = []concordat.Flag{{Code: "look_alike", Span: at(10, 15)}, {Code: "look_alike", Span: at(30, 35)},
		{Code: "pictures", Span: at(50, 60)}}
	v := html.NewView(report.Build(f, report.Rules{}))
	if d := cmp.Diff([]concordat.Span{{Start: 10, End: 15}, {Start: 30, End: 35}, {Start: 50, End: 60}}, v.FlagSpans()); d != "" {
		t.Fatal(d)
	}
	box := []html.LeafBox{{X: 72, Y: 100, Width: 30, Height: 12}}
	leaf := html.Leaf{Number: 1, Pages: 1, Width: 595, Height: 842, Flags: []html.LeafFlag{{Stretch: 0, Anchors: []int{0}, Boxes: box},
		{Stretch: 1, Anchors: []int{1}, Boxes: box}, {Stretch: 2, Anchors: []int{2}, Boxes: box}}}
	got := string(v.Leaf(leaf, html.Links{}))
	for want, n := range map[string]int{`<g class="flagged raised"><title>replaced letters</title>`: 2,
		`<g class="flagged"><title>pictures`: 1,
		`<g id="f1">`:                        1, `<g id="f3">`: 1, `d="M71.0 99.0h32.0v14.0h-32.0z"`: 3,
		`<a class="fs" href="#flag-look_alike"`: 1, `class="fs"`: 1} {
		if strings.Count(got, want) != n {
			t.Errorf("%d times %s, want %d:\n%s", strings.Count(got, want), want, n, got)
		}
	}
}

// TestLeafColours: paper stays light in a dark theme, so it uses the sources' colours for light pages.
func TestLeafColours(t *testing.T) {
	rules := regexp.MustCompile(`([^{}]*)\{((?:--so[0-9]b?:#[0-9a-f]{6};?)+)\}`).FindAllStringSubmatch(html.Style, -1)
	for i, r := range rules {
		if n := strings.Count(r[2], "#"); n != 18 || strings.Contains(r[1], ".paper") != (i == 0) {
			t.Errorf("%q: %d colours", r[1], n)
		}
	}
	if len(rules) != 3 {
		t.Errorf("%d rules, want those of light, dark and print", len(rules))
	}
}
