package extract_test

import (
	"bytes"
	"fmt"
	"image/png"
	"strings"
	"testing"

	"concordat/extract"
	"concordat/internal/cputime"
)

// TestLocate: in a document with two columns, words divided at line ends and a header on every page, every paragraph is found on its
// pages, letter by letter, and its marks cover ink.
func TestLocate(t *testing.T) {
	paragraphs := salad(60)
	data := typeset{columns: 2, size: 9, header: "A running header of the journal"}.pdf(paragraphs)
	text := readPDF(t, data).Text
	pages, err := engine(t).Letters(data, extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 2 {
		t.Fatalf("%d pages", len(pages))
	}
	across := 0
	drawn := map[int]*extract.Page{}
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		fold := extract.Fold(p)
		if len(fold) < 60 {
			continue
		}
		at := extract.Locate(pages, fold, float64(strings.Index(text, p))/float64(len(text)))
		if !at.Sure() || at.Share < 0.97 {
			t.Errorf("found %v of: %s", at.Share, p)
			continue
		}
		var got strings.Builder
		for _, s := range at.Spans {
			got.WriteString(string([]rune(pages[s.Page-1])[s.Start:s.End]))
		}
		if !strings.Contains(fold, got.String()) && at.Share == 1 {
			t.Errorf("got %s\nwant %s", got.String(), fold)
		}
		if at.Spans[0].Page != at.Spans[len(at.Spans)-1].Page {
			across++
		}
		for _, s := range at.Spans {
			page := drawn[s.Page]
			if page == nil {
				if page, err = engine(t).Page(data, s.Page, 600); err != nil {
					t.Fatal(err)
				}
				drawn[s.Page] = page
			}
			if page.Letters != pages[s.Page-1] || len(page.Boxes) != len([]rune(page.Letters)) {
				t.Fatalf("page %d has %d letters and %d boxes, want %d of each", s.Page, len([]rune(page.Letters)), len(page.Boxes),
					len([]rune(pages[s.Page-1])))
			}
			onInk(t, page, page.Marks(s.Start, s.End))
		}
	}
	if across == 0 {
		t.Error("no paragraph goes on on another page: the test shows little")
	}
}

// salad returns paragraphs of made-up words, each unique.
func salad(n int) []string {
	words := strings.Fields("undertakings shall keep the records that are needed to show what they did in a year of measurement while water levels fell and the governance of shared aquifers became a question for neighbouring administrations")
	state := uint32(7)
	out := make([]string, n)
	for i := range out {
		var b strings.Builder
		for range 70 {
			state = state*1664525 + 1013904223 // Numerical Recipes, section 7.1
			b.WriteString(words[int(state>>8)%len(words)] + " ")
		}
		out[i] = strings.TrimSpace(b.String()) + "."
	}
	return out
}

// onInk fails if a mark covers no ink or lies outside the page.
func onInk(t *testing.T, p *extract.Page, marks []extract.Box) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(p.PNG))
	if err != nil {
		t.Fatal(err)
	}
	if len(marks) == 0 {
		t.Error("no marks")
	}
	scale := float64(img.Bounds().Dx()) / p.Width
	for _, m := range marks {
		if m.Left < 0 || m.Top < 0 || float64(m.Right) > p.Width || float64(m.Bottom) > p.Height {
			t.Errorf("a mark lies beyond the page: %+v", m)
		}
		dark := 0
		for y := int(float64(m.Top) * scale); y < int(float64(m.Bottom)*scale); y++ {
			for x := int(float64(m.Left) * scale); x < int(float64(m.Right)*scale); x++ {
				if r, _, _, _ := img.At(x, y).RGBA(); r < 0x8000 {
					dark++
				}
			}
		}
		if dark == 0 {
			t.Errorf("page %d: no ink under %+v", p.Number, m)
		}
	}
}

func TestLocateChooses(t *testing.T) {
	same := "thesamesentencestandsinbothplaces"
	pages := []string{"one" + same + "two", "three", "four" + same + "five"}
	for near, want := range map[float64]int{0: 1, 1: 3} {
		if at := extract.Locate(pages, same, near); at.Share != 1 || len(at.Spans) != 1 || at.Spans[0].Page != want {
			t.Errorf("near %v: %+v, want page %d", near, at, want)
		}
	}
	if at := extract.Locate(pages, "quitedifferentwordsthatstandnowhere", 0.5); at.Sure() || at.Share != 0 {
		t.Errorf("found %+v", at)
	}
	// One passage contains a header, and one letter was misread.
	at := extract.Locate([]string{"thefirsthalfofthepassage", "headerpage2andthesecondhalfofit"},
		"thefirsthalfofthepassageandthesecondha1fofit", 0)
	if at.Sure() != (at.Share >= extract.SureShare) || len(at.Spans) < 2 || at.Spans[1].Page != 2 {
		t.Errorf("got %+v", at)
	}
	for _, short := range []string{"", "abc"} {
		if at := extract.Locate(pages, short, 0); at.Share != 0 {
			t.Errorf("%q is found: %+v", short, at)
		}
	}
}

// TestPlacer: a Placer finds the same as the function Locate, paragraph by paragraph, and Pages returns the same letters as Letters.
func TestPlacer(t *testing.T) {
	data := typeset{columns: 2, size: 9, header: "A running header of the journal"}.pdf(salad(60))
	text := readPDF(t, data).Text
	letters, err := engine(t).Letters(data, extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	placer, found := extract.NewPlacer(letters), 0
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		fold, near := extract.Fold(p), float64(strings.Index(text, p))/float64(len(text))
		if len(fold) < 60 {
			continue
		}
		found++
		want, got := extract.Locate(letters, fold, near), placer.Locate(fold, near)
		if got.Share < want.Share || !got.Sure() || got.Spans[0].Page != want.Spans[0].Page {
			t.Errorf("got %+v, want %+v of: %s", got, want, p)
		}
	}
	if found < 10 {
		t.Errorf("%d paragraphs: the test shows little", found)
	}
	pages, err := engine(t).Pages(data, 2, 2)
	if err != nil || len(pages) != min(2, len(letters)-1) {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for i, p := range pages {
		if p.Number != i+2 || p.Pages != len(letters) || p.Letters != letters[i+1] || len(p.Boxes) != len([]rune(p.Letters)) || p.PNG != nil {
			t.Errorf("page %d of %d: %d letters, %d boxes", p.Number, p.Pages, len(p.Letters), len(p.Boxes))
		}
	}
	for _, from := range []int{-1, 0, len(letters) + 1} {
		if _, err := engine(t).Pages(data, from, 2); err == nil {
			t.Errorf("there are pages from %d", from)
		}
	}
}

// TestPlacerRepeats: if many places have the same letters, the one where the passage is expected is chosen.
func TestPlacerRepeats(t *testing.T) {
	const same = "thesamesentencestandsoneverypage"
	var pages []string
	for i := range 40 {
		pages = append(pages, "page"+strings.Repeat(string(rune('a'+i%26)), 50)+same)
	}
	p := extract.NewPlacer(pages)
	for want := 1; want <= 40; want += 13 {
		if at := p.Locate(same, (float64(want)-0.4)/40); at.Share != 1 || at.Spans[0].Page != want {
			t.Errorf("%+v, want page %d", at, want)
		}
	}
	for _, none := range []string{"", "short", "quitedifferentwordsthatstandnowhere"} {
		if at := p.Locate(none, 0.5); at.Share != 0 {
			t.Errorf("%q is found: %+v", none, at)
		}
	}
}

// TestLocateWithin: a word is found by the text around it, also if the page shows other letters in its place. A word that the page lacks is
// not found, nor is one whose surroundings are elsewhere.
func TestLocateWithin(t *testing.T) {
	before := func(i int) string {
		k := uint64(i+1) * 0x9e3779b97f4a7c15
		return extract.Fold(fmt.Sprintf("In the case %x %x of the series the ", k, k*k))
	}
	const after = "oftheriverwashigh"
	pages := func(other int, word string) (out []string) {
		for i := range 60 {
			one := "water"
			if i == other {
				one = word
			}
			if i%3 == 0 {
				out = append(out, "")
			}
			out[i/3] += before(i) + one + after
		}
		return out
	}
	for _, c := range []struct{ read, page, want string }{
		{"water", "water", "water"}, {"wаter", "water", "water"}, {"wаter", "wаter", "wаter"}, {"water", "", ""},
	} {
		for _, i := range []int{0, 22, 59} {
			all := pages(i, c.page)
			at := extract.NewPlacer(all).LocateWithin(before(i), c.read, after, float64(i)/60)
			got := ""
			if at.Sure() {
				for _, s := range at.Spans {
					got += string([]rune(all[s.Page-1])[s.Start:s.End])
				}
			}
			if got != c.want || got != "" && at.Spans[0].Page != i/3+1 {
				t.Errorf("%q, on the page %q: found %q at %+v, want %q", c.read, c.page, got, at, c.want)
			}
		}
	}
	p := extract.NewPlacer(pages(0, "water"))
	for _, c := range [][3]string{{"", "water", ""}, {"quitedifferentwords", "water", "thatstandnowhereatall"}, {before(3), "", after}} {
		if at := p.LocateWithin(c[0], c[1], c[2], 0.5); len(at.Spans) > 0 && at.Sure() {
			t.Errorf("%q is found at %+v", c, at)
		}
	}
}

func TestPageErrors(t *testing.T) {
	data := typeset{columns: 1, size: 9}.pdf([]string{"One page."})
	for _, n := range []int{0, -1, 2} {
		if _, err := engine(t).Page(data, n, 600); err == nil {
			t.Errorf("there is a page %d", n)
		}
	}
	if _, err := engine(t).Page([]byte("no PDF"), 1, 600); err == nil {
		t.Error("no PDF is drawn")
	}
	if _, err := engine(t).Letters([]byte("no PDF"), extract.Options{}); err == nil {
		t.Error("no PDF has letters")
	}
}

func FuzzLocate(f *testing.F) {
	f.Add("some letters that stand here", "letters that stand", 0.5)
	f.Add(strings.Repeat("ab", 200), strings.Repeat("ab", 60), 2.0)
	f.Fuzz(func(t *testing.T, all, passage string, near float64) {
		if len(all)+len(passage) > 4000 {
			return
		}
		a, b, _ := strings.Cut(extract.Fold(all), "x")
		pages := []string{a, b}
		at := extract.Locate(pages, extract.Fold(passage), near)
		if at.Share < 0 || at.Share > 1 {
			t.Fatalf("share %v", at.Share)
		}
		placed := extract.NewPlacer(pages).Locate(extract.Fold(passage), near)
		if placed.Share < 0 || placed.Share > 1 {
			t.Fatalf("placed %v", placed.Share)
		}
		for _, s := range append(at.Spans, placed.Spans...) {
			if s.Start < 0 || s.Start >= s.End || s.End > len([]rune(pages[s.Page-1])) {
				t.Fatalf("span %+v of %d letters", s, len([]rune(pages[s.Page-1])))
			}
		}
	})
}

func BenchmarkPages(b *testing.B) {
	paragraphs := salad(1000)
	data := typeset{columns: 2, size: 9, header: "A running header of the journal"}.pdf(paragraphs)
	e := engine(b)
	pages, err := e.Letters(data, extract.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("letters", func(b *testing.B) {
		start := cputime.Used()
		for b.Loop() {
			if _, err := e.Letters(data, extract.Options{}); err != nil {
				b.Fatal(err)
			}
		}
		cputime.Report(b, start, b.N*len(pages), "page")
	})
	b.Run("locate", func(b *testing.B) {
		passage := extract.Fold(paragraphs[500])
		start := cputime.Used()
		for b.Loop() {
			if !extract.Locate(pages, passage, 0.5).Sure() {
				b.Fatal("not found")
			}
		}
		cputime.Report(b, start, b.N, "op")
		b.ReportMetric(float64(len(pages)), "pages")
	})
	b.Run("draw", func(b *testing.B) {
		start := cputime.Used()
		for b.Loop() {
			if _, err := e.Page(data, 20, 1200); err != nil {
				b.Fatal(err)
			}
		}
		cputime.Report(b, start, b.N, "op")
	})
}
