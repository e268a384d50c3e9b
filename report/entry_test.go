package report

import (
	"strings"
	"testing"

	"concordat"
)

// entries contains works in the citation styles of many fields and languages.
const entries = `Okafor, N. A., & Lind, B. (2001). The effects of shade on the growth of mosses on northern walls: A field trial. Journal of Small Plants, 12(3), 45–67. https://doi.org/10.5555/1
Okafor, Nneka. 2001. The Book of Walls. Bristol: Harbour Press.
Okafor, Nneka. Mosses and Masons: The Rise of the Northern Wall. Bristol: Harbour, 1995.
Okafor N (2001) The book of walls and their uses. Small Plants 3:1–2
1. Okafor, N., Lind, B.: A method for the measurement of shade. J. Walls 3(2), 1–2 (2001)
Nneka Okafor and Bo Lind. 2001. Measuring many walls at once. In Proc. of the 12th Int. Conf. on Walls, pages 3-9. ACM.
[1] Nneka Okafor and Bo Lind. Measuring many walls at once. Journal of Walls, 3(2):1–2, 2001.
[Oka01] Nneka Okafor. Measuring few walls. PhD thesis, University of the North, 2001.
[2] N. Okafor and B. Lind, “Counting walls in dry valleys,” Oxbow Press, 1994.
Okafor N, Lind B. Measuring shade in the valleys. Small Plants. 2006;37(3):292-298.
Okafor, Nneka. “Notes on Shade.” Small Plants, vol. 11, no. 2, 1971, pp. 225-252.
3. Nneka Okafor, The Walls (Bristol: Harbour, 2019), pp. 45–46.
MÖLLER, Hanna (1999), Moose der Mauern, Berlin: Springer.
Möller, Hanna: Moose im Schatten. In: Zeitschrift für Mauern 3 (1999), S. 4–9.
DURAND Jeanne, Les mousses des murs et de leurs pierres, Paris, Gallimard, 1999, 320 p.
Durand, J., « Les mousses du nord », Revue des murs, vol. 3, n° 2, 1999, p. 3-4.
Jeanne Durand, Murs et mousses, Paris, Gallimard, 1975.
Núñez Ríos, G. (1999). La historia de los muros del norte. Madrid: Alianza.
SOUZA, J. A. Muros do norte: musgos e pedras. São Paulo: Atlas, 2001.
Bianchi M., I muschi dei muri, Milano, Feltrinelli, 1999.
Nowak J., Mchy na murach północy, Warszawa 1999, s. 34–56.
Петрова И. И. Мхи на северных стенах // Журнал. — 1999. — № 3. — С. 4–9.
Петрова, И. И. Мхи и стены / И. И. Петрова. – М. : Наука, 1999. – 320 с.
[3] 林一帆, 陈望. 城墙苔藓的分布[J]. 北方学刊, 2021(3): 45-52.
林一帆：《城墙苔藓考》，北京：远山书局，1990年版，第30页。
[清]陈望之：《城墙志》，远山书局1985年版。
田中一郎（1999）「城壁の研究」『雑誌』3巻2号、4-9頁
김철수 (1999). 북쪽 성벽의 이끼. 학술지, 3(2), 4-9.
أحمد، محمد (1999). طحالب الجدران. دار النشر، 45-67.
World Wall Organization. (2010). Guidelines for the care of walls. Geneva: WWO.
Statistisches Amt (2020): Die Lage der Mauern. Wiesbaden.
Jansen, P. & de Vries, K. (1999). De geschiedenis van de muur. Amsterdam: Bijlage.`

// citedProse resembles entries, because it cites, has numbers, or begins with a year or a name. All of it is prose.
var citedProse = []string{
	"In 1731 the parish sold the lower wall in order to pay for the bell, and kept the right to dry flax on it (Thorne, p. 18).",
	"In 1759, Kessel sold two oxen of the parish to the mason, who paid for one of them in the same year (Kessel and Thorne 1902, p. 61).",
	"2012–2015: worked at the University of the North on the mosses of the eastern wall, three winters of it in the archive.",
	"7. The mason denied it before the court and was believed; the clerk wrote down what he had said. Cf. Thorne 1902, p. 44.",
	"12. This is the reading of Thorne (1902), pp. 3–9, who had not seen the second wall and took its shade for that of the first.",
	"Thorne, A. (1902). The wall that we measured had lost its cap before the survey began and gave no shade at noon. We therefore measured it " +
		"again in the evening and took the mean of both as its height in this work. Neither of them differs much from what the clerk wrote.",
	"Okafor and Lind (2001) measured the shade of forty walls in a dry valley and found that it was shorter than their model had it, pp. 3-9.",
	"Der Maurer verkaufte 1808 die untere Mauer und behielt das Recht, darauf Flachs zu trocknen (Kessel 1902, S. 61).",
	"Las piedras del muro fueron vendidas en 1808 y el clérigo guardó para sí el derecho de secar el lino (Núñez 1902, p. 61).",
	"2012年，申请人在北方大学开始研究城墙的苔藓，三年内取样四百余处，最老的一处早于县志所载一百二十年。",
	"城墙上的苔藓多生于北面，县志以为因日光不足（林一帆，《北方学报》2001年第3期，第10-16页）。",
	"陈望在《北方大学学报》2014年第2期撰文说明，苔藓层并非雨水所致，而是历年修补的灰浆养出来的。",
}

// TestEntriesOfAllStyles: entries of every style are recognised as works, and sentences that cite works are not.
func TestEntriesOfAllStyles(t *testing.T) {
	read := func(s string) (record, bool) { return readRecord(s, concordat.Span{End: len(s)}) }
	for e := range strings.Lines(entries) {
		e = strings.TrimSpace(e)
		if r, ok := read(e); !ok || !r.sure || r.In(e) != e {
			t.Errorf("read %q of the entry %q, sure %v", r.In(e), e, r.sure)
		}
	}
	for _, p := range citedProse {
		if r, ok := read(p); ok && r.sure {
			t.Errorf("read as an entry: %q of %q", r.In(p), p)
		}
	}
}

// TestProseAmongReferences: prose between entries, or after an entry in its paragraph, is not part of the list.
func TestProseAmongReferences(t *testing.T) {
	const first = "Okafor, N. (1974). Walls and those who built them. Journal of Walls, 17(2), 20-70."
	const second = "Lind, B. & Bly, T. (1985). The late wall. Northern Review, 29(1), 45-81."
	const third = "Quill, R. (2004). Stone by weight. Annals of Masonry, 30(4), 58-93."
	const note = "The author stood for a whole year beside the same wall and counted who leaned on it, which nobody had done before her."
	for name, text := range map[string]string{
		"paragraphs":  strings.Join([]string{first, note, second, note, third, note}, "\n\n"),
		"same line":   strings.Join([]string{first + " " + note, second + " " + note, third + " " + note}, "\n"),
		"headed":      "References\n\n" + strings.Join([]string{first, note, second, note, third, note}, "\n\n"),
		"prose first": note + "\n\n" + strings.Join(citedProse, "\n\n") + "\n\n" + strings.Join([]string{first, second, third}, "\n"),
		"prose last":  "Bibliography\n\n" + strings.Join([]string{first, second, third}, "\n") + "\n\n" + strings.Join(citedProse, "\n\n"),
	} {
		lists := References(text)
		for _, e := range []string{first, second, third} {
			at := strings.Index(text, e)
			if len(Without(concordat.Span{Start: at, End: at + len(e)}, lists)) > 0 {
				t.Errorf("%s: %q is not in a list of references", name, e)
			}
		}
		for _, p := range append(citedProse, note) {
			for at := strings.Index(text, p); at >= 0 && at < len(text); {
				s := concordat.Span{Start: at, End: at + len(p)}
				if rest := Without(s, lists); len(rest) != 1 || rest[0] != s {
					t.Errorf("%s: of %q only %v is compared", name, p, cut(text, rest))
				}
				next := strings.Index(text[s.End:], p)
				if next < 0 {
					break
				}
				at = s.End + next
			}
		}
		if n := len(Works(text)); n != 3 {
			t.Errorf("%s: %d works, want 3", name, n)
		}
	}
}

// FuzzReferences: in any text, the lists are in order, disjoint and within the text, and they contain their entries.
func FuzzReferences(f *testing.F) {
	f.Add(entries)
	f.Add("References\n\n" + entries)
	for _, p := range citedProse {
		f.Add(p)
	}
	f.Add("[1] \xff\xfe, A. (2001)\n\n(, 1999.\n“ 2001")
	f.Fuzz(func(t *testing.T, text string) {
		lists := spans(References(text))
		end := 0
		for _, s := range lists {
			if s.Start < end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("lists %v of %d bytes", lists, len(text))
			}
			end = s.End
		}
		for _, w := range Works(text) {
			if len(spans{w.Span}.without(lists)) > 0 {
				t.Fatalf("the work %v is in none of %v", w.Span, lists)
			}
		}
	})
}
