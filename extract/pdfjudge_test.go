package extract_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat/extract"
)

// glyphFlags are the sentences of a result about letters.
func glyphFlags(r *extract.Result) []string {
	var out []string
	for _, f := range r.Flags {
		if f.Code == extract.FlagGlyphs {
			out = append(out, f.Detail)
		}
	}
	return out
}

const (
	drawnAreCompared = "the stored letters differ from those drawn; the drawn ones are compared"
	notReadable      = "fonts contradict the stored letters, but what they draw could not be read; the stored letters are compared"
	notAllFonts      = "some fonts were not checked for letters other than the stored ones"
)

// lyingPage is a page whose font draws lines and whose table says other letters.
func lyingPage(lines []string) glyphPage {
	alphabet := alphabetOf(lines)
	return glyphPage{alphabet, moved, "FontFile2", fontOf("cmap", cmapOf(4, 3, 1, alphabet)), "", lines}
}

// TestLiesInOddFiles: what fonts draw is read also where the table of objects is of no use or comes late.
func TestLiesInOddFiles(t *testing.T) {
	plain := pdfOf(lyingPage(proseColumn).objects()...)
	at := bytes.LastIndex(plain, []byte("startxref"))
	var numbers, tiny bytes.Buffer
	for i := range 120_000 {
		fmt.Fprintf(&tiny, "%d 0 obj\n1\nendobj\n", 20+i)
	}
	fmt.Fprintf(&numbers, "4000000 0 obj\n1\nendobj\n99999999999 0 obj\n1\nendobj\n")
	for name, data := range map[string][]byte{
		"junk in front":         append([]byte("HTTP/1.1 200 OK\r\n\r\n"), plain...),
		"a table elsewhere":     append(slices.Clone(plain[:at]), "startxref\n77\n%%EOF\n"...),
		"no table":              append(slices.Clone(plain[:at]), "%%EOF\n"...),
		"a table beyond":        append(slices.Clone(plain[:at]), "startxref\n99999999\n%%EOF\n"...),
		"many objects in front": bytes.Replace(plain, []byte("1 0 obj"), append(tiny.Bytes(), "1 0 obj"...), 1),
		"great numbers":         bytes.Replace(plain, []byte("1 0 obj"), append(numbers.Bytes(), "1 0 obj"...), 1),
		"fonts on the page":     pdfOf(inlined(lyingPage(proseColumn).objects())...),
	} {
		r := readPDF(t, data)
		if got := strings.Join(strings.Fields(r.Text), " "); got != strings.Join(proseColumn, " ") ||
			!slices.Equal(glyphFlags(r), []string{drawnAreCompared}) {
			t.Errorf("%s: got %q, flags %+v", name, r.Text, r.Flags)
		}
	}
}

// inlined puts the font of a document of one page into the page, after another font with the same table.
func inlined(objects []string) []string {
	font, page := objects[2], objects[3]
	honest := strings.Replace(font, "7 0 R", "70 0 R", 1)
	objects[3] = strings.Replace(page, "<</F 3 0 R>>", "<</E "+honest+"/F "+font+">>", 1)
	objects[2] = "null"
	return objects
}

// TestFontsThatShareATable: the table of an honest font does not shield another font that has it too, and keeps its meaning.
func TestFontsThatShareATable(t *testing.T) {
	said, drawn := proseColumn[:len(proseColumn)/2], proseColumn[len(proseColumn)/2:]
	alphabet := alphabetOf(proseColumn)
	honest := glyphPage{alphabet, same, "FontFile2", fontOf("cmap", cmapOf(4, 3, 1, alphabet)), "", said}
	objects := honest.objects()
	swapped := slices.Clone(alphabet)
	slices.Reverse(swapped)
	other := glyphPage{swapped, same, "FontFile2", fontOf("cmap", cmapOf(4, 3, 1, swapped)), "", drawn}.objects()
	objects[3] = strings.Replace(objects[3], "<</F 3 0 R>>", "<</F 3 0 R/G 10 0 R>>", 1)
	objects[3] = strings.Replace(objects[3], "5 0 R", "[5 0 R 14 0 R]", 1)
	objects = append(objects, strings.Replace(objects[2], "7 0 R", "11 0 R", 1), strings.Replace(objects[6], "8 0 R", "12 0 R", 1),
		strings.Replace(objects[7], "9 0 R", "13 0 R", 1), other[8],
		strings.ReplaceAll(strings.ReplaceAll(other[4], "/F 10 Tf", "/G 10 Tf"), "1 0 0 1 72 ", "1 0 0 1 72 -"))
	objects[3] = strings.Replace(objects[3], "[0 0 612 792]", "[0 -792 612 792]", 1)
	last := strings.Split(objects[13], "\n")
	for i, l := range last { // below the others, in their order
		var y int
		if _, err := fmt.Sscanf(l, "BT /G 10 Tf 1 0 0 1 72 -%d Tm", &y); err == nil {
			last[i] = strings.Replace(l, fmt.Sprintf("72 -%d Tm", y), fmt.Sprintf("72 %d Tm", y-12*len(said)), 1)
		}
	}
	body := strings.Join(last[1:len(last)-1], "\n")
	objects[13] = pdfStreamOf("", body)
	for name, data := range map[string][]byte{
		"plain": pdfOf(objects...), "packed": packedPDF(t, []int{1, 2, 3, 4, 7, 8, 10, 11, 12}, objects...),
	} {
		r := readPDF(t, data)
		if got := strings.Join(strings.Fields(r.Text), " "); got != strings.Join(proseColumn, " ") ||
			!slices.Equal(glyphFlags(r), []string{drawnAreCompared}) {
			t.Errorf("%s: got %q, flags %+v", name, r.Text, r.Flags)
		}
	}
}

// TestLiesThatCannotBeJudged: where fonts contradict the letters of a file and it cannot be read a second time, the file is read as
// it is, and it is told. So it is where there are more fonts or pages than are looked at.
func TestLiesThatCannotBeJudged(t *testing.T) {
	lies := lyingPage(proseColumn).objects()
	said := strings.Map(func(r rune) rune { return []rune(moved(r))[0] }, strings.Join(proseColumn, " "))
	small, err := extract.NewPDF(extract.PDFOptions{MemoryPages: 450})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = small.Close() }()
	many := slices.Clone(lies)
	for i := range 2001 {
		many = append(many, fmt.Sprintf("<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[%d 0 R]/ToUnicode 6 0 R>>", 9000+i))
	}
	first := slices.Clone(many) // the fonts that draw nothing come first, by their numbers
	first[2], first[len(first)-1] = "null", first[2]
	first[3] = strings.Replace(first[3], "/F 3 0 R", fmt.Sprintf("/F %d 0 R", len(first)), 1)
	paged := slices.Clone(lies)
	paged[1] = "<</Type/Pages/Kids[" + strings.Repeat("10 0 R ", 1000) + "4 0 R]/Count 1001>>"
	paged = append(paged, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<<>>/Contents 11 0 R>>", pdfStreamOf("", ""))
	padded := append(slices.Clone(lies), pdfStreamOf("", strings.Repeat("x", 16<<20)))
	for name, c := range map[string]struct {
		data []byte
		pdf  *extract.PDF
		want []string
		text string
	}{
		"no memory for two": {pdfOf(padded...), small, []string{notReadable}, said},
		"memory for two":    {pdfOf(padded...), engine(t), []string{drawnAreCompared}, strings.Join(proseColumn, " ")},
		"many fonts":        {pdfOf(first...), engine(t), []string{notAllFonts}, said},
		"fewer fonts":       {pdfOf(many[:len(many)-2]...), engine(t), []string{drawnAreCompared}, strings.Join(proseColumn, " ")},
		"many pages": {pdfOf(paged...), engine(t),
			[]string{"pages 1001 to 1001 were not checked for letters other than the stored ones"}, said},
	} {
		r, err := extract.Bytes("a.pdf", c.data, extract.Options{PDF: c.pdf})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(strings.Fields(r.Text), " "); got != c.text || !slices.Equal(glyphFlags(r), c.want) {
			t.Errorf("%s: got %.200q, flags %+v", name, r.Text, r.Flags)
		}
	}
}

// TestLastObjectCounts: of several objects with one number the last counts, inside streams and outside.
func TestLastObjectCounts(t *testing.T) {
	plain := "3 0 obj\n<</Old 1>>\nendobj\n"
	packed := "9 0 obj\n<</Type/ObjStm/N 2/First 8/Length 20>>stream\n3 0 4 8 <</New 1>> 12\nendstream\nendobj\n"
	for data, want := range map[string]string{plain + packed: "<</New 1", packed + plain: "<</Old 1>>"} {
		if got := strings.TrimSpace(extract.PDFObject([]byte(data), "3")); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
