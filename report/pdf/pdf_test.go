package pdf_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"concordat"
	"concordat/report"
	"concordat/report/internal/scenario"
	"concordat/report/pdf"
)

func findings(t testing.TB, name string) *report.Findings {
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

var day = time.Date(2026, 3, 15, 8, 0, 0, 0, time.UTC)

var options = pdf.Options{Site: "Northern University", Program: "1.0", Notes: []pdf.Note{
	{At: day, By: "anna", Kind: pdf.NoteComment, Text: "The method section comes from our own handbook."},
	{At: day, By: "anna", Kind: pdf.NoteVerdict, Verdict: "discuss", Text: "To be asked about page 3."},
	{At: day, By: "bert", Kind: pdf.NoteSignOff}}}

func write(t testing.TB, rep *report.Report) []byte {
	t.Helper()
	b, err := pdf.Write(rep, options)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tool runs a third-party program on the file, or skips the test.
func tool(t *testing.T, b []byte, name string, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not here: %v", name, err)
	}
	file := filepath.Join(t.TempDir(), "report.pdf")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, a := range args {
		if a == "FILE" {
			args[i] = file
		}
	}
	var stderr bytes.Buffer
	c := exec.Command(name, args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("%s complains: %s", name, stderr.String())
	}
	return out
}

// solid removes white space, which line breaks change, the direction marks of pdftotext, and the positional shapes of Arabic letters.
func solid(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r >= 0x202a && r <= 0x202e {
			return -1
		}
		return r
	}, arabicForm.ReplaceAllStringFunc(s, norm.NFKC.String))
}

var arabicForm = regexp.MustCompile(`[\x{fb50}-\x{fbff}\x{fe80}-\x{fefc}]`)

// shown returns s as the pages should show it, with escapes for letters that the fonts are known to lack. It does not use the package's
// own method.
func shown(s string, lacks func(rune) bool) string {
	var b strings.Builder
	for _, r := range s {
		if lacks(r) {
			fmt.Fprintf(&b, "[U+%04X]", r)
		} else {
			b.WriteRune(r)
		}
	}
	return solid(b.String())
}

// stands reports whether s is on one page or continues from one page to the next.
func stands(pages []string, s string) bool {
	for i, p := range pages {
		if strings.Contains(p, s) {
			return true
		}
		if i+1 == len(pages) {
			continue
		}
		for k := len(s) - 1; k > 0; k-- {
			if utf8.RuneStart(s[k]) && strings.Contains(p, s[:k]) && strings.Contains(pages[i+1], s[k:]) {
				return true
			}
		}
	}
	return false
}

func pagesOf(t *testing.T, b []byte) []string {
	t.Helper()
	var out []string
	for _, p := range strings.Split(string(tool(t, b, "pdftotext", "-raw", "-enc", "UTF-8", "FILE", "-")), "\f") {
		out = append(out, solid(p))
	}
	return out
}

// TestLater: the file lists documents found since the check.
func TestLater(t *testing.T) {
	rep := report.Build(findings(t, "english"), report.Rules{})
	rep.Later = []report.Later{{Source: concordat.Ref{Library: "theses"}, Title: "A late one", At: time.Unix(0, 0),
		Handled: report.LaterMark{By: "ada", At: time.Unix(60, 0)}}}
	pages := pagesOf(t, write(t, rep))
	for _, s := range append(rep.LaterWords(), "Found since then") {
		if !stands(pages, solid(s)) {
			t.Errorf("the file does not say %q", s)
		}
	}
}

// TestWording: another program finds every letter of every passage and its source in the file.
func TestWording(t *testing.T) {
	lacks := func(rune) bool { return false }
	for _, name := range []string{"english", "chinese", "arabic"} {
		t.Run(name, func(t *testing.T) {
			rep := report.Build(findings(t, name), report.Rules{})
			pages := pagesOf(t, write(t, rep))
			kept := func(s string) string { return s }
			if name == "arabic" { // pdftotext puts a comma after a right-to-left word before it
				kept = func(s string) string { return notLetters.ReplaceAllString(s, "") }
				for i := range pages {
					pages[i] = kept(pages[i])
				}
			}
			n := 0
			for i, e := range rep.Evidence {
				if head := report.English.EvidenceKind(e)[1:]; !stands(pages, kept(shown(head, lacks))) {
					t.Errorf("passage %d: the file lacks the heading %q", i+1, head)
				}
				for _, s := range e.Sources {
					for _, p := range s.Parts {
						for _, side := range []string{p.Span.In(rep.Submission.Text), p.Text} {
							if n++; !stands(pages, kept(shown(side, lacks))) {
								t.Errorf("passage %d: this is not in the file: %s", i+1, shown(side, lacks))
							}
						}
					}
				}
			}
			if n < 4 {
				t.Errorf("%d texts compared", n)
			}
		})
	}
}

var notLetters = regexp.MustCompile(`[^\pL\pN\pM]`)

// odd contains text that PDF writers lose or that conceals something.
const odd = "Plain, then 𠀀𝒜 beyond the plane; 㐀 a rare letter; a zero\u200bwidth space and a soft\u00adhyphen; Հայերեն գիր, ქართული, ελληνικά, кириллица, tiếng Việt, 日本語のテキスト、한국어 문장; \ufeffa mark; \u202eturned\u202c; tab\there; e\u0301 and a\u030a; {nb} {nb}; (brackets) \\ and \\) too; a\u2028b; \ue000; \x01\x7f."

// oddFindings returns findings with one source that contains text verbatim.
func oddFindings(text, source string) *report.Findings {
	ref := concordat.Ref{Site: "s", Library: "l", Document: "d"}
	f := &report.Findings{Version: report.Version, Task: "t", Submission: concordat.Document{ID: "x", Title: text, Text: text}, Made: day}
	if text != "" && source != "" {
		f.Passages = []concordat.Passage{{Span: concordat.Span{End: len(text)}, Source: ref, Title: source,
			SourceSpan: concordat.Span{Start: 5, End: 5 + len(source)}, Kind: concordat.KindNear, Similarity: 0.5, Text: source, Before: source,
			After: text}}
	}
	return f
}

func TestOddText(t *testing.T) {
	text := odd + strings.Repeat("这是没有空格的很长的一段中文，用来检查换行。", 40) + strings.Repeat("unbroken", 60) + " the end."
	rep := report.Build(oddFindings(text, text), report.Rules{})
	pages := pagesOf(t, write(t, rep))
	lacks := func(r rune) bool {
		return r > 0xffff || strings.ContainsRune("㐀\u200b\u00ad\ufeff\u202e\u202c\u2028\ue000\x01\x7f", r)
	}
	if want := shown(text, lacks); !stands(pages, want) {
		t.Errorf("got %s\nwant it to hold %s", strings.Join(pages, "\n---\n"), want)
	}
}

// TestPagesAreDrawn: no page is empty, and third-party programs consider the file valid.
func TestPagesAreDrawn(t *testing.T) {
	for _, name := range []string{"english", "chinese", "arabic"} {
		rep := report.Build(findings(t, name), report.Rules{})
		rep.Language = report.Language("zh-Hans")
		b := write(t, rep)
		tool(t, b, "qpdf", "--check", "FILE")
		image := tool(t, b, "pdftoppm", "-gray", "-r", "40", "FILE")
		pages := 0
		for len(image) > 0 {
			var w, h, most int
			if _, err := fmt.Sscanf(string(image[:20]), "P5\n%d %d\n%d\n", &w, &h, &most); err != nil {
				t.Fatal(err)
			}
			head := len(fmt.Sprintf("P5\n%d %d\n%d\n", w, h, most))
			dark := 0
			for _, p := range image[head : head+w*h] {
				if p < 128 {
					dark++
				}
			}
			if pages++; dark < w*h/400 {
				t.Errorf("%s: page %d has %d dark points of %d", name, pages, dark, w*h)
			}
			image = image[head+w*h:]
		}
		if pages < 2 {
			t.Errorf("%s: %d pages", name, pages)
		}
	}
}

// TestSameBytes: the same report always has the same bytes.
func TestSameBytes(t *testing.T) {
	rep := report.Build(findings(t, "chinese"), report.Rules{})
	if !bytes.Equal(write(t, rep), write(t, rep)) {
		t.Error("two files of one report differ")
	}
}

// TestParts: the file has people's decisions, omissions with their reasons, and the questions to partners.
func TestParts(t *testing.T) {
	f := findings(t, "english")
	rep := report.Build(f, report.Rules{ExcludePassages: []report.ExcludedPassage{{Span: f.Passages[0].Span,
		Comment: "cited on the page before", By: "supervisor", At: day}}})
	all := strings.Join(pagesOf(t, write(t, rep)), "")
	want := []string{"To be asked about page 3.", "To be discussed with the author", "Signed off by bert.", "cited on the page before",
		"supervisor", rep.Headline(), rep.Digest, string(rep.Scheme),
		"Northern University", "Page 1 of", "This file is not signed."}
	want = append(want, rep.Statement()...)
	want = append(want, rep.RuleWords()...)
	for _, s := range rep.Sources {
		want = append(want, s.Title, rep.Place(s.Ref))
	}
	for _, s := range want {
		if !strings.Contains(all, solid(s)) {
			t.Errorf("the file does not say %q", s)
		}
	}
}

// TestScoresSayWhatThereIs: the table of shares has the similarity of the wording if any was found, and the share of leads if a person
// counted some.
func TestScoresSayWhatThereIs(t *testing.T) {
	rep := report.Build(findings(t, "english"), report.Rules{})
	for _, there := range []bool{true, false} {
		rep.Scores.Leads = 0.07
		if !there {
			rep.Scores.Covered, rep.Scores.Leads = 0, 0
		}
		all := strings.Join(pagesOf(t, write(t, rep)), "")
		for _, s := range []string{"How close the wording is", "In leads counted by a person7%"} {
			if strings.Contains(all, solid(s)) != there {
				t.Errorf("the file says %q: %v, want %v", s, !there, there)
			}
		}
	}
}

// TestLeadToOwnWork: the file says that a lead's source may be the author's own earlier work.
func TestLeadToOwnWork(t *testing.T) {
	rep := report.Build(findings(t, "english"), report.Rules{})
	for _, own := range []*report.OwnWork{nil, {By: report.OwnByName, Author: "Jane Roe"}} {
		rep.Leads = []report.RuledLead{{Number: "L1", Own: own}}
		all := strings.Join(pagesOf(t, write(t, rep)), "")
		if got := strings.Contains(all, solid("Possibly the author's own earlier work")); got != (own != nil) {
			t.Errorf("%+v: said %v", own, got)
		}
	}
}

// TestSectionsSayWhatCounts: each section has its share, an excluded section is marked, and a section that was not compared has no share.
func TestSectionsSayWhatCounts(t *testing.T) {
	rep := report.Build(findings(t, "english"), report.Rules{})
	rep.Sections = []report.SectionScore{{Section: concordat.Section{Name: "Methods"}, Checked: 100, Share: 0.25},
		{Section: concordat.Section{Name: "Appendix"}, Checked: 100, Share: 0.5, Excluded: true}, {Section: concordat.Section{Name: "Preface"}}}
	all := strings.Join(pagesOf(t, write(t, rep)), "")
	if want := solid("Methods 25% Appendix 50% excluded by a rule Preface not measured"); !strings.Contains(all, want) {
		t.Errorf("the file does not say %q", want)
	}
	if n := strings.Count(all, solid("excluded by a rule")); n != 1 {
		t.Errorf("%d sections are excluded", n)
	}
}

func FuzzWrite(f *testing.F) {
	f.Add(odd, odd)
	f.Add("\xff\xfe", "\u0301")
	f.Add(strings.Repeat("\n", 50), " ")
	f.Fuzz(func(t *testing.T, text, source string) {
		if len(text)+len(source) > 20000 {
			return
		}
		rep := report.Build(oddFindings(text, source), report.Rules{})
		b, err := pdf.Write(rep, pdf.Options{Site: source, Notes: []pdf.Note{{By: text, Kind: pdf.NoteComment, Text: source}}})
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := pdf.Seal(b, []pdf.File{{Name: pdf.ReportFile, Type: "application/json", Content: []byte(text)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := pdf.Open(sealed)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := s.File(pdf.ReportFile); !ok || string(got) != text {
			t.Errorf("the attachment is %q, %v; want %q", got, ok, text)
		}
	})
}

func FuzzOpen(f *testing.F) {
	b, err := pdf.Write(report.Build(oddFindings("a text", "a source"), report.Rules{}), pdf.Options{})
	if err != nil {
		f.Fatal(err)
	}
	if b, err = pdf.Seal(b, []pdf.File{{Name: "a", Type: "b", Content: []byte("c")}},
		&pdf.Signature{At: day, Size: 40, Sign: func([]byte) ([]byte, error) { return []byte{0x30, 1, 2}, nil }}); err != nil {
		f.Fatal(err)
	}
	f.Add(b[len(b)-2000:])
	f.Add([]byte("%PDF-1.3\n/ByteRange [0 9 12 0]<00>"))
	f.Add([]byte("%PDF-1.3\n1 0 obj\n<< /Type /EmbeddedFile /Subtype /x /Filter /FlateDecode /Length 9 /Params << /Size 9 >> >>\nstream\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = pdf.Open(b)
		_, _ = pdf.Seal(b, nil, nil)
		o := &pdf.Objects{Objects: pdf.ObjectsOf(b)}
		if pages, other := o.Changed(b); pages != nil || other {
			t.Errorf("a file differs from itself: pages %v, other %v", pages, other)
		}
	})
}

// TestRandomText: random letters of many scripts, punctuation and symbols are in the file as they are, or as their code points.
func TestRandomText(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	ranges := [][2]rune{{'!', '~'}, {'!', '~'}, {'a', 'z'}, {0xc0, 0x17f}, {0x391, 0x3a1}, {0x400, 0x45f}, {0x531, 0x556}, {0x10d0, 0x10f0},
		{0x3041, 0x3096}, {0x4e00, 0x9fa5}, {0x4e00, 0x9fa5},
		{0xac00, 0xd7a3}, {0x3400, 0x4db5}, {0x1f300, 0x1f5ff}, {0x20000, 0x20100}, {0xe000, 0xe100}, {0x2190, 0x21ff}, {0x2200, 0x22ff},
		{0x3001, 0x3011}, {0x1680, 0x169c}}
	rep := report.Build(oddFindings("x", "y"), report.Rules{})
	var notes []pdf.Note
	for range 40 {
		var b strings.Builder
		for range 200 {
			x := ranges[random.IntN(len(ranges))]
			if random.IntN(6) == 0 {
				b.WriteByte(' ')
			}
			b.WriteRune(x[0] + random.Int32N(x[1]-x[0]+1))
		}
		notes = append(notes, pdf.Note{Kind: pdf.NoteComment, Text: b.String()})
	}
	b, err := pdf.Write(rep, pdf.Options{Notes: notes})
	if err != nil {
		t.Fatal(err)
	}
	pages := pagesOf(t, b)
	all := strings.Join(pages, "")
	for i, n := range notes {
		// The file itself lists the letters that the fonts lack.
		lacks := func(r rune) bool { return strings.Contains(all, fmt.Sprintf("[U+%04X]", r)) }
		if want := shown(n.Text, lacks); !stands(pages, want) {
			t.Errorf("note %d: this is not in the file: %s", i, want)
		}
	}
}
