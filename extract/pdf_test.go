package extract_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"concordat/extract"
	"concordat/internal/cputime"
)

func readPDF(t testing.TB, data []byte) *extract.Result {
	t.Helper()
	r, err := extract.Bytes("a.pdf", data, extract.Options{PDF: engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// prose returns abstracts of grants in ASCII, one per paragraph.
func prose(t testing.TB) []string {
	t.Helper()
	root := os.Getenv("CONCORDAT_CORPORA")
	if root == "" {
		t.Skip("CONCORDAT_CORPORA is not set: no evaluation data")
	}
	f, err := os.Open(filepath.Join(root, "grants", "nih-awards.tsv.gz"))
	if err != nil {
		t.Skip("no grants among the evaluation data")
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(all)) {
		text := line[strings.LastIndexByte(line, '\t')+1:]
		words := strings.Fields(strings.Map(func(r rune) rune {
			if r > 126 {
				return -1
			}
			return r
		}, text))
		for len(words) > 60 { // an abstract is one long paragraph, so it is split after a sentence
			n := 60
			for n < len(words) && !strings.HasSuffix(words[n-1], ".") {
				n++
			}
			out = append(out, strings.Join(words[:n], " "))
			words = words[n:]
		}
	}
	return out
}

// TestAgreement typesets real text as PDF in several layouts and compares it with the same paragraphs as DOCX: by the share of identical
// paragraphs and of identical words.
func TestAgreement(t *testing.T) {
	paragraphs := prose(t)
	var body strings.Builder
	for _, p := range paragraphs {
		body.WriteString("<w:p><w:r><w:t>" + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(p) + "</w:t></w:r></w:p>")
	}
	r, err := extract.Bytes("a.docx", docx(t, body.String()), extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(r.Text, "\n\n")
	for _, ty := range []typeset{
		{columns: 1, size: 10, header: "Running title of the work"},
		{columns: 1, size: 10, header: "Running title of the work", indent: true},
		{columns: 2, size: 8, header: "Running title of the work"},
		{columns: 2, size: 8, header: "Running title of the work", indent: true},
	} {
		t.Run(fmt.Sprintf("columns %d indent %v", ty.columns, ty.indent), func(t *testing.T) {
			got := readPDF(t, ty.pdf(slices.Clone(paragraphs)))
			have := map[string]bool{}
			for _, p := range strings.Split(got.Text, "\n\n") {
				have[p] = true
			}
			equal := 0
			for _, p := range want {
				if have[p] {
					equal++
				} else if equal%40 == 0 {
					t.Logf("not found whole: %.90q", p)
				}
			}
			counts := map[string]int{}
			for _, w := range strings.Fields(got.Text) {
				counts[w]++
			}
			words, found := strings.Fields(r.Text), 0
			for _, w := range words {
				if counts[w] > 0 {
					counts[w]--
					found++
				}
			}
			extra := 0
			for _, n := range counts {
				extra += n
			}
			t.Logf("%d of %d paragraphs equal, %.4f of %d words found, %d words more, %d pages", equal, len(want),
				float64(found)/float64(len(words)), len(words), extra, len(got.Places))
			if equal*100 < len(want)*90 || found*1000 < len(words)*990 {
				t.Errorf("too little agreement")
			}
			if strings.Contains(got.Text, "Running title") {
				t.Errorf("running header left in the text")
			}
		})
	}
}

func TestPDFHeadersNeedRepetition(t *testing.T) {
	r := readPDF(t, typeset{columns: 1, size: 10, header: "Seen once"}.pdf([]string{"Short text of one page."}))
	if !strings.Contains(r.Text, "Seen once") || !strings.Contains(r.Text, "Short text of one page.") {
		t.Errorf("a line that does not repeat was dropped: %q", r.Text)
	}
}

// TestPDFHeadersOfTwoPages: of two pages, a header or footer is left out if it is in the same place on both and apart from different text.
// Everything else stays.
func TestPDFHeadersOfTwoPages(t *testing.T) {
	const head, foot = "Workshop on boats and lamps", "Printed for members of the society"
	page := func(n int, y float64, size float64, text []string, shift float64) string {
		var d drawn
		d.put(72+shift, 760-shift, size, head)
		for i, l := range text {
			d.put(72, y-14*float64(i), 10, l)
		}
		d.put(72, 40, 10, foot)
		d.put(500, 40, 10, fmt.Sprint(n))
		return d.s.String()
	}
	half := len(proseColumn) / 2
	first, second := proseColumn[:half], proseColumn[half:]
	for _, c := range []struct {
		name           string
		one, two       string
		header, footer bool // whether it stays
		numbers        bool
	}{
		{"apart", page(1, 720, 10, first, 0), page(2, 720, 10, second, 0), false, false, false},
		{"a line of text on the second page", page(1, 720, 10, first, 0), page(2, 720, 10, second[:1], 0), false, false, false},
		{"smaller, near the text", page(1, 745, 7, first, 0), page(2, 745, 7, second, 0), false, false, false},
		{"no gap", page(1, 746, 10, first, 0), page(2, 746, 10, second, 0), true, false, false},
		{"no gap on one page", page(1, 746, 10, first, 0), page(2, 720, 10, second, 0), true, false, false},
		{"in another place", page(1, 720, 10, first, 0), page(2, 720, 10, second, 9), true, false, false},
		{"above the same text", page(1, 720, 10, first, 0), page(2, 720, 10, first, 0), true, true, true},
		{"numbers of something else", page(31, 720, 10, first, 0), page(12, 720, 10, second, 0), false, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readPDF(t, pdfFile([]string{c.one, c.two}))
			if got := strings.Contains(r.Text, head); got != c.header {
				t.Errorf("the header stays: %v, want %v: %q", got, c.header, r.Text)
			}
			if got := strings.Contains(r.Text, foot); got != c.footer {
				t.Errorf("the footer stays: %v, want %v: %q", got, c.footer, r.Text)
			}
			if got := strings.ContainsAny(r.Text, "0123456789"); got != c.numbers {
				t.Errorf("the page numbers stay: %v, want %v: %q", got, c.numbers, r.Text)
			}
			if got := strings.Contains(fmt.Sprint(r.Flags), extract.FlagHeaders); got == (c.header && c.footer) {
				t.Errorf("flags %+v", r.Flags)
			}
		})
	}
}

func TestPDFUnseenText(t *testing.T) {
	seen := "BT /F1 12 Tf 1 0 0 1 72 700 Tm (This is seen by the reader) Tj ET\n"
	for _, c := range []struct{ name, code, content string }{
		{"white", extract.FlagWhite, "1 g BT /F1 12 Tf 1 0 0 1 72 600 Tm (secret) Tj ET\n"},
		{"tiny", extract.FlagTiny, "BT /F1 1 Tf 1 0 0 1 72 600 Tm (secret) Tj ET\n"},
		{"off page", extract.FlagOffPage, "BT /F1 12 Tf 1 0 0 1 -300 600 Tm (secret) Tj ET\n"},
		{"no ink", extract.FlagHidden, "BT 3 Tr /F1 12 Tf 1 0 0 1 72 600 Tm (secret) Tj ET\n"},
		{"clipping only", extract.FlagHidden, "q BT 7 Tr /F1 12 Tf 1 0 0 1 72 600 Tm (secret) Tj ET Q\n"},
		{"cut off", extract.FlagHidden, "q 300 300 50 50 re W n BT /F1 12 Tf 1 0 0 1 72 600 Tm (secret) Tj ET Q\n"},
		{"under a box", extract.FlagHidden, "BT /F1 12 Tf 1 0 0 1 72 600 Tm (secret) Tj ET 1 g 60 590 200 30 re f\n"},
		{"grey on grey", extract.FlagWhite, "0.5 g 60 590 200 30 re f BT /F1 12 Tf 1 0 0 1 72 600 Tm (secret) Tj ET\n"},
		{"white on a white box", extract.FlagWhite, "0 g 60 590 200 30 re f 1 g 65 592 190 26 re f BT /F1 12 Tf 1 0 0 1 72 600 Tm (secret) Tj ET\n"},
		{"squeezed", extract.FlagTiny, "BT 1 Tz /F1 12 Tf 1 0 0 1 72 600 Tm (secret) Tj ET\n"},
		{"squeezed flat", extract.FlagTiny, "BT /F1 12 Tf 1 0 0 0.01 72 600 Tm (secret) Tj ET\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readPDF(t, pdfFile([]string{seen + c.content}))
			for _, f := range r.Flags {
				if f.Code == c.code && r.Text[f.Start:f.End] == "secret" {
					return
				}
			}
			t.Errorf("no flag %s: %+v", c.code, r)
		})
	}
	heading := "BT /F1 12 Tf 1 0 0 1 72 600 Tm (heading) Tj ET\n"
	for name, content := range map[string]string{
		"white on a black bar":  "0 g 50 590 300 40 re f 1 g " + heading,
		"in a frame":            heading + "50 590 300 40 re S\n",
		"over a white page":     "1 g 0 0 612 792 re f 0 g " + heading,
		"in its clipping":       "q 50 590 300 40 re W n " + heading + " Q\n",
		"beside a later box":    heading + "1 g 300 590 100 40 re f\n",
		"a line through it":     heading + "60 603 200 1 re f\n",
		"condensed to one half": "BT 50 Tz /F1 12 Tf 1 0 0 1 72 600 Tm (heading) Tj ET\n",
	} {
		if r := readPDF(t, pdfFile([]string{"q " + content + " Q\n" + seen})); len(r.Flags) > 0 {
			t.Errorf("%s: %+v", name, r.Flags)
		}
	}
}

func TestPDFErrors(t *testing.T) {
	drawn := strings.Repeat("10 10 m 20 20 l S\n", 200)
	for _, c := range []struct {
		name, code string
		data       []byte
	}{
		{"no text", extract.Empty, pdfFile([]string{""})},
		{"drawn", extract.NoTextLayer, pdfFile([]string{drawn})},
		{"cut", extract.Damaged, []byte("%PDF-1.4\nnothing")},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := extract.Bytes("a.pdf", c.data, extract.Options{PDF: engine(t)})
			var e *extract.Error
			if !errors.As(err, &e) || e.Code != c.code {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
	r := readPDF(t, pdfFile([]string{"BT /F1 12 Tf 1 0 0 1 72 700 Tm (text) Tj ET\n", drawn}))
	if !r.Partial || !strings.Contains(fmt.Sprint(r.Flags), "page 2 of 2") {
		t.Errorf("a page without text is not named: %+v", r)
	}
	_, err := extract.Bytes("a.pdf", pdfFile([]string{""}), extract.Options{})
	var e *extract.Error
	if !errors.As(err, &e) || e.Code != extract.Unsupported {
		t.Errorf("without an engine: %v", err)
	}
}

func TestPDFPlaces(t *testing.T) {
	page := func(s string) string { return "BT /F1 12 Tf 1 0 0 1 72 700 Tm (" + s + ") Tj ET\n" }
	r := readPDF(t, pdfFile([]string{page("First page ends."), page("Second page.")}))
	if len(r.Places) != 2 || r.PlaceAt(strings.Index(r.Text, "Second")) != "page 2" || r.PlaceAt(0) != "page 1" {
		t.Errorf("got %q, %+v", r.Text, r.Places)
	}
	r = readPDF(t, pdfFile([]string{page("This sentence runs over the"), page("end of its page.")}))
	if r.Text != "This sentence runs over the end of its page." || r.PlaceAt(strings.Index(r.Text, "end of")) != "page 2" {
		t.Errorf("got %q, %+v", r.Text, r.Places)
	}
}

// BenchmarkPDF measures pages with a warm engine.
func BenchmarkPDF(b *testing.B) {
	data := typeset{columns: 1, size: 10, header: "Running title"}.pdf(prose(b))
	o := extract.Options{PDF: engine(b)}
	pages := 0
	start := cputime.Used()
	for b.Loop() {
		r, err := extract.Bytes("a.pdf", data, o)
		if err != nil {
			b.Fatal(err)
		}
		pages += len(r.Places)
	}
	cputime.Rate(b, start, pages, "pages")
}

// TestWhiteLettersInPDF puts white letters where a reader sees blanks.
func TestWhiteLettersInPDF(t *testing.T) {
	line := "BT /F1 12 Tf 1 0 0 1 72 700 Tm 0 g (These) Tj 1 g (x) Tj 0 g (are) Tj 1 g (y) Tj 0 g (ordinary words of a line.) Tj ET\n"
	r := readPDF(t, pdfFile([]string{line}))
	if want := "These are ordinary words of a line.\n\nx y"; r.Text != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
	found := false
	for _, f := range r.Flags {
		found = found || f.Code == extract.FlagWhite && r.Text[f.Start:f.End] == "x y"
	}
	if !found {
		t.Errorf("white letters are not flagged: %+v", r.Flags)
	}
	r = readPDF(t, pdfFile([]string{"0 g 70 690 530 30 re f\n" + strings.ReplaceAll(line, "0 g", "1 g")}))
	for _, f := range r.Flags {
		if f.Code == extract.FlagWhite {
			t.Errorf("white letters on a black bar are flagged: %q, %+v", r.Text, f)
		}
	}
}

// attachedPDF returns a page with text, one file in the document's list, one in an annotation, and a third that the list names but the
// document lacks.
func attachedPDF() []byte {
	file := func(s string) string {
		return fmt.Sprintf("<</Type/EmbeddedFile/Length %d>>stream\n%s\nendstream", len(s), s)
	}
	text := "BT /F 12 Tf 1 0 0 1 72 700 Tm (The page itself.) Tj ET"
	return pdfOf("<</Type/Catalog/Pages 2 0 R/Names<</EmbeddedFiles<</Names[(a)6 0 R(c)10 0 R]>>>>>>",
		"<</Type/Pages/Kids[4 0 R]/Count 1>>", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents 5 0 R/Annots[8 0 R]>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(text), text),
		"<</Type/Filespec/F(listed.txt)/UF(listed.txt)/EF<</F 7 0 R/UF 7 0 R>>>>", file("What the list holds."),
		"<</Type/Annot/Subtype/FileAttachment/Rect[10 10 30 30]/FS<</Type/Filespec/F(noted.html)/UF(noted.html)/EF<</F 9 0 R/UF 9 0 R>>>>>>",
		file("<p>What the note holds.</p>"),
		"<</Type/Filespec/F(lost.txt)/UF(lost.txt)>>")
}

// pdfOf returns a PDF with the given objects, numbered from 1; the first is the catalogue.
func pdfOf(objects ...string) []byte {
	var s, table strings.Builder
	s.WriteString("%PDF-1.4\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", s.Len())
		fmt.Fprintf(&s, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := s.Len()
	fmt.Fprintf(&s, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1,
		table.String(), len(objects)+1, xref)
	return []byte(s.String())
}

func TestPDFAttachments(t *testing.T) {
	var got []string
	for m := range extract.Members("a.pdf", attachedPDF(), extract.Options{PDF: engine(t)}) {
		if m.Err != nil {
			t.Errorf("%s: %v", m.Path, m.Err)
			continue
		}
		got = append(got, m.Path+": "+m.Result.Text)
		if m.Path == "a.pdf" && (!m.Result.Partial || !strings.Contains(fmt.Sprint(m.Result.Flags), "lost.txt")) {
			t.Errorf("the file that is missing is not named: %+v", m.Result.Flags)
		}
	}
	want := []string{"a.pdf: The page itself.", "a.pdf!/listed.txt: What the list holds.", "a.pdf!/noted.html: What the note holds."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var last extract.Member
	for m := range extract.Members("a.pdf", attachedPDF(), extract.Options{PDF: engine(t), MaxUnpacked: 10}) {
		last = m
	}
	if last.Path != "a.pdf" || !strings.Contains(fmt.Sprint(last.Result.Flags), "extract.max_unpacked") {
		t.Errorf("attachments beyond the limit: %+v", last)
	}
}

// TestPDFSaysOtherWords: if ActualText or a font's ToUnicode has different letters, the drawn text is read.
func TestPDFSaysOtherWords(t *testing.T) {
	const words, other = "The old bridge stood for many years beside the mill", "Nothing of this sentence is drawn on the page at all"
	file := func(font, content, more string) []byte {
		return pdfOf("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[4 0 R]/Count 1>>", font,
			"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents 5 0 R>>",
			fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content),
			fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(more), more))
	}
	plain := "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
	mapped := "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode 6 0 R>>"
	draw := "BT /F 12 Tf 1 0 0 1 72 700 Tm (" + words + ") Tj ET"
	mark := func(s string) string { return "/Span<</ActualText(" + s + ")>>BDC\n" + draw + "\nEMC" }
	for _, c := range []struct {
		name, want string
		data       []byte
		flag       bool
	}{
		{"actual text", words, file(plain, mark(other), ""), true},
		{"actual text that says the same", words, file(plain, mark(words), ""), false},
		{"a letter or two", "The old bridge stood for many years beside the hill", file(plain, mark("The old bridge stood for many years beside the hill"), ""), false},
		{"letters swapped", words, file(mapped, draw, "2 beginbfchar <65> <006F> <6F> <0065> endbfchar"), true},
		{"letters shifted", words, file(mapped, draw, "1 beginbfrange <61> <79> <0062> endbfrange"), true},
		{"true mapping", words, file(mapped, draw, "1 beginbfrange <20> <7E> <0020> endbfrange"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readPDF(t, c.data)
			if r.Text != c.want {
				t.Errorf("got %q, want %q", r.Text, c.want)
			}
			if got := strings.Contains(fmt.Sprint(r.Flags), extract.FlagGlyphs); got != c.flag {
				t.Errorf("flags %+v, want one: %v", r.Flags, c.flag)
			}
		})
	}
}
