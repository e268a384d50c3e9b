package extract_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"concordat/extract"
)

// words appends numbers of two bytes each.
func words(b []byte, numbers ...int) []byte {
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	return b
}

// fontOf packs tables into an OpenType font.
func fontOf(tables ...string) []byte {
	n := len(tables) / 2
	out := words([]byte("\x00\x01\x00\x00"), n, 0, 0, 0)
	at := len(out) + 16*n
	body := ""
	for i := 0; i < len(tables); i += 2 {
		out = append(out, tables[i]...)
		out = words(out, 0, 0, 0, at+len(body), 0, len(tables[i+1]))
		body += tables[i+1]
	}
	return append(out, body...)
}

// cmapOf returns a cmap with one subtable in the given format, whose glyph i is the i-th rune of letters, counted from 1.
func cmapOf(format, platform, encoding int, letters []rune) string {
	head := words(nil, 0, 1, platform, encoding, 0, 12)
	var s []byte
	switch format {
	case 4:
		n := len(letters) + 1
		s = words(s, 4, 16+8*n, 0, 2*n, 0, 0, 0)
		for _, r := range letters {
			s = words(s, int(r))
		}
		s = words(s, 0xffff, 0)
		for _, r := range letters {
			s = words(s, int(r))
		}
		s = words(s, 0xffff)
		for i, r := range letters {
			s = words(s, (i+1-int(r))&0xffff)
		}
		s = words(s, 1)
		s = words(s, make([]int, n)...)
	case 6: // from the first letter on
		s = words(s, 6, 10+2*len(letters), 0, int(letters[0]), len(letters))
		for i := range letters {
			s = words(s, i+1)
		}
	case 12:
		s = words(s, 12, 0, 0, 16+12*len(letters), 0, 0, 0, len(letters))
		for i, r := range letters {
			s = words(s, int(r)>>16, int(r)&0xffff, int(r)>>16, int(r)&0xffff, 0, i+1)
		}
	}
	return string(append(head, s...))
}

// cmapByOffset returns a cmap for consecutive letters, with one segment that lists their glyphs.
func cmapByOffset(letters []rune) string {
	n := len(letters)
	s := words(nil, 0, 1, 3, 1, 0, 12, 4, 32+2*n, 0, 4, 0, 0, 0, int(letters[n-1]), 0xffff, 0, int(letters[0]), 0xffff, 0, 1, 4, 0)
	for i := range letters {
		s = words(s, i+1)
	}
	return string(s)
}

// postOf returns a post table that names glyph i after the i-th rune, counted from 1.
func postOf(letters []rune) string {
	out := words(nil, 2, 0)
	out = words(append(out, make([]byte, 28)...), len(letters)+1, 0)
	var own []byte
	for i, r := range letters {
		out = words(out, 258+i)
		name := fmt.Sprintf("uni%04X", r)
		own = append(append(own, byte(len(name))), name...)
	}
	return string(append(out, own...))
}

// cffOf returns a CFF font with glyph names and without outlines.
func cffOf(letters []rune) []byte { return cffWith(letters, 0, false) }

// cffWith returns a CFF font with a charset in the given format. Its glyphs have names, or CIDs in reverse order.
func cffWith(letters []rune, format byte, withCIDs bool) []byte {
	index := func(items ...string) []byte {
		out, at, all := words(nil, len(items)), 1, ""
		if len(items) == 0 {
			return out
		}
		out = append(out, 2)
		for _, s := range append(items, "") {
			out = words(out, at)
			at += len(s)
			all += s
		}
		return append(out, all...)
	}
	var names, glyphs []string
	for _, r := range letters {
		names = append(names, fmt.Sprintf("uni%04X", r))
	}
	charset, kind := []byte{format}, ""
	switch n := len(letters); {
	case withCIDs:
		names, kind = []string{"Adobe", "Identity"}, "\xf8\x1b\xf8\x1c\x8b\x0c\x1e" // 391 392 0 ROS
		for i := range n {
			charset = words(charset, n-i)
			switch format {
			case 1:
				charset = append(charset, 0)
			case 2:
				charset = words(charset, 0)
			}
		}
	case format == 1:
		charset = append(words(charset, 391), byte(n-1))
	case format == 2:
		charset = words(charset, 391, n-1)
	default:
		for i := range n {
			charset = words(charset, 391+i)
		}
	}
	for range len(letters) + 1 {
		glyphs = append(glyphs, "\x0e")
	}
	top := func(charset, strings int) string {
		return kind + string(append(words(append(words([]byte{29, 0, 0}, charset), 15, 29, 0, 0), strings), 17))
	}
	build := func(a, b int) []byte {
		return bytes.Join([][]byte{{1, 0, 4, 2}, index("F"), index(top(a, b)), index(names...), index()}, nil)
	}
	at := len(build(0, 0))
	return bytes.Join([][]byte{build(at, at+len(charset)), charset, index(glyphs...)}, nil)
}

// glyphPage is a page whose font uses glyph numbers as codes, one for each letter of alphabet, counted from 1, with what the file states
// about each.
type glyphPage struct {
	alphabet []rune
	said     func(r rune) string
	key      string // key of the font file in the font's descriptor
	font     []byte
	extra    string // further entries of the font's dictionary
	lines    []string
}

func (g glyphPage) objects() []string {
	code := map[rune]int{}
	var table strings.Builder
	fmt.Fprintf(&table, "%d beginbfchar\n", len(g.alphabet))
	for i, r := range g.alphabet {
		if code[r] = i + 1; g.said(r) == omitted {
			continue
		}
		fmt.Fprintf(&table, "<%04X> <", i+1)
		for _, u := range utf16.Encode([]rune(g.said(r))) {
			fmt.Fprintf(&table, "%04X", u)
		}
		table.WriteString(">\n")
	}
	table.WriteString("endbfchar")
	var page strings.Builder
	for i, l := range g.lines {
		fmt.Fprintf(&page, "BT /F 10 Tf 1 0 0 1 72 %d Tm <", 700-12*i)
		for _, r := range l {
			fmt.Fprintf(&page, "%04X", code[r])
		}
		page.WriteString("> Tj ET\n")
	}
	return onePage("", "<</Type/Font/Subtype/Type0/BaseFont/F/Encoding/Identity-H/DescendantFonts[7 0 R]/ToUnicode 6 0 R>>", "", page.String(),
		pdfStreamOf("", table.String()),
		"<</Type/Font/Subtype/CIDFontType2/BaseFont/F/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/DW 500/FontDescriptor 8 0 R"+g.extra+">>",
		"<</Type/FontDescriptor/FontName/F/Flags 4/"+g.key+" 9 0 R>>", pdfStreamOf("", string(g.font)))
}

// omitted means that the table has no entry for a code.
const omitted = "-"

func same(r rune) string { return string(r) }

// moved returns a different letter for each letter a to z.
func moved(r rune) string {
	if r >= 'a' && r <= 'z' {
		return string('a' + (r-'a'+3)%26)
	}
	return string(r)
}

// alphabetOf returns the characters of lines in the order of their first use.
func alphabetOf(lines []string) []rune {
	var out []rune
	for _, r := range strings.Join(lines, "") {
		if !strings.ContainsRune(string(out), r) {
			out = append(out, r)
		}
	}
	return out
}

var smallLetters = []rune("abcdefghijklmnopqrstuvwxyz")

// TestGlyphsThatLie: if ToUnicode specifies letters other than the ones that the font draws, the drawn letters are read, however the font
// identifies them.
func TestGlyphsThatLie(t *testing.T) {
	lines := proseColumn
	alphabet := alphabetOf(lines)
	reversed := make([]byte, 2*len(alphabet)+2) // glyph numbers by CID
	turned := make([]rune, len(alphabet))
	for i, r := range alphabet {
		turned[len(alphabet)-1-i] = r
		binary.BigEndian.PutUint16(reversed[2*i+2:], uint16(len(alphabet)-i))
	}
	plain := glyphPage{alphabet, moved, "FontFile2", nil, "", lines}
	with := func(key string, font []byte) glyphPage {
		g := plain
		g.key, g.font = key, font
		return g
	}
	cmap := with("FontFile2", fontOf("cmap", cmapOf(4, 3, 1, alphabet)))
	saying := func(said func(rune) string) glyphPage {
		g := with("FontFile2", fontOf("cmap", cmapOf(4, 3, 1, alphabet)))
		g.said = said
		return g
	}
	mapped := with("FontFile2", fontOf("cmap", cmapOf(4, 3, 1, turned)))
	mapped.extra = "/CIDToGIDMap 10 0 R"
	for name, data := range map[string][]byte{
		"cmap":            pdfOf(cmap.objects()...),
		"cmap 12":         pdfOf(with("FontFile2", fontOf("cmap", cmapOf(12, 3, 10, alphabet))).objects()...),
		"cmap 0":          pdfOf(with("FontFile2", fontOf("cmap", cmapOf(4, 0, 3, alphabet), "glyf", "x")).objects()...),
		"post":            pdfOf(with("FontFile2", fontOf("post", postOf(alphabet))).objects()...),
		"CFF":             pdfOf(with("FontFile3", cffOf(alphabet)).objects()...),
		"CFF in OpenType": pdfOf(with("FontFile3", fontOf("CFF ", string(cffOf(alphabet)))).objects()...),
		"CFF, charset 1":  pdfOf(with("FontFile3", cffWith(alphabet, 1, false)).objects()...),
		"CFF, charset 2":  pdfOf(with("FontFile3", cffWith(alphabet, 2, false)).objects()...),
		"CFF with CIDs": pdfOf(with("FontFile3", fontOf("cmap", cmapOf(4, 3, 1, turned), "CFF ",
			string(cffWith(alphabet, 0, true)))).objects()...),
		"map of glyphs": pdfOf(append(mapped.objects(), pdfStreamOf("", string(reversed)))...),
		"packed":        packedPDF(t, []int{1, 2, 3, 4, 7, 8}, cmap.objects()...),
		"as digits":     pdfOf(saying(func(r rune) string { return string('0' + r%10) }).objects()...),
		"as signs":      pdfOf(saying(func(r rune) string { return string('!' + r%8) }).objects()...),
		"as Han":        pdfOf(saying(func(r rune) string { return string(0x4e00 + r) }).objects()...),
		"left out": pdfOf(saying(func(r rune) string {
			if r >= 'a' {
				return omitted
			}
			return string(r)
		}).objects()...),
		"as nothing": pdfOf(saying(func(r rune) string { return strings.Trim(string(r), string(smallLetters)) }).objects()...),
		"three letters": pdfOf(saying(func(r rune) string {
			return strings.NewReplacer("e", " ", "a", "", "t", "and", " ", "x").Replace(string(r))
		}).objects()...),
	} {
		r := readPDF(t, data)
		if got := strings.Join(strings.Fields(r.Text), " "); got != strings.Join(lines, " ") ||
			!strings.Contains(fmt.Sprint(r.Flags), extract.FlagGlyphs) {
			t.Errorf("%s: got %q, flags %+v", name, r.Text, r.Flags)
		}
	}
}

// TestGlyphsOfHonestFonts: ToUnicode counts if the font does not otherwise identify its letters.
func TestGlyphsOfHonestFonts(t *testing.T) {
	lines := proseColumn
	alphabet := alphabetOf(lines)
	codes := make([]rune, len(alphabet)) // a font with only some letters, whose table contains codes
	for i := range codes {
		codes[i] = rune('!' + i)
	}
	cyrillic := []string{"старый мост стоял рядом с мельницей над рекой", "и вода под ним шумела всю ночь до самого утра"}
	asLatin := alphabetOf(cyrillic)
	for i, r := range asLatin {
		if k := strings.IndexRune("асеорху", r); k >= 0 {
			asLatin[i] = []rune("aceopxy")[strings.Count("асеорху"[:k], "")-1]
		}
	}
	for name, c := range map[string]struct {
		page glyphPage
		want []string
	}{
		"the same":       {glyphPage{alphabet, same, "FontFile2", fontOf("cmap", cmapOf(4, 3, 1, alphabet)), "", lines}, lines},
		"codes":          {glyphPage{alphabet, same, "FontFile2", fontOf("cmap", cmapOf(4, 3, 1, codes)), "", lines}, lines},
		"no letters":     {glyphPage{alphabet, same, "FontFile2", fontOf("glyf", "x"), "", lines}, lines},
		"no font":        {glyphPage{alphabet, same, "FontFile2", []byte("x"), "", lines}, lines},
		"symbol table":   {glyphPage{alphabet, same, "FontFile2", fontOf("cmap", cmapOf(4, 3, 0, codes)), "", lines}, lines},
		"letters shared": {glyphPage{alphabetOf(cyrillic), same, "FontFile2", fontOf("cmap", cmapOf(4, 3, 1, asLatin)), "", cyrillic}, cyrillic},
	} {
		r := readPDF(t, pdfOf(c.page.objects()...))
		if got := strings.Join(strings.Fields(r.Text), " "); got != strings.Join(c.want, " ") || len(r.Flags) > 0 {
			t.Errorf("%s: got %q, flags %+v", name, r.Text, r.Flags)
		}
	}
}

// TestTablesOfMeanings: a ToUnicode table is read according to its syntax.
func TestTablesOfMeanings(t *testing.T) {
	for table, want := range map[string]string{
		"1 beginbfchar <0007> <0066> endbfchar":                                                  "<0007> <0066>",
		"1 beginbfchar % <0009> <0067>\n<0007>%>\n<0066> endbfchar % <0008> <0067> endbfchar":    "<0007> <0066>",
		"(<0008> <0067> endbfchar \\) (x) ) 1 beginbfchar <0007> <0066> endbfchar":               "<0007> <0066>",
		"<</Registry(Adobe)/Supplement 0>> def 1 beginbfchar <0007> <0066> endbfchar":            "<0007> <0066>",
		"2 beginbfrange <0007> <0008> <0066> <0008> <0009> [<0061><0062>] endbfrange":            "<0007> <0066> <0008> <0061> <0009> <0062>",
		"1 beginbfchar <0007> <0066> endbfchar 1 beginbfchar <0008> <0067 endbfchar":             "<0007> <0066>",
		"1 beginbfchar <0007> <0066> endbfchar 1 beginbfchar <0008> (0067 endbfchar <0009 <000A": "<0007> <0066>",
	} {
		_, written := extract.FontTables(fontOf("cmap", cmapOf(4, 3, 1, []rune{'!'})), []byte(table))
		_, got, _ := strings.Cut(string(written), "endcodespacerange")
		got, _, _ = strings.Cut(got, "endcmap")
		if got = strings.Join(strings.FieldsFunc(got, func(r rune) bool { return r == '\n' }), " "); len(got) > 0 {
			_, got, _ = strings.Cut(got, "beginbfchar ")
			got = strings.TrimSuffix(got, " endbfchar")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", table, got, want)
		}
	}
}

// TestFontsTell: the letter of each glyph is found, however the font identifies it.
func TestFontsTell(t *testing.T) {
	for name, font := range map[string][]byte{
		"by segments": fontOf("cmap", cmapOf(4, 3, 1, smallLetters)), "by offset": fontOf("cmap", cmapByOffset(smallLetters)),
		"in a row": fontOf("cmap", cmapOf(6, 0, 3, smallLetters)), "names": cffOf(smallLetters),
		"names in a row": cffWith(smallLetters, 1, false), "names in a long row": cffWith(smallLetters, 2, false),
	} {
		letters, written := extract.FontTables(font, nil)
		if letters != len(smallLetters) || !bytes.Contains(written, []byte("<0001> <0061>\n")) ||
			!bytes.Contains(written, []byte("<001A> <007A>\n")) {
			t.Errorf("%s: %d letters, %s", name, letters, written)
		}
	}
}

// TestTablesOfMeaningsEnd: a table of maximum size is read in about the time of an honest one, whatever it contains.
func TestTablesOfMeaningsEnd(t *testing.T) {
	font := fontOf("cmap", cmapOf(4, 3, 1, []rune{'!'}))
	took := func(parts func(i int) string) time.Duration {
		const size = 1 << 20
		var table bytes.Buffer
		for i := 0; table.Len() < size; i++ {
			table.WriteString(parts(i))
		}
		start := time.Now()
		extract.FontTables(font, append(table.Bytes(), " endbfrange endbfchar"...))
		return time.Since(start)
	}
	honest := took(func(i int) string { return fmt.Sprintf("1 beginbfchar <%04X> <0041> endbfchar\n", i) })
	for _, part := range []string{"<", "<<", "(", "%", "<0000><FFFF><0041>", "<0000><FFFF>[<0041>]", "[", "<00"} {
		if d := took(func(int) string { return part }); d > 100*honest+time.Second {
			t.Errorf("%s: %v, an honest table %v", part, d, honest)
		}
	}
}

// FuzzFonts reads fonts and tables from arbitrary bytes.
func FuzzFonts(f *testing.F) {
	table := []byte("1 begincodespacerange <0000> <FFFF> endcodespacerange\n2 beginbfrange <0001> <0003> <0061> " +
		"<0004> <0006> [<0064> <D835DC00> <>] endbfrange\n" +
		"1 beginbfchar <07> <00660069> endbfchar")
	for _, font := range [][]byte{fontOf("cmap", cmapOf(4, 3, 1, smallLetters)), fontOf("cmap", cmapOf(6, 0, 3, smallLetters)),
		fontOf("cmap", cmapOf(12, 3, 10, smallLetters), "post", postOf(smallLetters)), cffOf(smallLetters),
		fontOf("CFF ", string(cffOf(smallLetters))), cffWith(smallLetters, 1, false), cffWith(smallLetters, 2, false),
		cffWith(smallLetters, 0, true), cffWith(smallLetters, 1, true), cffWith(smallLetters, 2, true),
		fontOf("cmap", cmapByOffset(smallLetters))} {
		f.Add(font, table)
	}
	f.Fuzz(func(t *testing.T, font, table []byte) {
		const longest = 1 << 23 // 65,536 codes, each with a meaning of 16 units
		letters, written := extract.FontTables(font, table)
		if letters > 1<<18 || len(written) > longest {
			t.Fatalf("%d letters, %d bytes", letters, len(written))
		}
		if _, again := extract.FontTables(font, written); len(written) > 0 && len(again) > longest {
			t.Fatalf("%d bytes", len(again))
		}
	})
}
