package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
)

// cut returns the texts of the spans.
func cut(text string, s spans) []string {
	var out []string
	for _, x := range s {
		out = append(out, x.In(text))
	}
	return out
}

func TestQuotations(t *testing.T) {
	for _, x := range []struct {
		text string
		want []string
	}{
		{"He said “no more” and left.", []string{"“no more”"}},
		{`He said "no more" and left.`, []string{`"no more"`}},
		{"He said ‘no more’ and didn’t wait.", []string{"‘no more’"}},
		{"He said 'no more' and didn't wait.", []string{"'no more'"}},
		{"In the ’90s, and ’tis true, it was so.’", nil},
		{"He pressed ‘F5s’, ‘5xs’ and ‘x0s’ twice.", []string{"‘F5s’", "‘5xs’", "‘x0s’"}},
		{"He pressed 'F5s' and 'x0s' twice.", []string{"'F5s'", "'x0s'"}},
		{"It’s the students’ own work, isn’t it?", nil},
		{"It's the students' own work, isn't it?", nil},
		{"Er sagte „nie wieder“ und ging.", []string{"„nie wieder“"}},
		{"Er sagte »nie wieder« und ging.", []string{"»nie wieder«"}},
		{"Il dit « plus jamais » et partit.", []string{"« plus jamais »"}},
		{"Han sade ”aldrig mer” och gick.", []string{"”aldrig mer”"}},
		{"Powiedział „nigdy więcej” i wyszedł.", []string{"„nigdy więcej”"}},
		{"Он сказал «больше никогда» и ушёл.", []string{"«больше никогда»"}},
		{"他说“再也不会”，然后离开。", []string{"“再也不会”"}},
		{"他說「再也不會『這樣』做」，然後離開。", []string{"「再也不會『這樣』做」"}},
		{"他说＂再也不会＂，然后离开。", []string{"＂再也不会＂"}},
		{"他读《红楼梦》和〈序〉。", nil},
		{"彼は「もう二度と」と言った。", []string{"「もう二度と」"}},
		{"She said “he told me ‘no’ twice” and “yes”.", []string{"“he told me ‘no’ twice”", "“yes”"}},
		{"An “unclosed mark quotes nothing.\n\nNot even” here.", nil},
		{"A 5\" pipe and a 7\" pipe.", nil},
		{"> quoted by mail\n> over two lines\n\nand an answer", []string{"> quoted by mail\n> over two lines"}},
		{"A “" + strings.Repeat("very long passage ", 300) + "” is no quotation.", nil},
		{strings.Repeat("Plain prose in\nseveral lines.\n\n", 4) + "    set apart\n    as a block\n", []string{"    set apart\n    as a block"}},
		{strings.Repeat("    all prose is\n    indented here\n\n", 4), nil},
	} {
		if d := cmp.Diff(x.want, cut(x.text, quotations(x.text))); d != "" {
			t.Errorf("quotations of %q:\n%s", x.text, d)
		}
	}
}

func TestBibliography(t *testing.T) {
	prose := strings.Repeat("This paragraph is prose and goes on for a while without naming any work at all.\n\n", 3)
	list := "[1] Adeyemi, F. (2011). Borders under ground. Journal of Water Law 14(2), 101-126.\n" +
		"[2] Costa, R. (2015). Measuring together. Water Policy 17(4),\n640-659.\n" +
		"[3] Haddad, S. (2019). Wells and treaties. Harbour Press, Bristol.\n"
	authors := "Adeyemi, F. (2011). Borders under ground. Journal of Water Law 14(2), 101-126.\n\n" +
		"Costa, R. (2015). Measuring together. Water Policy 17(4), 640-659. doi:10.2166/wp.2015.017\n\n" +
		"Haddad, S. (2019). Wells and treaties. Harbour Press, Bristol.\n"
	chinese := "[1] 林一帆, 陈望. 科研数据共享的信任机制研究[J]. 图书与情报, 2021(3): 45-52.\n[2] 周明远. 分布式索引[M]. 北京: 远山出版社, 2019.\n"
	for _, x := range []struct{ name, text, want string }{
		{"English", prose + "References\n\n" + list, "References\n\n" + strings.TrimSpace(list)},
		{"numbered heading", prose + "7. REFERENCES:\n" + list, "7. REFERENCES:\n" + strings.TrimSpace(list)},
		{"markdown heading", prose + "## Works Cited\n\n" + authors, "## Works Cited\n\n" + strings.TrimSpace(authors)},
		{"German", prose + "Literaturverzeichnis\n" + authors, "Literaturverzeichnis\n" + strings.TrimSpace(authors)},
		{"Russian", prose + "Список литературы\n" + list, "Список литературы\n" + strings.TrimSpace(list)},
		{"Chinese", "正文。\n\n参考文献\n\n" + chinese, "参考文献\n\n" + strings.TrimSpace(chinese)},
		{"Chinese, spaced out", "正文。\n\n参 考 文 献\n" + chinese, "参 考 文 献\n" + strings.TrimSpace(chinese)},
		{"Chinese, bracketed", "正文。\n\n【参考文献】\n" + chinese, "【参考文献】\n" + strings.TrimSpace(chinese)},
		{"ended by an appendix", prose + "References\n" + list + "\nAppendix\n\n" + prose, "References\n" + strings.TrimSpace(list)},
		{"ended by prose", prose + "References\n" + list + "\n" + prose + prose + prose, "References\n" + strings.TrimSpace(list)},
		{"a heading over prose", prose + "References\n\n" + prose + prose, ""},
		{"a line of a table of contents", "Contents\nIntroduction\nResults\nReferences\nAppendix\n\n" + prose, ""},
		{"no heading", prose + strings.Repeat(list, 2), strings.TrimSpace(strings.Repeat(list, 2))},
		{"a word of a sentence", prose + "references are listed in the annex of the report.\n" + prose, ""},
	} {
		got := strings.Join(cut(x.text, bibliography(x.text)), "|")
		if got != x.want {
			t.Errorf("%s: list of references is\n%q\nwant\n%q", x.name, got, x.want)
		}
	}
}

func TestTemplateWording(t *testing.T) {
	form := "Describe the aim of the project in no more than two hundred words."
	text := "1. Describe the AIM of the project, in no more than two hundred words:\nWe describe water. Name: N.\nDescribe the aim of our work."
	got := cut(text, wordingOf(text, []string{form, "Name: N."}))
	want := []string{"Describe the AIM of the project, in no more than two hundred words:\n", "Name: N.\n"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	han := "制定行政部门社会并管理机构____行政部门权利职称评审组____申请人不得变更"
	filled := strings.Replace(strings.Replace(han, "____", "水利局", 1), "____", "三日内", 1)
	got = cut(filled, wordingOf(filled, []string{han}))
	if d := cmp.Diff([]string{"制定行政部门社会并管理机构", "行政部门权利职称评审组"}, got); d != "" {
		t.Errorf("between what was filled in: %s", d)
	}
	if s := wordingOf("", []string{form}); len(s) != 0 {
		t.Errorf("an empty text holds %v of a template", s)
	}
}

// TestTemplateWordingAgainstSearch compares with a naive search that looks up every window of the text in every template.
func TestTemplateWordingAgainstSearch(t *testing.T) {
	eachRandom(t, 50, func(t *testing.T, rnd *rand.Rand) {
		text := randomText(rnd, 400)
		templates := []string{randomText(rnd, 150), randomText(rnd, 10)}
		got := wordingOf(text, templates)
		own, at := foldRunes(text)
		var want []concordat.Span
		for _, tpl := range templates {
			folded, _ := foldRunes(tpl)
			n := min(len(folded), templateRun)
			for i := 0; n > 0 && i+n <= len(own); i++ {
				if strings.Contains(string(folded), string(own[i:i+n])) {
					want = append(want, concordat.Span{Start: at[i], End: at[i+n]})
				}
			}
			for i := 0; n == templateRun && i+hanRun <= len(own); i++ {
				run := own[i : i+hanRun]
				if isHan(run) && strings.Contains(string(folded), string(run)) {
					want = append(want, concordat.Span{Start: at[i], End: at[i+hanRun]})
				}
			}
		}
		if d := cmp.Diff(union(want), got); d != "" {
			t.Error(d)
		}
	})
}
