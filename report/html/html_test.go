package html_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"

	"concordat"
	"concordat/internal/cputime"
	"concordat/report"
	"concordat/report/html"
	"concordat/report/internal/scenario"
)

func load(t testing.TB, name string) *report.Findings {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Read(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t testing.TB, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// parse returns every element of a page, and fails if tags do not nest, because a browser would repair the page by guessing.
func parse(t *testing.T, page string) []*xhtml.Node {
	t.Helper()
	balanced(t, page)
	root, err := xhtml.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var out []*xhtml.Node
	for n := range root.Descendants() {
		if n.Type == xhtml.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

func balanced(t *testing.T, page string) {
	t.Helper()
	void := map[string]bool{"meta": true, "input": true, "br": true}
	var open []string
	z := xhtml.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case xhtml.ErrorToken:
			if z.Err() != io.EOF || len(open) > 0 {
				t.Errorf("page ends with %v open: %v", open, z.Err())
			}
			return
		case xhtml.StartTagToken:
			if name, _ := z.TagName(); !void[string(name)] {
				open = append(open, string(name))
			}
		case xhtml.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> closes %v", name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

func attr(n *xhtml.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func textOf(n *xhtml.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == xhtml.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// checkPage requires what Write guarantees for every page.
func checkPage(t *testing.T, page string) []*xhtml.Node {
	t.Helper()
	nodes := parse(t, page)
	ids, targets := map[string]bool{}, map[string]bool{}
	scripts, styles := 0, 0
	policy := ""
	for _, n := range nodes {
		switch n.Data {
		case "script":
			scripts++
		case "style":
			styles++
		case "iframe", "object", "embed", "img", "link", "base", "audio", "video", "source", "image", "use", "foreignObject":
			t.Errorf("the page holds <%s>", n.Data)
		case "meta":
			if attr(n, "http-equiv") == "Content-Security-Policy" {
				policy = attr(n, "content")
			}
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "id" && ids[a.Val]:
				t.Errorf("id %s stands twice", a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "href":
				targets[a.Val] = true
			case a.Key == "src" || a.Key == "style" || a.Key == "srcset" || a.Key == "action" || strings.HasPrefix(a.Key, "on"):
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
	if scripts != 1 || styles != 1 {
		t.Errorf("%d scripts and %d styles, want 1 of each", scripts, styles)
	}
	for target := range targets {
		if id, ok := strings.CutPrefix(target, "#"); !ok || !ids[id] {
			t.Errorf("link to %q leads nowhere", target)
		}
	}
	for _, n := range nodes {
		for _, key := range []string{"aria-labelledby", "for"} {
			if id := attr(n, key); id != "" && !ids[id] {
				t.Errorf("%s=%q names nothing", key, id)
			}
		}
		if n.Data == "script" || n.Data == "style" {
			sum := sha256.Sum256([]byte(textOf(n)))
			if d := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, d) {
				t.Errorf("the policy %q does not allow the page's own %s %s", policy, n.Data, d)
			}
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("policy %q", policy)
	}
	return nodes
}

func TestPage(t *testing.T) {
	for _, name := range []string{"english", "chinese", "arabic"} {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			r := report.Build(f, report.Rules{})
			nodes := checkPage(t, write(t, r))
			marked := map[string]string{}
			landmarks := map[string]int{}
			body := ""
			for _, n := range nodes {
				landmarks[n.Data]++
				if n.Data == "mark" {
					marked[attr(n, "data-e")] += textOf(n)
				}
				if n.Data == "div" && attr(n, "class") == "body" {
					body = textOf(n)
				}
			}
			numbers := regexp.MustCompile(`[0-9]+\x{a0}[=≈~⊂∘×❞▭□–]|⚑`)
			for i, e := range r.Evidence {
				got := strings.Join(strings.Fields(numbers.ReplaceAllString(marked[fmt.Sprint(i+1)], "")), "")
				want := strings.Join(strings.Fields(e.Span.In(f.Submission.Text)), "")
				if got != want {
					t.Errorf("passage %d marks %q, want %q", i+1, got, want)
				}
			}
			for _, e := range []string{"main", "header", "footer", "nav", "h1"} {
				if landmarks[e] == 0 {
					t.Errorf("no <%s>", e)
				}
			}
			got := strings.Join(strings.Fields(numbers.ReplaceAllString(body, "")), "")
			if want := strings.Join(strings.Fields(f.Submission.Text), ""); got != want {
				t.Errorf("the page shows the text as\n%s\nwant\n%s", got, want)
			}
		})
	}
}

const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>' onmouseover='alert(3)<!-- ]]> </style></title></textarea>&lt;b&gt;` + "\x00\x1b\u202e\u2028javascript:alert(4)"

// TestStoredScriptIsInert: anything in a document, title, site or comment stays text.
func TestStoredScriptIsInert(t *testing.T) {
	f := spoiled(t)
	r := report.Build(f, report.Rules{
		ExcludeSections: []string{evil}, ExcludeSources: []concordat.Ref{{Site: evil}}, ExcludeKinds: []concordat.Kind{concordat.Kind(evil)},
		ExcludePassages: []report.ExcludedPassage{{Span: concordat.Span{End: 10}, Comment: evil, By: evil}},
	})
	for _, n := range checkPage(t, write(t, r)) {
		if n.Data == "script" && strings.Contains(textOf(n), "alert(1)") {
			t.Error("stored script became a script")
		}
	}
	if ctx := write(t, r); strings.ContainsAny(ctx, "\x00\x1b\u202e") {
		t.Error("the page holds control characters of a stored text")
	}
}

// spoiled returns findings with markup wherever text can appear.
func spoiled(t *testing.T) *report.Findings {
	f := load(t, "english")
	f.Submission.Title, f.Submission.ID, f.Task = evil, evil, evil
	f.Submission.Text = strings.ReplaceAll(f.Submission.Text, "Hydrologists", evil)
	f.Scheme, f.Forward, f.Probe = evil, evil, evil
	for i := range f.Passages {
		p := &f.Passages[i]
		p.Title, p.Before, p.After, p.Kind = evil, evil, evil, concordat.Kind(evil)
		p.Source = concordat.Ref{Site: "s", Library: evil, Document: evil}
		p.Text += evil
		p.SourceSpan.End += len(evil)
	}
	for i := range f.Sections {
		f.Sections[i].Name = evil
	}
	for i := range f.Consulted {
		f.Consulted[i].Site, f.Consulted[i].Err = evil, evil
	}
	for i := range f.Flags {
		f.Flags[i].Code, f.Flags[i].Detail = evil, evil
	}
	f.Skipped = append(f.Skipped, concordat.Skipped{Span: concordat.Span{Start: 900, End: 950}, Reason: evil})
	f.Signatures = []report.Signature{{Site: evil, Over: evil, Key: evil, Value: []byte(evil)}}
	return f
}

func TestEmptyPages(t *testing.T) {
	for _, f := range []*report.Findings{
		{},
		{Submission: concordat.Document{Text: "\n \n"}},
		{Submission: concordat.Document{Text: "Words."}, Checked: []concordat.Span{}},
		{Submission: concordat.Document{Text: "Words."}},
	} {
		page := write(t, report.Build(f, report.Rules{}))
		checkPage(t, page)
	}
}

// TestPageOfRandomFindings: random findings yield valid pages, where all marks nest and all links have a target.
func TestPageOfRandomFindings(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		f := large(rnd, 2000+rnd.IntN(3000), rnd.IntN(40), 1+rnd.IntN(5))
		for range rnd.IntN(5) {
			a := rnd.IntN(len(f.Submission.Text))
			f.Skipped = append(f.Skipped, concordat.Skipped{Span: concordat.Span{Start: a, End: a + 90}, Reason: concordat.SkipShort})
			f.Flags = append(f.Flags, concordat.Flag{Code: "x", Span: &concordat.Span{Start: a, End: min(a+9, len(f.Submission.Text))}})
		}
		f.Checked = []concordat.Span{}
		r := report.Rules{ExcludeQuotes: rnd.IntN(2) == 0, MinCharacters: rnd.IntN(60)}
		checkPage(t, write(t, report.Build(f, r)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzWrite(f *testing.F) {
	f.Add([]byte(`{"submission":{"text":"some words here\n\nand <b>there</b>"},"passages":[{"span":{"start":0,"end":20},"text":"some words","source_span":{"start":0,"end":10},"words":[{"span":{"start":0,"end":4},"source":{"start":0,"end":4}}]}],"flags":[{"code":"x","span":{"start":3,"end":9}}],"skipped":[{"span":{"start":17,"end":30},"reason":"short"}],"checked":[]}`))
	f.Add([]byte(`{"submission":{"text":"A heading (Smith, 2019)\n\n“quoted words here” [3]"},"dated":"2010","passages":[{"span":{"start":0,"end":30},"source":{"site":"s","library":"l","document":"d"}}],"dates":[{"source":{"site":"s","library":"l","document":"d"},"date":"2019","by":"file"}],"templates":[{"name":"x","text":"A heading"}],"short":{"threshold":0.5,"pieces":[{"text":"<b>"},{"span":{"start":0,"end":9},"text":"A heading"}],"matches":[{"piece":0,"similarity":2},{"piece":1,"documents":99},{"piece":7}]}}`))
	f.Fuzz(func(t *testing.T, findings []byte) {
		var x report.Findings
		if json.Unmarshal(findings, &x) != nil {
			return
		}
		x.Submission.Text = strings.ToValidUTF8(x.Submission.Text, "?")
		checkPage(t, write(t, report.Build(&x, report.Rules{ExcludeQuotes: true})))
	})
}

// large makes findings for a long text, with passages throughout and several sources for each.
func large(rnd *rand.Rand, size, passages, sources int) *report.Findings {
	var b strings.Builder
	words := strings.Fields("the committee of seven members met in the hall and spoke about water “which runs” under three borders 数据 共享，平台 before anybody had measured it")
	for b.Len() < size {
		b.WriteString(words[rnd.IntN(len(words))])
		b.WriteString([]string{" ", " ", " ", " ", ", ", ". ", ".\n\n"}[rnd.IntN(7)])
	}
	f := &report.Findings{Version: report.Version, Submission: concordat.Document{ID: "large", Text: b.String()}, Threshold: 0.3}
	kinds := []concordat.Kind{concordat.KindVerbatim, concordat.KindNear, concordat.KindParaphrase}
	for i := range passages {
		at := b.Len() / passages * i
		s := concordat.Span{Start: at, End: min(at+min(300, b.Len()/passages*2/3+1), b.Len())}
		for k := range sources {
			p := concordat.Passage{Span: s, Kind: kinds[rnd.IntN(3)], Similarity: rnd.Float64(), Title: fmt.Sprintf("Source %d", (i+k)%200),
				Source:     concordat.Ref{Site: "s", Library: "l", Document: concordat.DocumentID(fmt.Sprint((i + k) % 200))},
				SourceSpan: concordat.Span{Start: 1000 * i, End: 1000*i + 300}, Text: strings.Repeat("word words ", 28)[:300]}
			for j := range 10 {
				p.Words = append(p.Words, concordat.SpanPair{Span: concordat.Span{Start: s.Start + 20*j, End: s.Start + 20*j + 9},
					Source: concordat.Span{Start: 1000*i + 30*j, End: 1000*i + 30*j + 9}})
			}
			f.Passages = append(f.Passages, p)
		}
	}
	return f
}

// TestPageGrowsWithTheText: a report on a thesis is small enough for a browser, and its size is linear in the length of the text.
func TestPageGrowsWithTheText(t *testing.T) {
	size := func(n int) int {
		f := large(rand.New(rand.NewPCG(1, 4)), 600_000*n/4, 2000*n/4, 3)
		return len(write(t, report.Build(f, report.Rules{})))
	}
	quarter, whole := size(1), size(4)
	if whole > 5*quarter || whole > 16<<20 {
		t.Errorf("page of 600 kB and 2000 passages has %d bytes, of a quarter %d", whole, quarter)
	}
}

// TestPageOfManySources: with a hundred sources for each passage, the page is still small enough to open, and names every source.
func TestPageOfManySources(t *testing.T) {
	f := large(rand.New(rand.NewPCG(1, 5)), 200_000, 300, 100)
	page := write(t, report.Build(f, report.Rules{}))
	if len(page) > 20<<20 {
		t.Errorf("page of %d bytes", len(page))
	}
	named := map[string]bool{}
	for _, n := range checkPage(t, page) {
		if n.Data == "a" && strings.HasPrefix(attr(n, "href"), "#s") {
			named[textOf(n)] = true
		}
	}
	if len(named) < 200 {
		t.Errorf("%d of 200 sources are named beside a passage", len(named))
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, passages := range []int{250, 2000} {
		r := report.Build(large(rand.New(rand.NewPCG(1, 4)), 300*passages, passages, 3), report.Rules{})
		b.Run(fmt.Sprint("passages=", passages), func(b *testing.B) {
			b.ReportAllocs()
			var size int
			start := cputime.Used()
			for b.Loop() {
				var out bytes.Buffer
				if err := html.Write(&out, r); err != nil {
					b.Fatal(err)
				}
				size = out.Len()
			}
			cputime.Report(b, start, b.N, "op")
			b.ReportMetric(float64(size), "bytes/page")
		})
	}
}
