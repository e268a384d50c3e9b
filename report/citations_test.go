package report_test

import (
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// texts returns the texts of the spans.
func texts(text string, spans []concordat.Span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, s.In(text))
	}
	return out
}

func TestCitations(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"This was shown before [1].", "[1]"},
		{"Several groups [1-3, 7] and others [12, p. 45] agree.", "[1-3, 7] [12, p. 45]"},
		{"As others note (Smith, 2020), it holds.", "(Smith, 2020)"},
		{"It holds (see Smith & Jones, 2019, p. 12; Brown et al., 2021).", "(see Smith & Jones, 2019, p. 12; Brown et al., 2021)"},
		{"It holds (O’Neil 1998a).", "(O’Neil 1998a)"},
		{"Smith (2020) shows that Müller et al. (2011) erred.", "(2020) (2011)"},
		{"研究表明（王明，2020），共享有效。", "（王明，2020）"},
		{"研究表明(王明等, 2020；李华和陈望，2019)，共享有效。", "(王明等, 2020；李华和陈望，2019)"},
		{"王明（2020）认为共享有效[3]，另见〔4〕。", "（2020） [3] 〔4〕"},
		{"参见《分布式索引与隐私保护》第二章。", "《分布式索引与隐私保护》"},
		{"另见［12］。", "［12］"},
		// These look like entries but are not.
		{"[1] Smith J. A book about it. 2020.", ""},
		{"  [2] 王明. 研究[J]. 2020.", ""},
		{"It was founded (in March 2020) by a group.", ""},
		{"That year (2020) was dry.", ""},
		{"（成立于2020年）", ""},
		{"a[i] and b[100000] are elements, f(x) a value", ""},
		{"an open bracket (Smith, 2020 that nobody closes", ""},
		{"nested (as (Smith, 2020) says) brackets", "(Smith, 2020)"},
		{"《", ""}, {"[", ""}, {"（", ""}, {"《》", ""},
	} {
		r := report.Build(&report.Findings{Submission: concordat.Document{Text: c.text}}, report.Rules{})
		if got := strings.Join(texts(c.text, r.Citations), " "); got != c.want {
			t.Errorf("%s: citations %q, want %q", c.text, got, c.want)
		}
	}
}

// TestExcludeCitations: the citation rule excludes citation marks but not the text around them.
func TestExcludeCitations(t *testing.T) {
	text := "Sharing pays off in the long run (Smith & Jones, 2019), as all agree."
	f := &report.Findings{Submission: concordat.Document{Text: text}, Passages: []concordat.Passage{
		{Span: concordat.Span{End: len(text)}, Source: concordat.Ref{Site: "s", Library: "l", Document: "d"}, Kind: concordat.KindVerbatim,
			Similarity: 1}}}
	all, without := report.Build(f, report.Rules{}), report.Build(f, report.Rules{ExcludeCitations: true})
	if all.Scores.Covered != 1 || !(without.Scores.Whole > 0.6 && without.Scores.Whole < 0.8) || without.Scores.Covered != 1 {
		t.Errorf("covered %v, without citations %v of the whole", all.Scores.Covered, without.Scores.Whole)
	}
	if !all.Evidence[0].Cited || all.Evidence[0].Kind != concordat.KindVerbatim {
		t.Errorf("evidence %+v, want it cited and word for word", all.Evidence[0])
	}
	f.Passages[0].Span.End = len("Sharing pays off in the long run")
	if r := report.Build(f, report.Rules{}); !r.Evidence[0].Cited {
		t.Error("a citation right behind a passage is not seen")
	}
	f.Passages[0].Span.End = len("Sharing pays off")
	if r := report.Build(f, report.Rules{}); r.Evidence[0].Cited {
		t.Error("a citation further on is taken for the passage's")
	}
}

func TestNotesAreReferences(t *testing.T) {
	for name, c := range map[string]struct{ body, list string }{
		"chinese notes": {"正文在这里，说明了一些事情。\n\n", "注释\n\n① 王明：《分布式索引》，远山出版社2019年版，第45页。\n② 李华：《数据共享》，载《图书与情报》2020年第3期。\n"},
		"numbered":      {"正文在这里，说明了一些事情。\n\n", "注 释：\n[1] 网络资源[EB/OL]. https://example.org, 2021.\n[2] 陈望. 信任机制[J]. 2020(3): 45-52.\n"},
		"works cited": {"The text is here and says a few things.\n\n",
			"Works Cited\n\nSmith, John. A Book. Oxford University Press, 2019.\nJones, Ann. “An Article.” Journal, vol. 3, 2020, pp. 4–9.\n"},
		"notes": {"The text is here and says a few things.\n\n",
			"NOTES\n1. John Smith, A Book (Oxford: Press, 2019), pp. 45–46.\n2. Ann Jones, An Article, vol. 3 (2020), p. 7.\n"},
	} {
		r := report.Build(&report.Findings{Submission: concordat.Document{Text: c.body + c.list}}, report.Rules{})
		if got := strings.TrimSpace(strings.Join(texts(c.body+c.list, r.References), "")); got != strings.TrimSpace(c.list) {
			t.Errorf("%s: references %q, want %q", name, got, c.list)
		}
	}
	// A heading without entries excludes nothing.
	text := "注释\n\n这一节解释本文所用的术语，没有任何文献，只有说明。\n\n后面还有正文。"
	if r := report.Build(&report.Findings{Submission: concordat.Document{Text: text}}, report.Rules{}); len(r.References) > 0 {
		t.Errorf("references %q in prose", texts(text, r.References))
	}
}

func TestQuotationsOfBothLanguages(t *testing.T) {
	long := strings.Repeat("正文在这里继续说明一些别的事情，没有引用任何人的话。", 2)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"他说：“数据只有重量。”然后走了。", []string{"“数据只有重量。”"}},
		{"他說：「數據『只有』重量。」然後走了。", []string{"「數據『只有』重量。」"}},
		{"“外层‘里层’外层”", []string{"“外层‘里层’外层”"}},
		{"一个没有关上的“引号，到此为止。\n\n下一段有“完整的”引号。", []string{"“完整的”"}},
		{"关上却没有打开的”引号。", nil},
		{"见《分布式索引》一书。", nil},
		{"He said “it isn’t the students’ fault” and left.", []string{"“it isn’t the students’ fault”"}},
		{"It's the '90s: rock 'n' roll isn't dead, the dogs' bowls aren't empty.", nil},
		{"She wrote 'the dogs aren't here' in it.", []string{"'the dogs aren't here'"}},
		{`He is 5'10" tall and said "hello there" twice.`, []string{`"hello there"`}},
		{"“The first paragraph of a long quotation is not closed.\n\n“The second one is.” After it comes text.",
			[]string{"“The first paragraph of a long quotation is not closed.", "“The second one is.”"}},
		{"「第一段沒有關上。\n\n「第二段關上了。」後面是正文。", []string{"「第一段沒有關上。", "「第二段關上了。」"}},
		{"正文\n\n> 这是引文\n> 的两行\n\n正文", []string{"> 这是引文\n> 的两行"}},
		// A Chinese block quotation is indented more than the paragraphs.
		{"　　" + long + "\n\n　　" + long + "\n\n　　　　" + long + "\n\n　　" + long + "\n\n　　" + long, []string{"　　　　" + long}},
	} {
		r := report.Build(&report.Findings{Submission: concordat.Document{Text: c.text}}, report.Rules{})
		if got := texts(c.text, r.Quotes); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}
