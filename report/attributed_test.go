package report_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat/report"
)

// TestAttributions: text quoted with its source is someone else's; text that only looks quoted is the author's own.
func TestAttributions(t *testing.T) {
	const prose = "The mill stood at the bend of the river for as long as anybody could say, and its wheel turned twice a year.\n\n"
	for _, c := range []struct {
		why  report.AttributedAs
		text string
	}{
		{report.AsStatute, "§ 242 BGB lautet: Der Schuldner ist verpflichtet, die Leistung so zu bewirken, wie Treu und Glauben es erfordern."},
		{report.AsStatute, "Under 5 U.S.C. § 552, each agency shall make available to the public information as follows."},
		{report.AsStatute, "L'article 1240 du Code civil dispose que tout fait quelconque de l'homme qui cause un dommage oblige à le réparer."},
		{report.AsStatute, "Zgodnie z art. 415 k.c. kto z winy swej wyrządził drugiemu szkodę, obowiązany jest do jej naprawienia."},
		{report.AsStatute, "Согласно статье 10 Гражданского кодекса не допускается осуществление прав исключительно с намерением причинить вред."},
		{report.AsStatute, "《中华人民共和国海商法》第四十七条规定，承运人在船舶开航前和开航当时，应当谨慎处理，使船舶处于适航状态。"},
		{report.AsScripture, "Am Anfang schuf Gott Himmel und Erde, und die Erde war wüst und leer. (Gen 1,1-2)"},
		{report.AsScripture, "Blessed are the meek, for they shall inherit the earth. (Matthew 5:5)"},
		{report.AsVerse, "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\nCould frame thy fearful symmetry?\n(Blake, The Tyger)"},
		{report.AsVerse, "孟浩然《春晓》云：春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"},
		{report.AsQuotation, "“The owl of Minerva spreads its wings only with the falling of the dusk” (Hegel 1820, p. 23)."},
		{report.AsStatement, "Dichiarazione di originalità\n\nIl sottoscritto dichiara che il presente lavoro è frutto del proprio impegno."},
		{report.AsStatement, "Verklaring van eigen werk\n\nHierbij verklaar ik dat dit werkstuk door mij is geschreven en nergens eerder is ingeleverd."},
		{report.AsStatement, "Déclaration sur l'honneur\n\nJe certifie que ce mémoire est le fruit de mon travail et que les sources y sont nommées."},
		{report.AsStatement, "Ochrona danych osobowych\n\nDane uczestników zostały zapisane bez nazwisk i będą usunięte po obronie pracy."},
		{report.AsStatement, "Информированное согласие\n\nУчастники были извещены о целях исследования и подписали бланк, который хранится у автора."},
		{report.AsStatement, "Je certifie que ce mémoire est le fruit de mon seul travail et que toutes les sources y sont nommées.\n\nLyon, le 12 mai 2024"},
		{report.AsStatement, "Il sottoscritto attesta che questo lavoro è proprio e che tutte le fonti usate vi sono indicate.\nMilano, 12/05/2024"},
		{report.AsStatement, "Hierbij bevestig ik dat dit werkstuk van mijn hand is en dat alle bronnen erin worden genoemd.\n\nPlaats, datum: ...................."},
		{report.AsStatement, "Ja, niżej podpisany, stwierdzam, że tę pracę napisałem sam i że wskazałem w niej wszystkie źródła.\n\n_________ podpis"},
		{report.AsStatement, "Настоящим удостоверяю, что работа написана мной без чужой помощи и что все источники в ней названы.\n\nМосква, 12 мая 2024 г."},
		{report.AsSkeleton, "int main(void) {\n    char line[80];\n    fgets(line, sizeof line, stdin);\n    /* TODO: count the words */\n    return 0;\n}"},
		{report.AsSkeleton, "def area(shape):\n    # Bitte nicht ändern\n    check(shape)\n    return shape.width * shape.height"},
		{report.AsSkeleton, "public int size() {\n    // 在此编写代码\n    throw new UnsupportedOperationException();\n}"},
		{report.AsNotice, "Vargas, et al. Mills 286, 295 (1999). The resources for this article are at www.mills.example.org, which was read on 7 May 2008:\n" +
			"figures are at http://www.mills.example.org/full/286/295 and what was said of them at http://www.mills.example.org/full/286/295#said.\n" +
			"Whoever wants a copy asks at http://www.mills.example.org/about/copies."},
		{report.AsNotice, "Copyright © 2004, Gesellschaft für Mühlen e. V. Dieser Beitrag wurde auf der ersten Tagung der Müller gehalten."},
	} {
		text := prose + c.text + "\n\n" + prose
		all := report.Attributions(text)
		if len(all) != 1 || all[0].Why != c.why || !strings.HasPrefix(all[0].In(text), strings.TrimSpace(c.text)[:20]) {
			t.Errorf("%q: %v, want %s", c.text, all, c.why)
		}
	}
	// A notice in running text is recognised below a notice made of links, whose links are not its marks.
	links := strings.Repeat("What was said of the mill and of its wheel, weir and lock can be read by all at http://www.mills.example.org/full/286. ", 8)
	rights := "The Mills (print ISSN 0317-8471; online ISSN 1317-8471) comes out whenever the river allows it. © 1999 The Mill Press, Aldea."
	for _, text := range []string{
		links + "\n\n" + rights + "\n\n" + prose,
		prose + "The weir was mended, and\n" + rights + "\nthe lock was not.",
	} {
		all := report.Attributions(text)
		if len(all) == 0 || all[len(all)-1].Why != report.AsNotice || !strings.Contains(all[len(all)-1].In(text), "317-8471) comes") {
			t.Errorf("%q: %v", text, all)
		}
	}
	for _, own := range []string{
		"§ 1 The boats of the house are counted by the year in which they were built, and a boat that sinks keeps its number.",
		"第一条 本社船只以造成之年编号，沉没之船仍保留其号。",
		"The wheel was measured twice (Table 3.2) and the second measurement was the one that we kept for what follows.",
		"def area(shape):\n    check(shape)\n    total = shape.width * shape.height\n    return total - shape.hole",
		"We wrote down what is still to do: the wheel, the weir and the lock.\nDo not change the order, the miller said, and\nwe did not change it.",
		"Slack water is here the quarter of an hour in which a ferryman no longer trusts the current.",
		"The wheel is described at https://a.example.org/1, the weir at https://b.example.com/2, the lock at https://c.example.net/3 and " +
			"the ferry at https://d.example.edu/4, and none of them says when it was built.",
		"The photograph of the wheel is older than the wheel, as the museum says that has it (© 1931 Vargas), and so nobody believes it.",
		"In the wheel's last year the miller went to Lyon, and on 12 May 2024 he came back with a lock for which nobody had a key.",
		"The copyright of the drawings is older than the law that gave it, and those who drew the wheel had never heard of either of them.",
		"Of the wheel nothing is left but a rim of iron and the two books in which the miller wrote what he ground.\n\nThe weir ........ 17",
		"wall after wall was taken down,\nand of each the stones were\ncounted and carried to the\nriver by those who had built it",
	} {
		if all := report.Attributions(prose + own + "\n\n" + prose); len(all) > 0 {
			t.Errorf("%q: %v", own, all)
		}
	}
}

// TestAuthorLines: author names are recognised at the beginning of a document; prose there, and names elsewhere, are the author's text.
func TestAuthorLines(t *testing.T) {
	const names = "Ana Molina, Institute of Rivers, University of the North, Aldea, Chile\nBo Vik, Department of Boats, Fjord College, Norway"
	const prose = "The mill stood at the bend of the river for as long as anybody could say, and its wheel turned twice a year.\n\n"
	const german = "Die Mühle an der Biegung des Flusses, deren Rad sich zweimal im Jahr drehte, gehörte der Gemeinde, und das Mehl den Bauern.\n\n"
	for text, want := range map[string]bool{
		"Of mills\n\n" + names + "\n\n" + strings.Repeat(prose, 20):                                       true,
		strings.Repeat(prose, 20) + names + "\n\n" + prose:                                                false,
		strings.Repeat(german, 8):                                                                         false,
		"Ana Molina said, when she was asked, that it had been the wheel.\n\n" + strings.Repeat(prose, 4): false,
	} {
		all := report.Attributions(text)
		if got := len(all) == 1 && all[0].Why == report.AsAuthors && all[0].In(text) == names; got != want || !want && len(all) > 0 {
			t.Errorf("%.60q: %v", text, all)
		}
	}
}

// TestQuotationsInARow: quotation marks and a source protect a short quotation, but not a page divided into short ones.
func TestQuotationsInARow(t *testing.T) {
	const quote = "“The wheel turned twice a year and ground what was brought to it by those who had carried it so far” (Doe 1950, p. 12). "
	own := strings.Repeat("Nobody at the mill said so at the time, and the books of the mill say nothing of it either. ", 12)
	if got := report.AttributedQuotations(own + quote + own); len(got) != 1 {
		t.Errorf("of one quotation %v", got)
	}
	if got := report.AttributedQuotations(own + strings.Repeat(quote, 6) + own + own); len(got) != 0 {
		t.Errorf("of six in a row %v", got)
	}
}

// TestPartsApart: the parts of a document other than its author's prose are recognised by their layout.
func TestPartsApart(t *testing.T) {
	prose := strings.Repeat("The mill stood at the bend of the river for as long as anybody could say, and its wheel turned twice. ", 8)
	for why, part := range map[report.ApartAs]string{
		report.AsContents: "Inhalt\n1 Die Mühle ........ 3\n2 Das Rad ........ 17\n3 Der Fluss ........ 40\nAnhang ........ 88",
		report.AsImprint:  "Downloaded from mills.example.org on 3 May 2021. For personal use only.",
		report.AsKeywords: "Mots-clés : moulin, roue, rivière, farine",
	} {
		text := prose + "\n\n" + part + "\n\n" + prose
		got := report.PartsApart(text)
		if len(got) != 1 || got[0].Why != why || got[0].In(text) != part {
			t.Errorf("%s: %v", why, got)
		}
	}
	joined := "Contents 1 The mill ........ 3 2 The wheel and the weir ........ 17 3 The river ........ 40 Appendix ........ 88"
	got := report.PartsApart(prose + "\n\n" + joined + "\n\n" + prose)
	if len(got) != 1 || got[0].Why != report.AsContents || got[0].In(prose+"\n\n"+joined) != joined {
		t.Errorf("a contents page in one line: %v", got)
	}
	title := "UNIVERSIDAD DEL NORTE\nFacultad de Letras\n\nEl molino y su rueda\n\nTesis doctoral\n2021"
	if got := report.PartsApart(title + "\n\n" + prose); len(got) != 1 || got[0].Why != report.AsTitle || got[0].In(title) != title {
		t.Errorf("title page: %v", got)
	}
	for _, title := range []string{
		"The mill and its wheel",
		"On the wheels of mills that stand at the bends of rivers, and on those who measured them before anybody had asked how wide a river is",
		"El molino y su rueda\n\nAna Molina, Instituto de Ríos",
	} {
		if got := report.PartsApart(title + "\n\n" + prose); len(got) != 1 || got[0].Why != report.AsTitle || got[0].In(title) != title {
			t.Errorf("title %q: %v", title, got)
		}
	}
	for _, c := range []struct{ page, text string }{ // the page that is apart, and the text in short lines below it
		{"", "Nobody kept the books of the mill after the miller and his brother had gone\nWhat the brook carried in spring was sold to those who asked for it\n" +
			"Whoever came late paid half and took what was left beside the wheel\nThe stones were turned only when the weir had been opened"},
		{"THE MILL\nAna Molina\n2021\n", "Nobody kept the books of the mill after the miller and his brother had gone\n\n" +
			"What the brook carried in spring was sold to those who asked for it\n\nWhoever came late paid half and took what was left beside the wheel"},
		{"", "تقع الطاحونة عند منعطف النهر منذ زمن بعيد لا يعرفه احد من اهل القرية\nوكانت عجلتها تدور مرتين في السنة فتطحن ما يحمله اليها الناس من قمح وشعير\n" +
			"ثم جاء من يقيس عرض النهر وعمقه قبل ان يسال احد عن ذلك كله في تلك الايام"},
		{"", "磨坊自古以来就立在河湾的旁边村里没有一个人说得清它究竟是什么时候建成的\n它的轮子每年只转动两次把人们从远处背来的麦子和豆子一点一点地磨成细粉\n" +
			"后来有人来量河面的宽度和水的深浅当时谁也没有问过他为什么要做这样的事"},
	} {
		head := strings.TrimSpace(c.page)
		got := report.PartsApart(c.page + c.text + "\n\n" + prose)
		if head == "" && len(got) > 0 || head != "" && (len(got) != 1 || got[0].In(c.page) != head) {
			t.Errorf("text in short lines under %q: %v", head, got)
		}
	}
	for _, title := range []string{
		"On the wheels of mills that stand at the bends of rivers\n\nA thesis submitted in partial fulfilment of the requirements for the degree of Doctor of Philosophy\n\n" +
			"Ana Molina\n\nThe University of the North\n\n2021",
		"河湾磨坊的轮子及其丈量者之研究\n\n北方大学人文学院历史学系硕士学位论文\n\n作者 李河\n\n指导教师 王江 教授\n\n2021年5月",
		"ON THE WHEEL\nAna Molina 1, Berta Ríos 2, Carl Mühle 1, Dora Fluss 3, and Emil Wehr 2\n1 Institute of Rivers, University of the North, Norstad\n" +
			"2 Department of Mills, Technical University of the Weir, Wehrstadt\n3 Society of Old Wheels, Lock House, Ferryton",
	} {
		if got := report.PartsApart(title + "\n\n" + prose); len(got) != 1 || got[0].Why != report.AsTitle || got[0].In(title) != title {
			t.Errorf("title page %q: %v", title, got)
		}
	}
	items := "What the wheel does\n* It turns the stones on which those who live below the weir grind what they have\n" +
		"* It lifts the water to the fields of those who live above it in dry years\n* It wakes those who sleep too long in the house of the miller"
	if got := report.PartsApart(items + "\n\n" + prose); len(got) == 1 && got[0].Len() > len(items)/2 {
		t.Errorf("a list at the beginning: %v", got)
	}
	for _, own := range []string{"The mill stood at the bend of the river for as long as anybody could say.", "the wheel, and what was said of it"} {
		if got := report.PartsApart(own + "\n\n" + prose); len(got) != 0 {
			t.Errorf("%q: %v", own, got)
		}
	}
	head := "\n\nAna Molina\nThe Mill and its Wheel 12\n\n"
	var pages []string
	for _, place := range []string{"mill", "weir", "lock", "ferry"} {
		pages = append(pages, strings.ReplaceAll(prose, "mill", place))
	}
	if got := report.PartsApart(strings.Join(pages, head)); len(got) != 3 || got[0].Why != report.AsRunning {
		t.Errorf("running heads: %v", got)
	}
	// A page submitted three times in a row has no running heads.
	wrapped := strings.ReplaceAll(strings.Join(pages, "\n"), ". ", "\n")
	if got := report.PartsApart(strings.Join([]string{wrapped, wrapped, wrapped}, "\n\n"+prose+"\n\n")); len(got) != 0 {
		t.Errorf("a page three times: %v", got)
	}
	lines := strings.ReplaceAll(strings.TrimSpace(prose), ". ", "\n")
	if got := report.PartsApart(lines + "\n\n" + prose); len(got) != 0 {
		t.Errorf("prose in lines: %v", got)
	}
}

func FuzzAttributions(f *testing.F) {
	f.Add("§ 1 BGB “a” (x 1:2)\n\n《春》：一二三四五，一二三四五。\n\nDeclaration\n\nI do.")
	f.Add("Contents\n1 \xff ..... 3\n\n© 2001")
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, x := range report.Attributions(text) {
			if x.Start < end || x.End <= x.Start || x.End > len(text) {
				t.Fatalf("attributed %v of %d bytes", x, len(text))
			}
			end = x.End
		}
		end = 0
		for _, x := range report.PartsApart(text) {
			if x.Start < end || x.End <= x.Start || x.End > len(text) {
				t.Fatalf("apart %v of %d bytes", x, len(text))
			}
			end = x.End
		}
	})
}

// TestPartsApartOfPDF: contents pages, footers and codes are recognised as PDF readers extract them, in two languages each; prose in such
// a layout is not.
func TestPartsApartOfPDF(t *testing.T) {
	prose := strings.Repeat("The mill stood at the bend of the river for as long as anybody could say, and its wheel turned twice. ", 8)
	other := strings.ReplaceAll(prose, "mill", "weir")
	third := strings.ReplaceAll(prose, "mill", "lock")
	for _, c := range []struct {
		why  report.ApartAs
		part string
	}{
		{report.AsContents, "Contents\nThe mill 3\nThe wheel and the weir 17\nThe river 40\nAppendix 88"},
		{report.AsContents, "Inhaltsverzeichnis\n1 Die Mühle 3\n2 Das Rad und das Wehr 17\n3 Der Fluss 40\nAnhang 88"},
		{report.AsContents, "1 Die Mühle 3\n1.1 Das Rad 4\n1.2 Das Wehr 9\n2 Der Fluss 17\n2.1 Das Ufer 18\n3 Die Stadt 40"},
		{report.AsContents, "1 Le moulin 3\n1.1 La roue 4\n1.2 Le barrage 9\n2 La rivière 17\n2.1 La rive 18\n3 La ville 40"},
		{report.AsKeywords, "УДК 621.22"},
		{report.AsKeywords, "UDC 621.22(091)"},
		{report.AsKeywords, "Schlagworte: Mühle, Rad, Fluss"},
		{report.AsKeywords, "Codes JEL : D12, Q25"},
	} {
		text := prose + "\n\n" + c.part + "\n\n" + other
		if got := report.PartsApart(text); len(got) != 1 || got[0].Why != c.why || got[0].In(text) != c.part {
			t.Errorf("%s %q: %v", c.why, c.part, got)
		}
	}
	for _, footer := range []string{
		"Authorized licensed use limited to: University of Aldea. Downloaded on May 12,2020 at 10:11:12 UTC from Mill Xplore. Restrictions apply.",
		"Bereitgestellt von der Universitätsbibliothek Aldea, angemeldet als Gast der Mühlen, heruntergeladen am 12.05.20 um 10:11 Uhr",
	} {
		pages := strings.Join([]string{prose, other, third, prose + "At last it stood still."}, "\n\n"+footer+"\n\n")
		n := 0
		for _, x := range report.PartsApart(pages) {
			if strings.Contains(x.In(pages), footer[:20]) {
				n++
			}
		}
		if n != 3 {
			t.Errorf("%d of 3 footers %q", n, footer)
		}
	}
	page := "The fishermen of the eastern shore counted their boats in spring. They wrote the number on the wall of the house. " +
		"Whoever bought a boat in summer paid for the paint. Whoever sold one left his line on the wall until the next spring. " +
		"When the wall was full they built another house, which is why the street has eleven houses in which nobody ever lived. "
	wrapped := strings.Split(strings.TrimSpace(page), " ")
	dressed := func(end func(n int) string) string {
		var b strings.Builder
		for i := 0; i < len(wrapped); i += 9 {
			b.WriteString(strings.Join(wrapped[i:min(len(wrapped), i+9)], " ") + end(i) + "\n")
		}
		return b.String()
	}
	table := "Year Mills\nAldea 12\nBirk 15\nCove 18\nDale 22\nErse 31"
	for _, own := range []string{
		dressed(func(n int) string { return fmt.Sprintf(" ........ %d", n+1) }),
		dressed(func(n int) string { return fmt.Sprintf(" %d", n+1) }),
		strings.ReplaceAll(page, ". ", " ........ 12\n"),
		strings.ReplaceAll(page, ". ", " ........ 12 "),
		"Contents\n" + dressed(func(n int) string { return fmt.Sprintf(" %d", n+1) }),
		"Keywords: " + page[:300],
		"Schlüsselwörter: " + page[:300],
		"УДК 621.22 " + page[:300],
		table,
	} {
		text := prose + "\n\n" + own + "\n\n" + other
		n := 0
		for _, x := range report.PartsApart(text) {
			n += len(x.In(text))
		}
		if 4*n > len(own) {
			t.Errorf("%d of %d bytes of %q are apart", n, len(own), own)
		}
	}
}
