package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat/extract"
)

const officeNS = ` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"` +
	` xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"` +
	` xmlns:v="urn:schemas-microsoft-com:vml" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:future="urn:example:unknown"`

// related returns a list of relationships, each given as "id kind target".
func related(list ...string) string {
	var b strings.Builder
	b.WriteString(`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for _, one := range list {
		f := strings.Fields(one)
		fmt.Fprintf(&b, `<Relationship Id="%s" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/>`,
			f[0], f[1], f[2])
	}
	return b.String() + `</Relationships>`
}

// wordFile returns a Word document with a body, the relationships of its main part, and further parts by name and content.
func wordFile(t testing.TB, body string, rels []string, more ...string) []byte {
	main := `<w:document ` + wordNS + officeNS + ` mc:Ignorable="future"><w:body>` + body + `</w:body></w:document>`
	return zipped(t, append([]string{"word/document.xml", main,
		"word/_rels/document.xml.rels", related(rels...)}, more...)...)
}

func para(s string) string { return `<w:p><w:r><w:t>` + s + `</w:t></w:r></w:p>` }

func field(code, shown string) string {
	mark := func(kind string) string { return `<w:r><w:fldChar w:fldCharType="` + kind + `"/></w:r>` }
	return `<w:p>` + mark("begin") + code + mark("separate") + shown + mark("end") + `</w:p>`
}

// TestCensusOfParts reads everything that an office program shows, wherever it is in the file, and names what is not read.
func TestCensusOfParts(t *testing.T) {
	notes := `<w:footnotes ` + wordNS + `><w:footnote>` + para("a note") + `</w:footnote></w:footnotes>`
	for _, c := range []struct {
		name, file, want, flag string
		data                   []byte
	}{
		{"imported HTML", "a.docx", "one\n\ntwo\n\nthree", "", wordFile(t, para("one")+`<w:altChunk r:id="x"/>`+para("three"),
			[]string{"x aFChunk /word/c.html"},
			"word/c.html", "<p>two</p>")},
		{"imported text, in a cell", "a.docx", "one\n\ntwo\n\nthree", "", wordFile(t, para("one")+`<w:tbl><w:tr><w:tc><w:altChunk r:id="x"/><w:p/></w:tc></w:tr></w:tbl>`+
			para("three"), []string{"x aFChunk c.txt"}, "word/c.txt", "two")},
		{"imported document", "a.docx", "one\n\ntwo", "", wordFile(t, para("one")+`<w:altChunk r:id="x"/>`, []string{"x aFChunk c.docx"},
			"word/c.docx", string(docx(t, para("two"))))},
		{"imported part that is not there", "a.docx", "one", extract.FlagPart, wordFile(t, para("one")+`<w:altChunk r:id="x"/>`,
			[]string{"x aFChunk c.html"})},
		{"notes under another name", "a.docx", "one\n\na note", "", wordFile(t, para("one"), []string{"n footnotes extra/n7.xml"},
			"word/extra/n7.xml", notes)},
		{"diagram", "a.docx", "one\n\nbox\n\ntwo", "", wordFile(t, `<w:p><w:r><w:t>one</w:t><w:drawing><dgm:relIds r:dm="d"/></w:drawing></w:r></w:p>`+para("two"),
			[]string{"d diagramData diagrams/d.xml"}, "word/diagrams/d.xml", `<dgm:dataModel`+officeNS+`><dgm:t><a:p><a:r><a:t>box</a:t></a:r></a:p></dgm:t></dgm:dataModel>`)},
		{"chart", "a.docx", "one\n\ntitle\n\nautumn", extract.FlagNumbers,
			wordFile(t, para("one"), []string{"c chart charts/c.xml"}, "word/charts/c.xml",
				`<c:chartSpace`+officeNS+`><a:p><a:r><a:t>title</a:t></a:r></a:p><c:strCache><c:pt><c:v>autumn</c:v></c:pt><c:pt><c:v>autumn</c:v></c:pt></c:strCache><c:numCache><c:v>12</c:v></c:numCache></c:chartSpace>`)},
		{"a Choice that nobody understands", "a.docx", "shown", extract.FlagAlternatives, wordFile(t, `<w:p><mc:AlternateContent><mc:Choice Requires="future"><w:r><w:t>decoy</w:t></w:r></mc:Choice>`+
			`<mc:Fallback><w:r><w:t>shown</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>`, nil)},
		{"a Choice that is understood", "a.docx", "shown", extract.FlagAlternatives, wordFile(t, `<w:p><mc:AlternateContent><mc:Choice Requires="wps"><w:r><w:t>shown</w:t></w:r></mc:Choice>`+
			`<mc:Fallback><w:r><w:t>old</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>`, nil)},
		{"an element that is ignored", "a.docx", "shown", extract.FlagAlternatives,
			wordFile(t, para("shown")+`<future:x>`+para("decoy")+`</future:x>`, nil)},
		{"code of a field", "a.docx", "shown", extract.FlagAlternatives,
			wordFile(t, field(`<w:r><w:t>code</w:t></w:r>`, `<w:r><w:t>shown</w:t></w:r>`), nil)},
		{"a field without an end", "a.docx", "one\n\nall", "", wordFile(t, para("one")+`<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:t>all</w:t></w:r></w:p>`, nil)},
		{"symbols", "a.docx", "The β", "", wordFile(t, `<w:p><w:r><w:sym w:font="Arial" w:char="F054"/><w:sym w:font="Arial" w:char="0068"/><w:sym w:font="Arial" w:char="F065"/>`+
			`<w:t> </w:t><w:sym w:font="Wingdings" w:char="F04A"/><w:sym w:font="Symbol" w:char="F062"/></w:r></w:p>`, nil)},
		{"text on a path", "a.docx", "art", "", wordFile(t, `<w:p><w:r><w:pict><v:shape><v:textpath string="art"/></v:shape></w:pict></w:r></w:p>`, nil)},
		{"labels of lists", "a.docx", "Article 1 one\n\nArticle 2 two", "", wordFile(t, strings.ReplaceAll(para("one")+para("two"), `<w:p>`, `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="3"/></w:numPr></w:pPr>`),
			[]string{"n numbering numbering.xml"}, "word/numbering.xml", `<w:numbering `+wordNS+`><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="Article %1"/></w:lvl></w:abstractNum><w:num w:numId="3"><w:abstractNumId w:val="0"/></w:num></w:numbering>`)},
		{"comments", "a.docx", "one", extract.FlagComments, wordFile(t, para("one"), []string{"c comments comments.xml"},
			"word/comments.xml", `<w:comments `+wordNS+`>`+para("mine")+`</w:comments>`)},
		{"a part that nothing leads to", "a.docx", "one", extract.FlagPart, wordFile(t, para("one"), nil, "word/stray.xml",
			`<w:x `+wordNS+`>`+para("stray")+`</w:x>`)},
		{"chart of a slide", "a.pptx", "secret\n\ntitle", "", append([]byte(nil), zipped(t, "ppt/presentation.xml", "<x/>",
			"ppt/slides/slide1.xml",
			`<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"`+officeNS+`><a:p><a:r><a:t>secret</a:t></a:r></a:p></p:sld>`,
			"ppt/slides/_rels/slide1.xml.rels", related("c chart ../charts/c.xml"), "ppt/charts/c.xml", `<c:chartSpace`+officeNS+`><a:p><a:r><a:t>title</a:t></a:r></a:p></c:chartSpace>`)...)},
		{"hidden text of OpenDocument", "a.odt", "seen\n\nhidden", extract.FlagHidden, odt(t, `<text:p>seen</text:p><text:p><text:hidden-text text:string-value="hidden"/></text:p>`)},
		{"object of OpenDocument", "a.odt", "one\n\ninner", "", zipped(t, "mimetype", "application/vnd.oasis.opendocument.text",
			"content.xml", `<office:document-content `+odtNS+` xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"><office:body><office:text><text:p>one<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p></office:text></office:body></office:document-content>`,
			"Object 1/content.xml", `<office:document-content `+odtNS+`><office:body><office:chart><text:p>inner</text:p></office:chart></office:body></office:document-content>`)},
		{"table of OpenDocument", "a.ods", "one\n\ntwo", "", zipped(t, "mimetype", "application/vnd.oasis.opendocument.spreadsheet",
			"content.xml", `<office:document-content `+odtNS+`><office:body><office:spreadsheet><table:table table:name="S"><table:table-row><table:table-cell><text:p>one</text:p></table:table-cell><table:table-cell><text:p>two</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet></office:body></office:document-content>`)},
		{"page in a frame", "a.html", "one\n\ntwo\n\nthree", "", []byte(`<p>one<iframe srcdoc="<p>two</p>"></iframe><p>three`)},
		{"page in an address", "a.html", "one\n\ntwo", "", []byte(`<p>one<iframe src="data:text/html;base64,PHA+dHdvPC9wPg=="></iframe>`)},
		{"page elsewhere", "a.html", "one", extract.FlagPart, []byte(`<p>one<iframe src="other.html"></iframe>`)},
		{"shadow root", "a.html", "one\n\ntwo", extract.FlagAlternatives, []byte(`<p>one</p><div><template shadowrootmode="open">two</template></div><template>never</template>`)},
		{"content of an object", "a.html", "one", "", []byte(`<object data="x.bin"><p>one</p></object>`)},
		{"values of a form", "a.html", "one two", "", []byte(`<p>one <input value="two"><input type="hidden" value="three"></p>`)},
		{"text of a style sheet", "a.html", "Note: one éx", "", []byte(`<meta charset="utf-8"><style>.n::before{content:"Note: "}.n:after{content:" \e9" attr(data-x)}</style><p class="n" data-x="x">one</p>`)},
		{"large first letter", "a.html", "The end", "", []byte(`<div><div class="drop">T</div>he end</div>`)},
		{"for browsers without scripts", "a.html", "one\n\ntwo", extract.FlagHidden, []byte(`<p>one</p><noscript><p>two</p></noscript>`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := extract.Bytes(c.file, c.data, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Text != c.want {
				t.Errorf("got %q, want %q", r.Text, c.want)
			}
			flagged := false
			for _, f := range r.Flags {
				flagged = flagged || f.Code == c.flag
				if c.flag == "" {
					t.Errorf("flag %+v", f)
				}
			}
			if c.flag != "" && !flagged || r.Partial != (c.flag == extract.FlagPart) {
				t.Errorf("partial %v, flags %+v, want %q", r.Partial, r.Flags, c.flag)
			}
		})
	}
}

// TestImportedDocumentsEnd: a document that imports itself is read only up to a limit.
func TestImportedDocumentsEnd(t *testing.T) {
	inner := docx(t, para("innermost"))
	for range 6 {
		inner = wordFile(t, para("outer")+`<w:altChunk r:id="x"/>`, []string{"x aFChunk c.docx"}, "word/c.docx", string(inner))
	}
	r, err := extract.Bytes("a.docx", inner, extract.Options{})
	if err != nil || !r.Partial || strings.Contains(r.Text, "innermost") {
		t.Errorf("got %+v, %v", r, err)
	}
}

// book returns an EPUB with two chapters in its spine, one outside it, a table of contents, and further parts.
func book(t testing.TB, more ...string) []byte {
	return zipped(t, append([]string{"mimetype", "application/epub+zip", "META-INF/container.xml",
		`<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfile full-path="o/c.opf"/></container>`, "o/c.opf",
		`<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>
		<item id="b" href="b%20b.xhtml" media-type="application/xhtml+xml"/><item id="x" href="x.xhtml" media-type="application/xhtml+xml"/>
		<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/><item id="f" href="f.otf" media-type="font/otf"/></manifest>
		<spine><itemref idref="a"/><itemref idref="b"/></spine></package>`,
		"o/a.xhtml", "<h1>First</h1><p>alpha</p>", "o/b b.xhtml", "<p>beta</p>", "o/x.xhtml", "<p>outside</p>",
		"o/n.xhtml", "<nav><a>First</a><p>only in the contents</p></nav>", "o/f.otf", "font"}, more...)...)
}

func locks(parts ...string) string {
	s := `<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#">`
	for _, p := range parts {
		s += `<enc:EncryptedData><enc:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/><enc:CipherData><enc:CipherReference URI="` + p + `"/></enc:CipherData></enc:EncryptedData>`
	}
	return s + `</encryption>`
}

func TestBookIsReadWhole(t *testing.T) {
	want := "First\n\nalpha\n\nbeta\n\noutside\n\nonly in the contents"
	for name, locked := range map[string]string{"no lock": locks(), "a font is locked": locks("o/f.otf")} {
		r, err := extract.Bytes("a.epub", book(t, "META-INF/encryption.xml", locked), extract.Options{})
		if err != nil || r.Text != want || r.Partial {
			t.Errorf("%s: got %+v, %v, want %q", name, r, err, want)
		}
	}
	r, err := extract.Bytes("a.epub", book(t, "META-INF/encryption.xml", locks("o/a.xhtml")), extract.Options{})
	if err != nil || !r.Partial || strings.Contains(r.Text, "alpha") || !strings.Contains(r.Text, "beta") {
		t.Errorf("one chapter is locked: %+v, %v", r, err)
	}
	_, err = extract.Bytes("a.epub", book(t, "META-INF/encryption.xml", locks("o/a.xhtml", "o/b%20b.xhtml", "o/x.xhtml",
		"o/n.xhtml")), extract.Options{})
	if e, ok := err.(*extract.Error); !ok || e.Code != extract.Encrypted {
		t.Errorf("all is locked: %v", err)
	}
}
