package extract_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"

	"concordat/extract"
)

// zipped makes an archive from alternating names and contents.
func zipped(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := 0; i < len(pairs); i += 2 {
		f, err := w.Create(pairs[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

const wordNS = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"`

func docx(t testing.TB, body string, more ...string) []byte {
	return zipped(t, append([]string{"word/document.xml", `<w:document ` + wordNS + `><w:body>` + body + `</w:body></w:document>`},
		more...)...)
}

const odtNS = `xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"`

func odt(t testing.TB, body string) []byte {
	return zipped(t, "mimetype", "application/vnd.oasis.opendocument.text",
		"content.xml", `<office:document-content `+odtNS+`><office:body><office:text>`+body+`</office:text></office:body></office:document-content>`)
}

func odtWithHeader(t testing.TB, header string) []byte {
	return zipped(t, "mimetype", "application/vnd.oasis.opendocument.text",
		"content.xml", `<office:document-content `+odtNS+`><office:body><office:text><text:p>body</text:p></office:text></office:body></office:document-content>`,
		"styles.xml", `<office:document-styles `+odtNS+` xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"><style:header><text:p>`+header+`<text:page-number>7</text:page-number></text:p></style:header></office:document-styles>`)
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		name, file, want string
		data             []byte
	}{
		{"plain", "a.txt", "one\ntwo\n\nthree", []byte("one\r\ntwo\r\n\r\nthree\r\n")},
		{"mark", "a.txt", "é", []byte("\xef\xbb\xbfé")},
		{"utf-16", "a.txt", "hé llo", []byte("\xff\xfeh\x00\xe9\x00 \x00l\x00l\x00o\x00")},
		{"utf-16 without mark", "a.txt", "plain text here", wide("plain text here")},
		{"nul", "a.txt", strings.Repeat("x", 400) + "ab", []byte(strings.Repeat("x", 400) + "a\x00b")},
		{"markdown", "a.md", "Head\n\nbold and code\n\nitem one\n\nitem two",
			[]byte("# Head\n\n**bold** and `code`\n\n- item one\n- item two\n")},
		{"markdown wraps", "a.md", "one two\n\n中文文字", []byte("one\ntwo\n\n中文\n文字\n")},
		{"html", "a.html", "A\n\nb c\nd\n\ne\n\nf", []byte("<html><head><style>x</style><title>T</title></head><body><h1>A</h1>b <b>c</b><br>d<table><tr><td>e<td>f</table><script>no</script>")},
		{"html entities", "a.html", "a < b & © é", []byte("<p>a &lt; b &amp; &copy; &#233;</p>")},
		{"docx", "a.docx", "Hello world\n\ncell\n\nnext\nline\ttab", docx(t, `<w:p><w:r><w:t>Hello </w:t></w:r><w:r><w:t>world</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p><w:r><w:t>next</w:t><w:br/><w:t>line</w:t><w:tab/><w:t>tab</w:t></w:r></w:p>`)},
		{"docx box once", "a.docx", "in box\n\nbefore after", docx(t, `<w:p><w:r><w:t>before </w:t><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>in box</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>in box</w:t></w:r></w:p></w:txbxContent></mc:Fallback></mc:AlternateContent><w:t>after</w:t></w:r></w:p>`)},
		{"docx deleted", "a.docx", "kept", docx(t, `<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>`)},
		{"docx other prefix", "a.docx", "x", zipped(t, "word/document.xml", `<ns0:document xmlns:ns0="http://purl.oclc.org/ooxml/wordprocessingml/main"><ns0:body><ns0:p><ns0:r><ns0:t>x</ns0:t></ns0:r></ns0:p></ns0:body></ns0:document>`)},
		{"odt", "a.odt", "Title\n\na  b c\nd", odt(t, `<text:h>Title</text:h><text:p>a<text:s text:c="2"/>b   c<text:line-break/>d</text:p>`)},
		{"odt note", "a.odt", "the note\n\nword and more", odt(t, `<text:p>word<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>the note</text:p></text:note-body></text:note> and more</text:p>`)},
		{"odt long header", "a.odt", "body\n\n" + strings.Repeat("long header ", 30) + "end",
			odtWithHeader(t, strings.Repeat("long header ", 30)+"end")},
		{"odt short header", "a.odt", "body", odtWithHeader(t, "running title")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := extract.Bytes(c.file, c.data, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Text != c.want {
				t.Errorf("got %q, want %q", r.Text, c.want)
			}
		})
	}
}

// wide returns s, which must be ASCII, as UTF-16 little-endian without a byte order mark.
func wide(s string) []byte {
	var b []byte
	for i := range len(s) {
		b = append(b, s[i], 0)
	}
	return b
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, file, code string
		data             []byte
		o                extract.Options
	}{
		{"no bytes", "a.txt", extract.Empty, nil, extract.Options{}},
		{"spaces", "a.txt", extract.Empty, []byte(" \n\n\t "), extract.Options{}},
		{"no text", "a.docx", extract.Empty, docx(t, `<w:p/>`), extract.Options{}},
		{"binary", "a.txt", extract.Binary, []byte("\x7fELF\x02\x01\x01\x00\x00"), extract.Options{}},
		{"random", "a.bin", extract.Binary, bytes.Repeat([]byte{1, 2, 3, 200, 0, 17}, 50), extract.Options{}},
		{"cut zip", "a.docx", extract.Damaged, docx(t, `<w:p><w:r><w:t>x</w:t></w:r></w:p>`)[:60], extract.Options{}},
		{"picture", "a.png", extract.NoTextLayer, []byte("\x89PNG\r\n\x1a\n....."), extract.Options{}},
		{"input limit", "a.txt", extract.Limit, []byte("hello"), extract.Options{MaxInput: 4}},
		{"depth", "a.docx", extract.Limit, docx(t, strings.Repeat("<w:p>", 300)), extract.Options{}},
		{"ratio", "a.docx", extract.Limit, docx(t, strings.Repeat(" ", 30<<20)), extract.Options{}},
		{"entries", "a.docx", extract.Limit, docx(t, ``, "a", "", "b", "", "c", ""), extract.Options{MaxEntries: 3}},
		{"options", "a.txt", extract.Invalid, []byte("x"), extract.Options{MaxText: -1}},
		{"entity bomb", "a.docx", extract.Empty, zipped(t, "word/document.xml",
			`<!DOCTYPE a [<!ENTITY b "xxxx"><!ENTITY c "&b;&b;">]><w:document `+wordNS+`/>`), extract.Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := extract.Bytes(c.file, c.data, c.o)
			var e *extract.Error
			if !errors.As(err, &e) || e.Code != c.code {
				t.Fatalf("got %v, %v; want code %s", r, err, c.code)
			}
			if len(e.Error()) < len(c.code)+3 {
				t.Errorf("error %q says too little", e)
			}
		})
	}
}

func TestPartIsNotHidden(t *testing.T) {
	good := docx(t, `<w:p><w:r><w:t>first</w:t></w:r></w:p><w:p><w:r><w:t>second`)
	r, err := extract.Bytes("a.docx", good, extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Partial || len(r.Flags) == 0 || !strings.Contains(r.Text, "first") {
		t.Errorf("damaged XML: got %+v, want a partial result with a flag", r)
	}
	r, err = extract.Bytes("a.txt", []byte(strings.Repeat("word ", 100)), extract.Options{MaxText: 50})
	if err != nil || !r.Partial || len(r.Text) > 50 {
		t.Errorf("text limit: got %+v, %v", r, err)
	}
}

// page returns a web page with a style sheet.
func page(style, body string) []byte {
	return []byte("<html><head><style>" + style + "</style></head><body><p>seen</p>" + body + "</body></html>")
}

// docxStyleSheet has styles that hide text: C is based on B, which vanishes; W is white; T is tiny; Grid is a table style with a dark
// header.
var docxStyleSheet = []string{"word/styles.xml", `<w:styles ` + wordNS + `>
<w:style w:type="paragraph" w:styleId="B"><w:rPr><w:vanish/></w:rPr></w:style><w:style w:type="paragraph" w:styleId="C"><w:basedOn w:val="B"/></w:style>
<w:style w:type="character" w:styleId="W"><w:rPr><w:color w:val="FEFEFE"/></w:rPr></w:style><w:style w:type="paragraph" w:styleId="T"><w:rPr><w:sz w:val="2"/></w:rPr></w:style>
<w:style w:type="table" w:styleId="Grid"><w:tblStylePr w:type="firstRow"><w:tcPr><w:shd w:fill="4472C4"/></w:tcPr></w:tblStylePr></w:style></w:styles>`}

// pptx returns a presentation with one slide and one shape at position x.
func pptx(t testing.TB, slide, shape, x string) []byte {
	const ns = ` xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"`
	return zipped(t, "ppt/presentation.xml", `<p:presentation`+ns+`><p:sldSz cx="9144000" cy="6858000"/></p:presentation>`,
		"ppt/slides/slide1.xml", `<p:sld`+ns+slide+`><p:sp><p:nvSpPr><p:cNvPr id="2"`+shape+`/></p:nvSpPr><p:spPr><a:xfrm><a:off x="`+x+`" y="100"/><a:ext cx="1000" cy="1000"/></a:xfrm></p:spPr>`+
			`<p:txBody><a:p><a:r><a:t>secret</a:t></a:r></a:p></p:txBody></p:sp></p:sld>`)
}

// odtStyled returns a document with three styles: P1, hidden by its parent style, P2, white, and P3, white on black.
func odtStyled(t testing.TB, body string) []byte {
	ns := odtNS + ` xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"`
	style := func(name, base, properties string) string {
		return `<style:style style:name="` + name + `" style:parent-style-name="` + base + `">` + properties + `</style:style>`
	}
	return zipped(t, "mimetype", "application/vnd.oasis.opendocument.text",
		"styles.xml", `<office:document-styles `+ns+`><office:styles>`+style("Hidden", "",
			`<style:text-properties text:display="none"/>`)+`</office:styles></office:document-styles>`,
		"content.xml", `<office:document-content `+ns+`><office:automatic-styles>`+style("P1", "Hidden", "")+style("P2", "",
			`<style:text-properties fo:color="#ffffff"/>`)+
			style("P3", "", `<style:paragraph-properties fo:background-color="#000000"/><style:text-properties fo:color="#ffffff"/>`)+
			`</office:automatic-styles><office:body><office:text>`+body+`</office:text></office:body></office:document-content>`)
}

// TestUnseenTextInsideWords hides letters between the letters and words that a reader sees.
func TestUnseenTextInsideWords(t *testing.T) {
	run := func(property, s string) string {
		return `<w:r><w:rPr>` + property + `</w:rPr><w:t xml:space="preserve">` + s + `</w:t></w:r>`
	}
	for _, c := range []struct {
		name, file, want string
		data             []byte
	}{
		{"html", "a.html", "This is plagiarism, plainly.\n\nxyz q", page(`.x{display:none}`,
			`<p>This is pla<span class=x>xyz</span>giaris<i class=x>q</i>m, plainly.`)},
		{"docx", "a.docx", "This is plagiarism.\n\nxyz", docx(t, `<w:p>`+run("", "This is pla")+run("<w:vanish/>", "xyz")+run("",
			"giarism.")+`</w:p>`)},
		{"white", "a.docx", "These are words.\n\nx y", docx(t, `<w:p>`+run("", "These")+run(`<w:color w:val="FFFFFF"/>`, "x")+run("",
			"are")+run(`<w:color w:val="FFFFFF"/>`, "y")+run("", "words.")+`</w:p>`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := extract.Bytes(c.file, c.data, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimPrefix(r.Text, "seen\n\n")
			if got != c.want || len(r.Flags) != 1 || r.Text[r.Flags[0].Start:r.Flags[0].End] != c.want[strings.Index(c.want, "\n\n")+2:] {
				t.Errorf("got %q, want %q; flags %+v", got, c.want, r.Flags)
			}
		})
	}
}

// TestTextInHead: text in a page's head that belongs in its body is shown, as browsers do.
func TestTextInHead(t *testing.T) {
	for file, want := range map[string]string{
		"<html><head><title>T</title>one</head><body>two":                        "one\n\ntwo",
		"<head><meta charset=utf-8><style>p{}</style><p>one</p></head><p>two":    "one\n\ntwo",
		"<head><script>no</script><noscript></noscript><title>T</title></head>x": "x",
	} {
		r, err := extract.Bytes("a.html", []byte(file), extract.Options{})
		if err != nil || r.Text != want {
			t.Errorf("%s: got %+v, %v, want %q", file, r, err, want)
		}
	}
}

// TestShownTextIsNotFlagged has pages that seem to hide text but do not.
func TestShownTextIsNotFlagged(t *testing.T) {
	for _, data := range [][]byte{
		pptx(t, ``, ``, `100`),
		docx(t, `<w:p><w:pPr><w:pStyle w:val="C"/></w:pPr><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>shown</w:t></w:r></w:p>`,
			docxStyleSheet...),
		docx(t, `<w:tbl><w:tr><w:tc><w:tcPr><w:shd w:fill="000080"/></w:tcPr><w:p><w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr><w:t>shown</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`),
		docx(t, `<w:tbl><w:tblPr><w:tblStyle w:val="Grid"/></w:tblPr><w:tr><w:tc><w:p><w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr><w:t>shown</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`, docxStyleSheet...),
		docx(t, `<w:p><w:pPr><w:shd w:fill="000000"/></w:pPr><w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr><w:t>shown</w:t></w:r></w:p>`),
		docx(t, `<w:p><w:r><w:rPr><w:highlight w:val="darkBlue"/><w:color w:val="FFFFFF"/></w:rPr><w:t>shown</w:t></w:r></w:p>`),
		odtStyled(t, `<text:p text:style-name="P3">shown</text:p>`),
		page(`@media print{.x{display:none}}`, `<p class=x>shown</p>`),
		page(`@media (max-width: 600px){.x{display:none}}`, `<p class=x>shown</p>`),
		page(`.y{display:none}`, `<p class=x>shown</p>`),
		page(`p.x{display:none} #i{display:block}`, `<p class=x id=i>shown</p>`),
		page(`div > .x{display:none}`, `<div><section><p class=x>shown</p></section></div>`),
		page(`.x:hover{display:none} .x::before{display:none} p + .x{display:none}`, `<p class=x>shown</p>`),
		page(`.x{background:#003;color:white}`, `<p class=x>shown <b>in white on dark</b></p>`),
		page(`.x{background-image:url(night.png);color:white}`, `<p class=x>shown</p>`),
		page(`.x{visibility:hidden} .x b{visibility:visible}`, `<p class=x><b>shown</b></p>`),
		page(`.x{font-size:0} .x b{font-size:14px}`, `<p class=x><b>shown</b></p>`),
		page(`.x{font-size:0.8em;text-indent:-1em;left:-10px}`, `<p class=x>shown</p>`),
		page(`.x{display:none`, ``),
		[]byte(`<body bgcolor="#000000" text="#ffffff"><p>shown</p>`),
		[]byte(`<p style="color:white;background-color:black">shown</p>`),
	} {
		r, err := extract.Bytes("", data, extract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Flags) > 0 {
			t.Errorf("%s: flags %+v", data, r.Flags)
		}
	}
}

func TestHiddenTextIsFlagged(t *testing.T) {
	for _, c := range []struct {
		name, file, code, text string
		data                   []byte
	}{
		{"docx vanish", "a.docx", extract.FlagHidden, "secret", docx(t,
			`<w:p><w:r><w:t>seen </w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r></w:p>`)},
		{"docx white", "a.docx", extract.FlagWhite, "secret",
			docx(t, `<w:p><w:r><w:t>seen</w:t></w:r></w:p><w:p><w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr><w:t>secret</w:t></w:r></w:p>`)},
		{"docx tiny", "a.docx", extract.FlagTiny, "secret", docx(t, `<w:p><w:r><w:rPr><w:sz w:val="2"/></w:rPr><w:t>secret</w:t></w:r></w:p>`)},
		{"docx theme white", "a.docx", extract.FlagWhite, "secret", docx(t,
			`<w:p><w:r><w:rPr><w:color w:val="FFFFFF" w:themeColor="background1"/></w:rPr><w:t>secret</w:t></w:r></w:p>`)},
		{"docx paragraph style", "a.docx", extract.FlagHidden, "secret",
			docx(t, `<w:p><w:pPr><w:pStyle w:val="C"/></w:pPr><w:r><w:t>secret</w:t></w:r></w:p>`, docxStyleSheet...)},
		{"docx run style", "a.docx", extract.FlagWhite, "secret", docx(t,
			`<w:p><w:r><w:rPr><w:rStyle w:val="W"/></w:rPr><w:t>secret</w:t></w:r></w:p>`, docxStyleSheet...)},
		{"docx tiny style", "a.docx", extract.FlagTiny, "secret", docx(t,
			`<w:p><w:pPr><w:pStyle w:val="T"/></w:pPr><w:r><w:t>secret</w:t></w:r></w:p>`, docxStyleSheet...)},
		{"docx ink on its own shading", "a.docx", extract.FlagWhite, "secret",
			docx(t, `<w:p><w:r><w:rPr><w:color w:val="112233"/><w:shd w:fill="112233"/></w:rPr><w:t>secret</w:t></w:r></w:p>`)},
		{"pptx hidden slide", "a.pptx", extract.FlagHidden, "secret", pptx(t, ` show="0"`, ``, `100`)},
		{"pptx hidden shape", "a.pptx", extract.FlagHidden, "secret", pptx(t, ``, ` hidden="1"`, `100`)},
		{"pptx beside the slide", "a.pptx", extract.FlagOffPage, "secret", pptx(t, ``, ``, `9500000`)},
		{"odt style", "a.odt", extract.FlagHidden, "secret", odtStyled(t, `<text:p text:style-name="P1">secret</text:p>`)},
		{"odt white", "a.odt", extract.FlagWhite, "secret", odtStyled(t, `<text:p text:style-name="P2">secret</text:p>`)},
		{"odt section", "a.odt", extract.FlagHidden, "secret", odtStyled(t,
			`<text:section text:display="none"><text:p>secret</text:p></text:section>`)},
		{"html", "a.html", extract.FlagHidden, "secret", []byte(`<p>seen<p style="display: none">secret</p>`)},
		{"html attribute", "a.html", extract.FlagHidden, "secret", []byte(`<p>seen<p hidden>secret</p>`)},
		{"html class", "a.html", extract.FlagHidden, "secret", page(`.x{display:none}`, `<p class="a x">secret</p>`)},
		{"html id, important", "a.html", extract.FlagHidden, "secret",
			page(`#x{visibility:hidden !important} p{visibility:visible}`, `<p id=x style="visibility:visible">secret</p>`)},
		{"html element", "a.html", extract.FlagHidden, "secret", page(`aside{opacity:0}`, `<aside><b>secret</b></aside>`)},
		{"html descendant", "a.html", extract.FlagHidden, "secret", page(`@media screen{div.a > section b.c , .q{font-size:0}}`,
			`<div class=a><section><p><b class=c>secret</b></p></section></div>`)},
		{"html tiny", "a.html", extract.FlagTiny, "secret", page(`.x{font:italic 1px/2 serif}`, `<p class=x>secret</p>`)},
		{"html white", "a.html", extract.FlagWhite, "secret", page(`.x{color:#fff}`, `<p class=x>secret</p>`)},
		{"html same colour", "a.html", extract.FlagWhite, "secret",
			page(`div{background:navy url()} .x{background:rgb(0,0,128);color:#000083}`, `<div><p class=x>secret</p></div>`)},
		{"html transparent", "a.html", extract.FlagWhite, "secret", page(`.x{color:rgba(0,0,0,0)}`, `<p class=x>secret</p>`)},
		{"html off page", "a.html", extract.FlagOffPage, "secret", page(`.x{position:absolute;left:-9999px}`, `<p class=x>secret</p>`)},
		{"html indent", "a.html", extract.FlagOffPage, "secret", page(`.x{text-indent:-5000em}`, `<p class=x>secret</p>`)},
		{"html clipped", "a.html", extract.FlagHidden, "secret",
			page(`.sr{position:absolute;clip:rect(0 0 0 0);width:1px;height:1px;overflow:hidden}`, `<p class=sr>secret</p>`)},
		{"html style at the end", "a.html", extract.FlagHidden, "secret", []byte(`<p>seen<p class=x>secret</p><style>.x{display:none}</style>`)},
		{"html bgcolor", "a.html", extract.FlagWhite, "secret",
			[]byte(`<body bgcolor=black text=white><p>seen<p><font color="#000000">secret</font></p>`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := extract.Bytes(c.file, c.data, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Flags {
				if f.Code == c.code && r.Text[f.Start:f.End] == c.text {
					return
				}
			}
			t.Errorf("no flag %s on %q: %+v", c.code, c.text, r)
		})
	}
}
