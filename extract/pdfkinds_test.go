package extract_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"concordat/extract"
)

// packedPDF is like pdfOf, with the objects of the given numbers in a stream, and a stream in place of the table (ISO 32000-1, sections
// 7.5.7 and 7.5.8).
func packedPDF(t testing.TB, packed []int, objects ...string) []byte {
	t.Helper()
	var out, heads, bodies, table bytes.Buffer
	out.WriteString("%PDF-1.5\n")
	row := func(kind byte, at, index int) {
		table.WriteByte(kind)
		table.Write(binary.BigEndian.AppendUint32(nil, uint32(at)))
		table.Write(binary.BigEndian.AppendUint16(nil, uint16(index)))
	}
	row(0, 0, 65535)
	holder := len(objects) + 1
	for i, o := range objects {
		if k := slices.Index(packed, i+1); k >= 0 {
			fmt.Fprintf(&heads, "%d %d ", i+1, bodies.Len())
			bodies.WriteString(o + "\n")
			row(2, holder, k)
			continue
		}
		row(1, out.Len(), 0)
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	row(1, out.Len(), 0)
	body := deflated(t, heads.String()+bodies.String())
	fmt.Fprintf(&out, "%d 0 obj\n<</Type/ObjStm/N %d/First %d/Filter/FlateDecode/Length %d>>stream\n%s\nendstream\nendobj\n", holder, len(packed),
		heads.Len(), len(body), body)
	at := out.Len()
	row(1, at, 0)
	fmt.Fprintf(&out, "%d 0 obj\n<</Type/XRef/Size %d/Root 1 0 R/W[1 4 2]/Length %d>>stream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", holder+1,
		holder+2, table.Len(), table.String(), at)
	return out.Bytes()
}

func deflated(t testing.TB, s string) string {
	t.Helper()
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	_, err := z.Write([]byte(s))
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func pdfStreamOf(dictionary, body string) string {
	return fmt.Sprintf("<<%s/Length %d>>stream\n%s\nendstream", dictionary, len(body), body)
}

// onePage returns the objects of a document with one page, drawn with font F, and further objects from number 6.
func onePage(catalog, font, page, content string, more ...string) []string {
	return append([]string{"<</Type/Catalog/Pages 2 0 R" + catalog + ">>", "<</Type/Pages/Kids[4 0 R]/Count 1>>", font,
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>/Contents 5 0 R" + page + ">>",
		pdfStreamOf("", content)}, more...)
}

// drawnProse draws the lines of prose down a page.
func drawnProse() string {
	var s strings.Builder
	for i, l := range proseColumn {
		fmt.Fprintf(&s, "BT /F 10 Tf 1 0 0 1 72 %d Tm (%s) Tj ET\n", 700-12*i, escapePDF(l))
	}
	return s.String()
}

const helvetica = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"

// TestFalseMappingsOfAllFonts: a ToUnicode table with letters different from the font's encoding is found even if fonts and encodings are
// in streams or the encoding is a list of names.
func TestFalseMappingsOfAllFonts(t *testing.T) {
	content := "BT /F 12 Tf 1 0 0 1 72 700 Tm (the old bridge stood beside the mill) Tj ET"
	const words = "the old bridge stood beside the mill"
	letters, moved := "", "26 beginbfchar "
	for c := 'a'; c <= 'z'; c++ {
		letters += "/" + string(c)
		moved += fmt.Sprintf("<%02X> <%04X> ", c, 'a'+(c-'a'+3)%26)
	}
	moved += "endbfchar"
	font := func(encoding string) string {
		return "<</Type/Font/Subtype/Type1/BaseFont/Helvetica" + encoding + "/ToUnicode 6 0 R>>"
	}
	names := "<</Type/Encoding/Differences[97 " + letters + "]>>"
	packedTable := pdfStreamOf("/Filter/FlateDecode", deflated(t, moved))
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"names", pdfOf(onePage("", font("/Encoding"+names), "", content, pdfStreamOf("", moved))...)},
		{"names elsewhere", pdfOf(onePage("", font("/Encoding 7 0 R"), "", content, packedTable, names)...)},
		{"packed font", packedPDF(t, []int{1, 2, 3, 4}, onePage("", font("/Encoding/WinAnsiEncoding"), "", content, pdfStreamOf("", moved))...)},
		{"packed font and table", packedPDF(t, []int{3}, onePage("", font(""), "", content, packedTable)...)},
		{"all packed", packedPDF(t, []int{1, 2, 3, 4, 7}, onePage("", font("/Encoding 7 0 R"), "", content, packedTable, names)...)},
	} {
		r := readPDF(t, c.data)
		if r.Text != words || !strings.Contains(fmt.Sprint(r.Flags), extract.FlagGlyphs) {
			t.Errorf("%s: got %q, flags %+v", c.name, r.Text, r.Flags)
		}
	}
	// A font whose codes are not the codes of letters, but whose names and table agree, is honest.
	honest := "26 beginbfchar "
	drawn := []byte(content)
	turned, list := map[byte]byte{}, ""
	for c := byte('a'); c <= 'z'; c++ {
		to := 'a' + (c-'a'+13)%26
		turned[to] = c
		list += "/" + string(to)
		honest += fmt.Sprintf("<%02X> <%04X> ", c, to)
	}
	from := bytes.IndexByte(drawn, '(')
	for i := from; i < from+len(words)+1; i++ {
		if to, ok := turned[drawn[i]]; ok {
			drawn[i] = to
		}
	}
	objects := onePage("", font("/Encoding<</Type/Encoding/Differences[97 "+list+"]>>"), "", string(drawn),
		pdfStreamOf("", honest+"endbfchar"))
	for name, data := range map[string][]byte{"honest": pdfOf(objects...), "honest, packed": packedPDF(t, []int{1, 2, 3, 4}, objects...)} {
		if r := readPDF(t, data); r.Text != words || len(r.Flags) > 0 {
			t.Errorf("%s: got %q, flags %+v", name, r.Text, r.Flags)
		}
	}
}

// TestDateOfXMP: the creation date is read from the document's own metadata, compressed or uncompressed, in any encoding.
func TestDateOfXMP(t *testing.T) {
	packet := func(date string) string {
		return `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description xmlns:xap="http://ns.adobe.com/xap/1.0/" xap:CreateDate="` + date + `"/></x:xmpmeta>`
	}
	const kind = "/Type/Metadata/Subtype/XML"
	plain := pdfStreamOf(kind, packet("2015-04-03T01:02:03Z"))
	zipped := pdfStreamOf(kind+"/Filter/FlateDecode", deflated(t, packet("2015-04-03T01:02:03Z")))
	wide := "\xfe\xff"
	for _, u := range utf16.Encode([]rune(packet("2015-04-03"))) {
		wide += string([]byte{byte(u >> 8), byte(u)})
	}
	page := drawnProse()
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"plain", "2015-04-03", pdfOf(onePage("/Metadata 6 0 R", helvetica, "", page, plain)...)},
		{"packed", "2015-04-03", pdfOf(onePage("/Metadata 6 0 R", helvetica, "", page, zipped)...)},
		{"packed, catalog too", "2015-04-03", packedPDF(t, []int{1, 2, 3, 4}, onePage("/Metadata 6 0 R", helvetica, "", page, zipped)...)},
		{"UTF-16", "2015-04-03", pdfOf(onePage("/Metadata 6 0 R", helvetica, "", page, pdfStreamOf(kind, wide))...)},
		{"of a picture", "", pdfOf(onePage("", helvetica, "", page, plain)...)},
		{"a default", "", pdfOf(onePage("/Metadata 6 0 R", helvetica, "", page, pdfStreamOf(kind, packet("1970-01-01T00:00:00Z")))...)},
	} {
		if r := readPDF(t, c.data); r.Date != c.want {
			t.Errorf("%s: date %q, want %q", c.name, r.Date, c.want)
		}
	}
}

// eastAsian returns a font that is not embedded, with characters in UTF-16.
func eastAsian(name, ordering, encoding string) string {
	return "<</Type/Font/Subtype/Type0/BaseFont/" + name + "/Encoding/" + encoding + "/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/BaseFont/" + name +
		"/CIDSystemInfo<</Registry(Adobe)/Ordering(" + ordering + ")/Supplement 2>>/FontDescriptor<</Type/FontDescriptor/FontName/" + name +
		"/Flags 4>>/DW 1000>>]>>"
}

func hexUTF16(s string) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.BigEndian.AppendUint16(out, u)
	}
	return hex.EncodeToString(out)
}

// TestPDFEastAsian: Chinese and Japanese text in fonts that are not embedded is read, however it is drawn, including columns from right
// to left.
func TestPDFEastAsian(t *testing.T) {
	japanese := []string{"島の小さな港務所では潮汐表を緑色の帳簿に書き写しており", "毎年冬になると事務員は古い欄を手で写し直していたという",
		"新しい橋が開通したとき渡し船の乗組員は契約があと十一か月", "しか続かないと告げられ朝市の野菜をどう運ぶのかは誰も尋ね",
		"なかったのである。岸壁に沿って三つの安価な計測器を置いた", "ところ内側の港では灯台の近くよりも水位が速く上がることが"}
	chinese := []string{"海岛上的小港务所把潮汐表抄在一本绿色的账簿里每到冬天", "办事员都要用手重新抄写旧的栏目因为含盐的空气早已把纸", "张泡软新桥通车以后渡船的船员被告知合同只会再延长十一",
		"个月却没有人问过他们早市上的蔬菜以后应该怎样运到岛上", "来我们在码头沿线安装了三个便宜的传感器发现内港的水位"}
	each := func(lines []string, at func(line, k int) (x, y int), alone bool) string {
		var s strings.Builder
		for i, l := range lines {
			for k, r := range []rune(l) {
				x, y := at(i, k)
				switch {
				case alone:
					fmt.Fprintf(&s, "BT /F 14 Tf 1 0 0 1 %d %d Tm <%s> Tj ET\n", x, y, hexUTF16(string(r)))
				case k == 0:
					fmt.Fprintf(&s, "BT /F 14 Tf 1 0 0 1 %d %d Tm <%s> Tj ET\n", x, y, hexUTF16(l))
				}
			}
		}
		return s.String()
	}
	across := func(i, k int) (int, int) { return 60 + 14*k, 700 - 22*i }
	down := func(i, k int) (int, int) { return 540 - 24*i, 740 - 15*k }
	jp, zh := eastAsian("HeiseiMin-W3", "Japan1", "UniJIS-UTF16-"), eastAsian("STSong-Light", "GB1", "UniGB-UCS2-")
	side := func(font, way string) string {
		return strings.Replace(font, "/DescendantFonts", way+"/DescendantFonts", 1)
	}
	for _, c := range []struct {
		name  string
		lines []string
		font  string
		draw  string
	}{
		{"across", japanese, side(jp, "H"), each(japanese, across, false)},
		{"across, one by one", japanese, side(jp, "H"), each(japanese, across, true)},
		{"down", japanese, side(jp, "V"), each(japanese, down, false)},
		{"down, one by one", japanese, side(jp, "H"), each(japanese, down, true)},
		{"Chinese across, one by one", chinese, side(zh, "H"), each(chinese, across, true)},
		{"Chinese down", chinese, side(zh, "V"), each(chinese, down, false)},
		{"Chinese down, one by one", chinese, side(zh, "H"), each(chinese, down, true)},
	} {
		r := readPDF(t, pdfOf(onePage("", c.font, "", c.draw)...))
		if got, want := strings.Join(strings.Fields(r.Text), ""), strings.Join(c.lines, ""); got != want {
			t.Errorf("%s: got  %q\nwant %q", c.name, got, want)
		}
		if len(r.Flags) > 0 {
			t.Errorf("%s: flags %+v", c.name, r.Flags)
		}
	}
}

// TestPDFUpsideDown: a page drawn or displayed upside down, or mirrored, is read line by line.
func TestPDFUpsideDown(t *testing.T) {
	want := strings.Join(proseColumn, " ")
	for name, data := range map[string][]byte{
		"turned":     pdfOf(onePage("", helvetica, "/Rotate 180", drawnProse())...),
		"drawn":      pdfOf(onePage("", helvetica, "", "-1 0 0 -1 612 792 cm\n"+drawnProse())...),
		"mirrored":   pdfOf(onePage("", helvetica, "", "-1 0 0 1 612 0 cm\n"+drawnProse())...),
		"both":       pdfOf(onePage("", helvetica, "/Rotate 180", "-1 0 0 -1 612 792 cm\n"+drawnProse())...),
		"a quarter":  pdfOf(onePage("", helvetica, "/Rotate 90", drawnProse())...),
		"three such": pdfOf(onePage("", helvetica, "/Rotate 270", drawnProse())...),
	} {
		if r := readPDF(t, data); strings.Join(strings.Fields(r.Text), " ") != want || len(r.Flags) > 0 {
			t.Errorf("%s: got %q, flags %+v", name, r.Text, r.Flags)
		}
	}
}

// TestPDFSeenAndUnseen: all letters are read, and how they are drawn determines the flag.
func TestPDFSeenAndUnseen(t *testing.T) {
	prose := drawnProse()
	own := "0 g 0 0 0 1 k BT /F 11 Tf 1 0 0 1 72 760 Tm (These words are seen by everyone who opens the page) Tj ET\n"
	state := "/Resources<</Font<</F 3 0 R>>/ExtGState<</G<</ca %s>>>>>>"
	for _, c := range []struct {
		name, page, content string
		flags               []string // any of these; empty for no flag at all
	}{
		{"clipping as mode of rendering", "", own + strings.ReplaceAll(prose, "Tm", "Tm 7 Tr"), []string{extract.FlagHidden}},
		{"outlines", "", own + strings.ReplaceAll(prose, "Tm", "Tm 1 Tr"), nil},
		{"cut off", "", own + "q 0 0 9 9 re W n\n" + prose + "Q", []string{extract.FlagHidden}},
		{"cut at its edge", "", "q 60 0 500 792 re W n\n" + prose + "Q\n" + own, nil},
		{"under a white box", "", prose + "1 g 60 500 500 230 re f\n" + own, []string{extract.FlagHidden, extract.FlagWhite}},
		{"under a black box", "", prose + "0 g 60 500 500 230 re f\n" + own, []string{extract.FlagHidden}},
		{"on a yellow box", "", "1 1 0 rg 60 500 500 230 re f 0 g\n" + prose + own, nil},
		{"white on a dark box", "", "0 0 0.3 rg 60 500 500 230 re f 1 g\n" + prose + own, nil},
		{"white on a dark box of four inks", "", "0 0 0 1 k 60 500 500 230 re f 0 0 0 0 k\n" + prose + own, nil},
		{"white on white", "", own + "1 g\n" + prose, []string{extract.FlagWhite}},
		{"no ink of four", "", own + "0 0 0 0 k\n" + prose, []string{extract.FlagWhite}},
		{"squeezed", "", own + strings.ReplaceAll(prose, "Tm", "Tm 1 Tz"), []string{extract.FlagTiny}},
		{"a letter high of a point", "", own + strings.ReplaceAll(prose, "/F 10 Tf", "/F 1 Tf"), []string{extract.FlagTiny}},
		{"beside the page", "", own + strings.ReplaceAll(prose, "1 72", "1 2072"), []string{extract.FlagOffPage}},
		{"faint", fmt.Sprintf(state, "0.01"), own + "/G gs\n" + prose, []string{extract.FlagWhite, extract.FlagHidden}},
		{"pale", fmt.Sprintf(state, "0.5"), own + "/G gs\n" + prose, nil},
	} {
		r := readPDF(t, pdfOf(onePage("", helvetica, c.page, c.content)...))
		if !strings.Contains(strings.Join(strings.Fields(r.Text), " "), strings.Join(proseColumn[:3], " ")) {
			t.Errorf("%s: the words are not there: %q", c.name, r.Text)
		}
		found := false
		for _, f := range r.Flags {
			found = found || slices.Contains(c.flags, f.Code)
		}
		if found != (len(c.flags) > 0) || len(c.flags) == 0 && len(r.Flags) > 0 {
			t.Errorf("%s: flags %+v, want one of %v", c.name, r.Flags, c.flags)
		}
	}
}

// TestPDFLettersShuffled: letters drawn one by one in any order are read as the words of the page.
func TestPDFLettersShuffled(t *testing.T) {
	var all []string
	for i, l := range proseColumn {
		for k, r := range l {
			if r != ' ' {
				all = append(all, fmt.Sprintf("BT /F 10 Tf 1 0 0 1 %d %d Tm (%s) Tj ET\n", 72+6*k, 700-12*i, escapePDF(string(r))))
			}
		}
	}
	var s strings.Builder
	for k := range all {
		s.WriteString(all[k*71%len(all)])
	}
	courier := strings.Replace(helvetica, "Helvetica", "Courier", 1)
	r := readPDF(t, pdfOf(onePage("", courier, "", s.String())...))
	if strings.Join(strings.Fields(r.Text), " ") != strings.Join(proseColumn, " ") ||
		!strings.Contains(fmt.Sprint(r.Flags), extract.FlagOrder) {
		t.Errorf("got %q, flags %+v", r.Text, r.Flags)
	}
}

// pdfSeeds returns a small file of each kind for fuzzing.
func pdfSeeds(t testing.TB) [][]byte {
	line := "BT /F 10 Tf 1 0 0 1 72 700 Tm (seen words) Tj ET\n"
	table := pdfStreamOf("", "1 beginbfrange <61> <79> <0062> endbfrange 1 beginbfchar <7A> <D835DC00> endbfchar")
	font := "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode 6 0 R>>"
	return [][]byte{
		pdfOf(onePage("", font, "", line, table)...),
		packedPDF(t, []int{1, 2, 3, 4}, onePage("/Metadata 7 0 R", font, "", line, table,
			pdfStreamOf("/Filter/FlateDecode", deflated(t, `<x:xmpmeta><xmp:CreateDate>2015</xmp:CreateDate></x:xmpmeta>`)))...),
		pdfOf(onePage("", helvetica, "", "/Span<</ActualText<FEFF0061D835DC00>>>BDC\n"+line+"EMC\n")...),
		pdfOf(onePage("", eastAsian("STSong-Light", "GB1", "UniGB-UCS2-V"), "", "BT /F 14 Tf 1 0 0 1 540 740 Tm <6D775C9B4E0A7684> Tj ET\n")...),
		pdfOf(onePage("", helvetica, "/Rotate 180", line+"q 0 0 9 9 re W n\n"+line+"Q 7 Tr 1 g "+line+"0 g 0 0 600 700 re f\n")...),
		pdfOf(onePage("", helvetica, "", "BT /F 9 Tf 1 0 0 1 40 700 Tm (1) Tj 20 0 Td (left) Tj 200 0 Td (right) Tj -220 -12 Td (2) Tj 20 0 Td (on) Tj ET\n")...),
		pdfOf(onePage("", "<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 6 0 R>>/Encoding<</Differences[97/a]>>"+
			"/FirstChar 97/LastChar 97/Widths[1]>>", "", "BT /F 9 Tf 1 0 0 1 40 700 Tm (aaa) Tj ET\n", pdfStreamOf("", "1 0 d0 0 0 1 1 re f"))...),
	}
}
