package extract_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"

	"concordat/extract"
)

// zipped makes an archive of name, content pairs.
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
	return zipped(t, append([]string{"word/document.xml", `<w:document ` + wordNS + `><w:body>` + body + `</w:body></w:document>`}, more...)...)
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
		{"markdown", "a.md", "Head\n\nbold and code\n\nitem one\n\nitem two", []byte("# Head\n\n**bold** and `code`\n\n- item one\n- item two\n")},
		{"markdown wraps", "a.md", "one two\n\n中文文字", []byte("one\ntwo\n\n中文\n文字\n")},
		{"html", "a.html", "A\n\nb c\nd\n\ne\n\nf", []byte("<html><head><style>x</style><title>T</title></head><body><h1>A</h1>b <b>c</b><br>d<table><tr><td>e<td>f</table><script>no</script>")},
		{"html entities", "a.html", "a < b & © é", []byte("<p>a &lt; b &amp; &copy; &#233;</p>")},
		{"docx", "a.docx", "Hello world\n\ncell\n\nnext\nline\ttab", docx(t, `<w:p><w:r><w:t>Hello </w:t></w:r><w:r><w:t>world</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p><w:r><w:t>next</w:t><w:br/><w:t>line</w:t><w:tab/><w:t>tab</w:t></w:r></w:p>`)},
		{"docx box once", "a.docx", "in box\n\nbefore after", docx(t, `<w:p><w:r><w:t>before </w:t><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>in box</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>in box</w:t></w:r></w:p></w:txbxContent></mc:Fallback></mc:AlternateContent><w:t>after</w:t></w:r></w:p>`)},
		{"docx deleted", "a.docx", "kept", docx(t, `<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>`)},
		{"docx other prefix", "a.docx", "x", zipped(t, "word/document.xml", `<ns0:document xmlns:ns0="http://purl.oclc.org/ooxml/wordprocessingml/main"><ns0:body><ns0:p><ns0:r><ns0:t>x</ns0:t></ns0:r></ns0:p></ns0:body></ns0:document>`)},
		{"odt", "a.odt", "Title\n\na  b c\nd", odt(t, `<text:h>Title</text:h><text:p>a<text:s text:c="2"/>b   c<text:line-break/>d</text:p>`)},
		{"odt note", "a.odt", "the note\n\nword and more", odt(t, `<text:p>word<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>the note</text:p></text:note-body></text:note> and more</text:p>`)},
		{"odt long header", "a.odt", "body\n\n" + strings.Repeat("long header ", 30) + "end", odtWithHeader(t, strings.Repeat("long header ", 30)+"end")},
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

// wide is s as UTF-16 little-endian without a mark; s is ASCII.
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
		{"entity bomb", "a.docx", extract.Empty, zipped(t, "word/document.xml", `<!DOCTYPE a [<!ENTITY b "xxxx"><!ENTITY c "&b;&b;">]><w:document `+wordNS+`/>`), extract.Options{}},
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

func TestHiddenTextIsFlagged(t *testing.T) {
	for _, c := range []struct {
		name, file, code, text string
		data                   []byte
	}{
		{"docx vanish", "a.docx", extract.FlagHidden, "secret", docx(t, `<w:p><w:r><w:t>seen </w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r></w:p>`)},
		{"docx white", "a.docx", extract.FlagWhite, "secret", docx(t, `<w:p><w:r><w:t>seen</w:t></w:r></w:p><w:p><w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr><w:t>secret</w:t></w:r></w:p>`)},
		{"docx tiny", "a.docx", extract.FlagTiny, "secret", docx(t, `<w:p><w:r><w:rPr><w:sz w:val="2"/></w:rPr><w:t>secret</w:t></w:r></w:p>`)},
		{"html", "a.html", extract.FlagHidden, "secret", []byte(`<p>seen<p style="display: none">secret</p>`)},
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
