package extract_test

import (
	"strings"
	"testing"

	"concordat/extract"
)

// workbookFile returns a workbook with a visible and a hidden sheet.
func workbookFile(t testing.TB, cells string) []byte {
	const ns = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	sheet := func(body string) string {
		return `<worksheet ` + ns + `><sheetData>` + body + `</sheetData></worksheet>`
	}
	return zipped(t, "xl/workbook.xml", `<workbook `+ns+`><sheets><sheet name="One" r:id="a"/><sheet name="Two" state="hidden" r:id="b"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", related("a worksheet worksheets/s1.xml", "b worksheet worksheets/s2.xml", "s sharedStrings strings.xml"),
		"xl/strings.xml", `<sst `+ns+`><si><t>first</t></si><si><r><t>sec</t></r><r><t>ond</t></r><rPh><t>reading</t></rPh></si></sst>`,
		"xl/worksheets/s1.xml", sheet(cells), "xl/worksheets/s2.xml", sheet(`<row><c t="inlineStr"><is><t>unseen</t></is></c></row>`))
}

// TestDataFiles reads the words of files made for programs.
func TestDataFiles(t *testing.T) {
	jats := `<?xml version="1.0"?><article xmlns:xlink="http://www.w3.org/1999/xlink"><front><journal-meta><journal-title>J</journal-title></journal-meta>
<article-meta><title-group><article-title>On tides</article-title></title-group><contrib-group><contrib><name><surname>Lee</surname>
<given-names>Ann</given-names></name></contrib></contrib-group><pub-date><day>5</day><month>3</month><year>2019</year></pub-date>
<abstract><p>Short.</p></abstract></article-meta></front><body><sec><title>Methods</title><p>We <italic>looked</italic>.<fn><p>A note.</p></fn></p></sec></body>
<back><ref-list><ref><mixed-citation><string-name><surname>Roe</surname> <given-names>J</given-names></string-name>. <article-title>Ebb</article-title>.</mixed-citation></ref></ref-list></back></article>`
	tei := `<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>Letters</title><author>Ann Lee</author></titleStmt>
<publicationStmt><date when="1998-04"/><p>rights</p></publicationStmt></fileDesc></teiHeader><text><body><div><head>First</head><p>Dear <hi>Bo</hi>,</p></div></body></text></TEI>`
	for _, c := range []struct {
		name, file, want, format string
		data                     []byte
	}{
		{"JSON", "a.json", "海岛 one two\n\nthree words here", "json", []byte(`{"id":7,"text":"\u6d77\u5c9b one two","list":["three words here",true],"url":"http://a_b"}`)},
		{"lines of JSON", "a.jsonl", "first one\n\nsecond one", "json", []byte("{\"t\":\"first one\"}\n{\"t\":\"second one\"}\n")},
		{"JSON without its name", "a", "one two", "json", []byte(`["one two"]`)},
		{"text with the name of JSON", "a.json", "No value at all.", "json", []byte(`No value at all.`)},
		{"notebook", "a.ipynb", "Title\n\nProse goes on.\n\nprint(1)\n\nout", "ipynb",
			[]byte(`{"cells":[{"cell_type":"markdown","source":["# Title\n","\n","Prose goes on."]},{"cell_type":"code","source":"print(1)","outputs":[{"text":["out\n"]},{"data":{"image/png":"iVBOR"}}]}],"nbformat":4}`)},
		{"SubRip", "a.srt", "The harbour office kept tables.", "subtitles", []byte("1\n00:00:01,000 --> 00:00:02,000\n<i>The harbour</i>\noffice\n\n2\n00:00:02,500 --> 00:00:03,000\nkept tables.\n")},
		{"WebVTT", "a.vtt", "One two three", "subtitles", []byte("WEBVTT\n\nNOTE nobody sees this\n\nSTYLE\n::cue{}\n\nid\n00:01.000 --> 00:02.000 line:0\n<v Ann>One two\n\n00:02.000 --> 00:03.000\nthree\n")},
		{"workbook", "a.xlsx", "first\n\nsecond\n\nsum of it\n\nunseen", "xlsx", workbookFile(t,
			`<row><c t="s"><v>0</v></c><c><v>12</v></c><c t="s"><v>1</v></c><c t="s"><v>99</v></c></row><row><c t="str"><f>A1</f><v>sum of it</v></c></row>`)},
		{"JATS", "a.xml", "On tides\n\nShort.\n\nMethods\n\nA note.\n\nWe looked.\n\nRoe J. Ebb.", "xml", []byte(jats)},
		{"TEI", "a.xml", "Letters\n\nFirst\n\nDear Bo,", "xml", []byte(tei)},
		{"JATS without a declaration", "a.nxml", "On tides\n\nShort.\n\nMethods\n\nA note.\n\nWe looked.\n\nRoe J. Ebb.", "xml",
			[]byte(strings.Replace(jats, `<?xml version="1.0"?>`, `<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96)//EN" "a.dtd">`, 1))},
		{"TEI without name and declaration", "a", "Letters\n\nFirst\n\nDear Bo,", "xml",
			[]byte(strings.TrimPrefix(tei, `<?xml version="1.0"?>`))},
		{"result of an object in RTF", "a.rtf", "one two", "rtf", []byte(`{\rtf1 one {\object{\*\objdata 00}{\result two}}\par}`)},
		{"label of a list in RTF", "a.rtf", "Article 1 one", "rtf", []byte(`{\rtf1 {\listtext Article 1 }one\par}`)},
		{"number of a list in RTF", "a.rtf", "one", "rtf", []byte(`{\rtf1 {\listtext 1.\tab }one\par}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := extract.Bytes(c.file, c.data, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Text != c.want || r.Format != c.format {
				t.Errorf("got %s %q, want %s %q", r.Format, r.Text, c.format, c.want)
			}
		})
	}
	r, err := extract.Bytes("a.xml", []byte(jats), extract.Options{})
	if err != nil || r.Title != "On tides" || r.Author != "Lee Ann" || r.Date != "2019-03-05" || r.PlaceAt(strings.Index(r.Text,
		"We looked")) != "section Methods" ||
		r.PlaceAt(strings.Index(r.Text, "Roe")) != "references" {
		t.Errorf("JATS: %+v, %v", r, err)
	}
	if r, err := extract.Bytes("a.xml", []byte(tei), extract.Options{}); err != nil || r.Title != "Letters" ||
		r.Author != "Ann Lee" || r.Date != "1998-04" {
		t.Errorf("TEI: %+v, %v", r, err)
	}
}

func FuzzJSON(f *testing.F) {
	fuzzAs(f, "a.json", `{"a":"one two"}`, `[[[["x y"]]]]`, "{\"a\":\"b c\"}\n{", `"\ud800"`)
}

func FuzzNotebook(f *testing.F) {
	fuzzAs(f, "a.ipynb", `{"cells":[{"cell_type":"markdown","source":["# a"]},{"cell_type":"code","source":"x","outputs":[{"data":{"text/html":"<p>b"}}]}]}`,
		`{"worksheets":[{"cells":[{"input":"y"}]}]}`, `{"cells":[{"source":7}]}`)
}

func FuzzSubtitles(f *testing.F) {
	fuzzAs(f, "a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>x\n", "1\n00:00:01,000 --> 00:00:02,000\ny\n")
}

func FuzzXLSX(f *testing.F) {
	fuzzPart(f, "a.xlsx", workbookFile, `<row hidden="1"><c t="s"><v>1</v></c></row>`, `<row><c t="inlineStr"><is><t>a</t></is></c><c t="s"><v>-1</v></c></row>`)
}

func FuzzScholarly(f *testing.F) {
	fuzzAs(f, "a.xml", `<article><front><article-meta><article-title>T</article-title></article-meta></front><body><sec><title>S</title><p>x<fn><p>n</p></fn></p></sec></body></article>`,
		`<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><div><head>h</head><note>n</note><p>p<note>m</p></div></text></TEI>`)
}

// FuzzWordParts fuzzes the body of a document with parts of every kind.
func FuzzWordParts(f *testing.F) {
	fuzzPart(f, "a.docx", func(t testing.TB, s string) []byte {
		return wordFile(t, s, []string{"x aFChunk c.html", "d diagramData d.xml", "c chart ch.xml", "n numbering numbering.xml"},
			"word/c.html", "<p>two</p>",
			"word/d.xml", `<a:p><a:r><a:t>box</a:t></a:r></a:p>`, "word/ch.xml", `<c:v>name</c:v>`, "word/numbering.xml",
			`<w:numbering `+wordNS+`><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:lvlText w:val="Part %1"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`)
	}, `<w:altChunk r:id="x"/><w:p><dgm:relIds r:dm="d"/><w:r><w:t>y</w:t></w:r></w:p><c:chart r:id="c"/>`,
		`<w:p><w:pPr><w:numPr><w:ilvl w:val="8"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>y</w:t></w:r></w:p>`, field(`<w:r><w:t>a</w:t></w:r>`, para("b")),
		`<mc:AlternateContent><mc:Choice Requires="future">a</mc:Choice><mc:Fallback><w:p><w:r><w:sym w:font="Symbol" w:char="F061"/></w:r></w:p></mc:Fallback></mc:AlternateContent>`)
}
