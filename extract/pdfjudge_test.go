package extract_test

import (
	"bytes"
	"crypto/md5"
	"crypto/rc4"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"concordat/extract"
)

// glyphFlags returns a result's sentences about letters.
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
	drawnAreCompared = "the stored letters differ from those drawn; the drawn letters are compared"
	notReadable      = "fonts contradict the stored letters, but what they draw could not be read; the stored letters are compared"
	notAllFonts      = "some fonts were not checked for letters other than the stored ones"
)

// lyingPage returns a page whose font draws lines while its table specifies different letters.
func lyingPage(lines []string) glyphPage {
	alphabet := alphabetOf(lines)
	return glyphPage{alphabet, moved, "FontFile2", fontOf("cmap", cmapOf(4, 3, 1, alphabet)), "", lines}
}

// TestLiesInOddFiles: the letters that fonts draw are read even if the table of objects is useless or comes late.
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

// encryptedPDF returns a document that can be read without a password (ISO 32000-1, section 7.6, revision 2).
func encryptedPDF(t testing.TB, password string, objects ...string) []byte {
	t.Helper()
	const id = "0123456789abcdef"
	padding := "\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a"
	owner := strings.Repeat("o", 32)
	rc := func(key []byte, s string) string {
		c, err := rc4.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		out := []byte(s)
		c.XORKeyStream(out, out)
		return string(out)
	}
	sum := md5.Sum([]byte((password + padding)[:32] + owner + "\xc0\xff\xff\xff" + id))
	key := sum[:5]
	var out, table strings.Builder
	out.WriteString("%PDF-1.4\n")
	for i, o := range append(objects, fmt.Sprintf("<</Filter/Standard/V 1/R 2/P -64/O<%x>/U<%x>>>", owner, rc(key, padding))) {
		if head, body, ok := strings.Cut(o, "stream\n"); ok {
			sum := md5.Sum(append(slices.Clone(key), byte(i+1), 0, 0, 0, 0))
			body = strings.TrimSuffix(body, "\nendstream")
			o = head + "stream\n" + rc(sum[:10], body) + "\nendstream"
		}
		fmt.Fprintf(&table, "%010d 00000 n \n", out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	n, xref := len(objects)+1, out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R/Encrypt %d 0 R/ID[<%x><%x>]>>\nstartxref\n%d\n%%%%EOF\n", n+1,
		table.String(), n+1, n, id, id, xref)
	return []byte(out.String())
}

// TestLiesInEncryptedFiles: a file that can be read without a password is examined like an unencrypted one.
func TestLiesInEncryptedFiles(t *testing.T) {
	lying := lyingPage(proseColumn)
	honest := lying
	honest.said = same
	drawn := strings.Join(proseColumn, " ")
	dated := honest.objects()
	dated[0] = strings.Replace(dated[0], "/Pages", "/Metadata 10 0 R/Pages", 1)
	dated = append(dated, pdfStreamOf("", `<x:xmpmeta><xmp:CreateDate>2015-06-07T08:09:10Z</xmp:CreateDate></x:xmpmeta>`))
	simple := onePage("", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode 6 0 R>>", "", drawnProse(),
		pdfStreamOf("", "2 beginbfrange <61> <79> <0062> <7A> <7A> <0061> endbfrange"))
	for name, c := range map[string]struct {
		objects []string
		flags   []string
		date    string
	}{
		"lies":             {lying.objects(), []string{drawnAreCompared}, ""},
		"encoding":         {simple, []string{drawnAreCompared}, ""},
		"honest and dated": {dated, nil, "2015-06-07"},
	} {
		r := readPDF(t, encryptedPDF(t, "", c.objects...))
		if got := strings.Join(strings.Fields(r.Text), " "); got != drawn || !slices.Equal(glyphFlags(r), c.flags) || r.Date != c.date {
			t.Errorf("%s: got %q, flags %+v, date %s", name, r.Text, r.Flags, r.Date)
		}
	}
	_, err := extract.Bytes("a.pdf", encryptedPDF(t, "secret", lying.objects()...), extract.Options{PDF: engine(t)})
	var e *extract.Error
	if !errors.As(err, &e) || e.Code != extract.Encrypted {
		t.Errorf("with a password: %v", err)
	}
}

// inlined moves the font of a one-page document into the page, after another font with the same table.
func inlined(objects []string) []string {
	font, page := objects[2], objects[3]
	honest := strings.Replace(font, "7 0 R", "70 0 R", 1)
	objects[3] = strings.Replace(page, "<</F 3 0 R>>", "<</E "+honest+"/F "+font+">>", 1)
	objects[2] = "null"
	return objects
}

// TestFontsThatShareATable: if an honest font and a lying one share a table, the lie is still found, and the table keeps its meaning for
// the honest font.
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
	for i, l := range last { // moves these lines below the others, in the same order
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

// TestLiesThatCannotBeJudged: if fonts contradict the letters of a file that cannot be read a second time, the file is read unchanged and
// the contradiction is reported. The same applies to fonts and pages beyond the number examined.
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
	first := slices.Clone(many) // fonts that draw nothing come first by number
	first[2], first[len(first)-1] = "null", first[2]
	first[3] = strings.Replace(first[3], "/F 3 0 R", fmt.Sprintf("/F %d 0 R", len(first)), 1)
	paged := slices.Clone(lies)
	paged[1] = "<</Type/Pages/Kids[" + strings.Repeat("10 0 R ", 1000) + "4 0 R]/Count 1001>>"
	paged = append(paged, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<<>>/Contents 11 0 R>>", pdfStreamOf("", ""))
	large := append(slices.Clone(lies), pdfStreamOf("", strings.Repeat("x", 128<<20)))
	padded := append(slices.Clone(lies), pdfStreamOf("", strings.Repeat("x", 16<<20)))
	for name, c := range map[string]struct {
		data []byte
		pdf  *extract.PDF
		want []string
		text string
	}{
		"no memory for two": {pdfOf(padded...), small, []string{notReadable}, said},
		"too large":         {pdfOf(large...), engine(t), []string{notReadable}, said},
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

// TestLastObjectCounts: if several objects have the same number, the last one counts, inside streams and outside.
func TestLastObjectCounts(t *testing.T) {
	plain := "3 0 obj\n<</Old 1>>\nendobj\n"
	packed := "9 0 obj\n<</Type/ObjStm/N 2/First 8/Length 20>>stream\n3 0 4 8 <</New 1>> 12\nendstream\nendobj\n"
	for data, want := range map[string]string{plain + packed: "<</New 1", packed + plain: "<</Old 1>>"} {
		if got := strings.TrimSpace(extract.PDFObject([]byte(data), "3")); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLiesOfDefinedEncodings: an East Asian encoding that the format defines determines what is drawn, whatever the ToUnicode table says.
func TestLiesOfDefinedEncodings(t *testing.T) {
	const zh, ja, ko = "人人有权享有生命自由和人身安全任何人不得使为奴隶或奴役", "すべて人は生命自由及び身体の安全に対する権利を有する何人も奴隷にされ",
		"모든사람은생명과신체의자유와안전에대한권리를가진다어느누구도노예상태"
	for name, c := range map[string]struct {
		ordering, encoding, words string
		page                      encoding.Encoding // nil for UTF-16
	}{
		"UCS-2":     {"GB1", "UniGB-UCS2-H", zh, nil},
		"UTF-16":    {"Japan1", "UniJIS-UTF16-H", ja, nil},
		"GBK":       {"GB1", "GBK-EUC-H", zh, simplifiedchinese.GBK},
		"Shift-JIS": {"Japan1", "90ms-RKSJ-H", ja, japanese.ShiftJIS},
		"UHC":       {"Korea1", "KSCms-UHC-H", ko, korean.EUCKR},
		"Big5":      {"CNS1", "ETen-B5-H", "人人有權享有生命自由與人身安全任何人不得使為奴隸或奴役", traditionalchinese.Big5},
	} {
		page := func(said func(r rune) rune) []byte {
			code := func(r rune) string {
				if c.page == nil {
					return fmt.Sprintf("%04x", r)
				}
				raw, err := c.page.NewEncoder().String(string(r))
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprintf("%x", raw)
			}
			var line, table strings.Builder
			for _, r := range c.words {
				line.WriteString(code(r))
				fmt.Fprintf(&table, "1 beginbfchar <%s> <%04x> endbfchar\n", code(r), said(r))
			}
			font := strings.Replace(eastAsian("STSong-Light", c.ordering, c.encoding), "/DescendantFonts", "/ToUnicode 6 0 R/DescendantFonts", 1)
			return pdfOf(onePage("", font, "", "BT /F 12 Tf 1 0 0 1 72 700 Tm <"+line.String()+"> Tj ET\n", pdfStreamOf("", table.String()))...)
		}
		for said, lie := range map[string]func(r rune) rune{
			"the same": func(r rune) rune { return r },
			"Han":      func(r rune) rune { return 0x5000 + r%4000 },
			"Latin":    func(r rune) rune { return 'a' + r%26 },
		} {
			r := readPDF(t, page(lie))
			want := []string{drawnAreCompared}
			if said == "the same" {
				want = nil
			}
			if got := strings.TrimSpace(r.Text); got != c.words || !slices.Equal(glyphFlags(r), want) {
				t.Errorf("%s as %s: got %q, flags %+v", name, said, got, r.Flags)
			}
		}
	}
}
