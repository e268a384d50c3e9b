package report_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/report/language"
)

// spoken lists the functions whose string arguments are words of a report, with the index of the first such argument.
var spoken = map[string]int{"Say": 0, "say": 0, "note": 0, "heading": 0, "caption": 0, "paragraph": 0, "Plural": 2, "row": 1,
	"withoutScore": 1}

// said returns every English text that the packages print from a literal, and the singular forms separately.
func said(t *testing.T) (out, one []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("html/*.go")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("pdf/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Concat(files, more, pages) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := ""
			switch fun := call.Fun.(type) {
			case *ast.SelectorExpr:
				name = fun.Sel.Name
			case *ast.Ident:
				name = fun.Name
			}
			from, ok := spoken[name]
			if !ok {
				return true
			}
			for i, a := range call.Args {
				lit, ok := a.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING || i < from && (name != "Plural" || i != 1) ||
					(name == "Say" || name == "say" || name == "note") && i > 0 {
					continue
				}
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				if name == "heading" && strings.HasSuffix(s, "-h") || s == "" || name == "row" && i > 3 {
					continue
				}
				if name == "Plural" && i == 1 {
					one = append(one, s)
					continue
				}
				out = append(out, s)
			}
			return true
		})
	}
	slices.Sort(out)
	slices.Sort(one)
	return slices.Compact(out), slices.Compact(one)
}

func TestEveryMessageIsTranslated(t *testing.T) {
	word, verb := regexp.MustCompile(`[A-Za-z]{2}`), regexp.MustCompile(`%\S`)
	for _, l := range language.All()[1:] {
		many, one := said(t)
		if l.Say("language.singular") == "yes" {
			many = append(many, one...)
		}
		for _, s := range many {
			if _, ok := l.Lookup(s); !ok && word.MatchString(verb.ReplaceAllString(s, "")) {
				t.Errorf("%s.json has no %q", l, s)
			}
		}
	}
}

// everything returns a report with content in every part.
func everything(t *testing.T) *report.Report {
	f := load(t, "chinese")
	ref := f.Passages[0].Source
	day := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
	f.Dated = "2010"
	for i, p := range f.Passages {
		f.Dates = append(f.Dates, report.SourceDate{Source: p.Source, Date: concordat.Date(strconv.Itoa(2015 + i)), By: concordat.DateOfFile,
			Added: day})
	}
	f.Templates = []report.Template{{Site: ref.Site, Library: ref.Library, Name: "表", Text: "在此基础上，本项目进一步研究查询过程的审计机制"}}
	f.Passages = append(f.Passages, concordat.Passage{Span: spanOf(t, f, "在此基础上，本项目进一步研究查询过程的审计机制"), Source: ref,
		Kind: concordat.KindSummary, Similarity: 0.5},
		concordat.Passage{Span: spanOf(t, f, "本项目的特色在于把数据主权放在首位"), Source: ref, Kind: concordat.KindParaphrase, Similarity: 0.8, Documents: 50})
	f.Short = &report.ShortFindings{Threshold: 0.6, Unindexed: 2, Capped: 1,
		Pieces: []report.ShortPiece{{Text: "标题"}, {Text: "一、立项依据", Span: spanOf(t, f, "一、立项依据")}, {Text: "无"}},
		Matches: []report.ShortMatch{{Piece: 0, Source: ref, Title: "题", Text: "标题", Similarity: 1, Documents: 1},
			{Piece: 1, Source: ref, Text: "立项依据", Similarity: 0.7, Documents: 99}}}
	f.Consulted = append(f.Consulted, concordat.Consulted{Site: "远", Library: "库", Asked: 3, Err: "超时"},
		concordat.Consulted{Site: "近", Library: "库", Asked: 3, Answered: 2, Capped: 2, Missing: []concordat.ShardID{"1"}})
	f.Skipped = append(f.Skipped, concordat.Skipped{Span: spanOf(t, f, "使每一次查询"), Reason: concordat.SkipFeatures})
	f.Signatures = []report.Signature{{Site: "远", Over: "1", Key: "2", Value: []byte{1}}}
	r := report.Build(f, report.Rules{MinCharacters: 3, MinSourceShare: 0.001, ExcludeKinds: []concordat.Kind{concordat.KindSummary},
		ExcludePassages: []report.ExcludedPassage{{Span: concordat.Span{Start: 3, End: 30}, Comment: "例"}}})
	r.Language = report.Language("zh-Hans")
	return r
}

func spanOf(t *testing.T, f *report.Findings, phrase string) concordat.Span {
	t.Helper()
	at := strings.Index(f.Submission.Text, phrase)
	if at < 0 {
		t.Fatalf("no %s in the text", phrase)
	}
	return concordat.Span{Start: at, End: at + len(phrase)}
}

// TestReportInChinese: a report in Chinese contains no English words except names and the wording of its document.
func TestReportInChinese(t *testing.T) {
	r := everything(t)
	var text, summary, page bytes.Buffer
	for _, err := range []error{report.WriteText(&text, r), report.WriteSummary(&summary, r), html.Write(&page, r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	plain := assets.ReplaceAllString(page.String(), "")
	tags := regexp.MustCompile(`<[^>]*>`)
	labels := regexp.MustCompile(`(?:aria-label|title|data-[a-z]+)="([^"]*)"`)
	for _, m := range labels.FindAllStringSubmatch(plain, -1) {
		summary.WriteString(m[1] + "\n")
	}
	known := regexp.MustCompile(`(?i)concordat|json|sha-256|unicode|utc|esc\b|\{[ekn]\}|natural@[0-9a-f]+|[0-9a-f]{16,}|task-\d|costa|measuring together|water policy|\[J\]|\[M\]|nbsp|quot|report verify|reindex|text_layer|DOI|\b[np]\b|\br\b|\bs\b`)
	english := regexp.MustCompile(`[A-Za-z]{2,}[A-Za-z ]*`)
	for name, s := range map[string]string{"text": text.String(), "summary": summary.String(), "page": tags.ReplaceAllString(plain, " ")} {
		for _, w := range english.FindAllString(known.ReplaceAllString(s, " "), -1) {
			t.Errorf("the %s says %q in English", name, w)
		}
	}
}

func TestParseLanguage(t *testing.T) {
	for tag, want := range map[string]report.Language{"": report.English, "en": report.English, "en-GB": report.English,
		"zh": report.Language("zh-Hans"), "zh-CN": report.Language("zh-Hans"), "zh_Hans": report.Language("zh-Hans")} {
		if got, err := report.ParseLanguage(tag); err != nil || got != want {
			t.Errorf("%q: %v %v, want %v", tag, got, err, want)
		}
	}
	if _, err := report.ParseLanguage("fr"); err == nil {
		t.Error("fr is taken")
	}
}

// TestJustBelow: if a figure is rounded up to the threshold, the report does not call it below the threshold.
func TestJustBelow(t *testing.T) {
	r := report.Report{Threshold: 0.3}
	r.Scores.Checked = 1000
	for covered, want := range map[float64]string{0.1: "This is below 30%", 0.296: "Before rounding this is just below 30%",
		0.3: "This is at or above 30%"} {
		r.Scores.Covered = covered
		if got := r.Reading(); !strings.HasPrefix(got, want) {
			t.Errorf("%g: %s", covered, got)
		}
	}
}

// TestOpenShare: while wording awaits a decision, a small share is not presented as finally below the threshold, no conclusion is drawn
// from it, and the undecided wording is not reported as excluded by rules.
func TestOpenShare(t *testing.T) {
	r := report.Report{Threshold: 0.3}
	r.Scores = report.Scores{Checked: 1000, Countable: 1000, Words: 1000, Excluded: 0.47, Undecided: 0.33, IfCounted: 0.33}
	if got := r.Reading(); !strings.HasPrefix(got, "Only 0% counts so far. If what is to be decided counts, the share reaches the 30%") {
		t.Errorf("reads %q", got)
	}
	if got := r.Conclusion(); !strings.HasPrefix(got, "Settle what is to be decided") {
		t.Errorf("concludes %q", got)
	}
	if got := r.Scores.ByRules(); math.Abs(got-0.14) > 1e-9 {
		t.Errorf("by rules %v", got)
	}
	r.Scores.Undecided, r.Scores.IfCounted = 0.05, 0.05
	if got := r.Reading(); !strings.HasPrefix(got, "Even if what is to be decided counts, the share stays below 30%") {
		t.Errorf("reads %q", got)
	}
	if got := r.Conclusion(); !strings.Contains(got, "does not prove originality") {
		t.Errorf("concludes %q", got)
	}
}

// TestKindAndCloseness: changed wording is not called identical.
func TestKindAndCloseness(t *testing.T) {
	for kind, want := range map[concordat.Kind]string{concordat.KindVerbatim: "word for word",
		concordat.KindNear: "lightly edited, nearly identical", concordat.KindCommon: "common wording, identical"} {
		if got := report.English.KindAndCloseness(kind, 1); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

// TestBoardNamesAnswers: a library without an answer is not listed among the compared ones.
func TestBoardNamesAnswers(t *testing.T) {
	r := report.Report{}
	r.Consulted = []concordat.Consulted{{Site: "a", Library: "one", Asked: 3, Answered: 3},
		{Site: "b", Library: "two", Asked: 3, Err: "no answer within 20 s"}}
	text := strings.Join(report.NewBoard(&r).Compared, "\n")
	if !strings.Contains(text, "Compared with 1 of 2 libraries: a/one.") || !strings.Contains(text, "b/two: did not answer") {
		t.Errorf("says %q", text)
	}
}
