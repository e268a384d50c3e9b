package report_test

import (
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

var cited = concordat.Ref{Site: "s", Library: "l", Document: "x"}

// citing cites the same works in different styles: with the year in parentheses, numbered and wrapped, according to GB/T 7714, and in
// German styles.
var citing = map[string][2]string{
	"English": {`References

Harrow, B., & Lindley, C. (1994). Counting wells in dry valleys. Oxbow Press.

Ndiaye, O. (2007). Notes on the repair of gauges. Journal of Shared Water, 14(2), 101-126. https://doi.org/10.5555/4417

Berg, M. van der (2011a). Borders under ground. Water Law Review, 3, 12-40.

Quist, A. (2015). Who reads the record? Harbour Press.
`, `References
[1] B. Harrow and C. Lindley, “Counting Wells in Dry Valleys,”
    Oxbow Press, 1994.
[2] Ndiaye O. Notes on repairing of gauges. J. Shared Water. 2007;14(2):101.
    doi: 10.5555/4417.
[3] Ostrow, P. (2015). Who pays for the record? Harbour Press.
[4] Quist, A. (2015). The price of a drop. Harbour Press.
`},
	"Chinese": {`参考文献
[1] 林一帆, 陈望. 地下水监测制度的比较研究[J]. 水利与社会, 2021(3): 45-52.
[2] 周明远. 干旱区水井的分布[M]. 北京: 远山出版社, 2019.
[3] Harrow B. Counting wells in dry valleys[J]. Water Policy, 1994, 17(4): 640-659.
[4] 何青. 水权与村规[D]. 昆明: 滇池大学, 2010.
`, `参考文献

［1］周明远．干旱区水井的分布［M］．北京：远山出版社，2019.

［2］林一帆，陈望．地下水监测制度的比较研究［J］．水利与社会，2021（3）：45－52.

［3］HARROW B．Counting wells in dry valleys［J］．Water Policy，1994，17（4）：640－659.

［4］何青．集市与道路［D］．昆明：滇池大学，2010.
`},
	"German": {`Literaturverzeichnis

Müller, Anna (2008): Brunnen und Grenzen im trockenen Tal. Quellverlag, Kassel.
Köhler, B. und Weiß, C. (1999): Die Vermessung des Grundwassers. In: Zeitschrift für Wasserrecht 12, S. 1–20.
Sommer, D.: Protokolle einer Messstelle. Hafenverlag, Bremen 2014.
Vogt, E. (2003): Was der Pegel verschweigt. Quellverlag, Kassel.
`, `Literatur

1. Mueller, A.: Brunnen und Grenzen im trockenen Tal. Kassel: Quellverlag 2008.
2. Köhler, Bernd; Weiß, Carl: Die Vermessung des Grundwassers. Zeitschrift für Wasserrecht 12 (1999), 1-20.
3. Sommer, D. (2014): Protokolle einer Messstelle. Hafenverlag,
   Bremen.
4. Vogt, E. (2003): Die Regeln der Fischer. Quellverlag, Kassel.
`},
}

func TestBothCite(t *testing.T) {
	want := map[string][]string{"English": {"Harrow", "Ndiaye"}, "Chinese": {"林一帆", "周明远", "Harrow"}, "German": {"Müller", "Köhler", "Sommer"}}
	body := strings.Repeat("A line of the text itself, which says what is read and by whom it was read.\n", 4)
	for language, lists := range citing {
		here, there := body+lists[0], lists[1]
		got, ok := report.BothCite(report.Works(here), report.Works(there), cited, "X")
		if !ok || got.Of != 4 || got.Works != len(want[language]) || len(got.Entries) != got.Works || got.Title != "X" {
			t.Errorf("%s: %+v of %d and %d", language, got, len(report.Works(here)), len(report.Works(there)))
			continue
		}
		for i, e := range got.Entries {
			if !strings.Contains(e.In(here)[:min(40, e.Len())], want[language][i]) {
				t.Errorf("%s: entry %d is %q, want %s", language, i, e.In(here), want[language][i])
			}
		}
		back, _ := report.BothCite(report.Works(there), report.Works(here), cited, "X")
		if back.Works != got.Works {
			t.Errorf("%s: %d works one way, %d the other", language, got.Works, back.Works)
		}
	}
	if got, ok := report.BothCite(report.Works(citing["German"][0]), report.Works(citing["Chinese"][1]), cited, ""); ok {
		t.Errorf("lists of different works: %+v", got)
	}
	if got := report.Works("References\n\nNothing here cites a work, and no year is named.\n"); len(got) != 0 {
		t.Errorf("prose under a heading: %+v", got)
	}
}

// TestWorksOnce: a work cited twice is one work, and one with two DOIs is two.
func TestWorksOnce(t *testing.T) {
	list := "References\n\n[1] Quist, A. (2015). Who reads the record? https://doi.org/10.5555/1\n[2] Quist, A. (2015). Who reads the record? https://doi.org/10.5555/2\n" +
		"[3] Quist, A. (2015). Who reads the record? Harbour Press.\n[4] Quist, A. (2015). Who reads the record? Harbour Press, p. 3.\n"
	if got := report.Works(list); len(got) != 2 {
		t.Errorf("%d works, want 2", len(got))
	}
}

// FuzzWorks: works are entries of the text, in order and disjoint, and every text cites the works that it lists.
func FuzzWorks(f *testing.F) {
	for _, lists := range citing {
		f.Add(lists[0])
		f.Add(lists[1])
	}
	f.Add("References\n\n1. A (2001). B\n\xff\n2. 10.1234/x\n\n3.\n")
	f.Add("参考文献\n［1］．．[J]．2001\n[2] 10.1234/…，2002\n")
	f.Add("References\n" + strings.Repeat("[1] Quist, A. (2015). ", 100))
	f.Fuzz(func(t *testing.T, text string) {
		works := report.Works(text)
		end := 0
		for _, w := range works {
			if w.Start < end || w.End <= w.Start || w.End > len(text) {
				t.Fatalf("work at %v behind %d of %d bytes", w.Span, end, len(text))
			}
			end = w.End
		}
		got, ok := report.BothCite(works, works, concordat.Ref{}, "")
		if ok != (len(works) > 0) || got.Works != len(works) || got.Of != len(works) {
			t.Fatalf("of %d works %d are its own", len(works), got.Works)
		}
	})
}
