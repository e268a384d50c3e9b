package extract_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"concordat/extract"
)

// fuzzLimits are small limits, so that a violated limit is found at once.
var fuzzLimits = extract.Options{MaxInput: 1 << 20, MaxText: 1 << 20, MaxUnpacked: 8 << 20, MaxEntries: 100, MaxPages: 20}

// checkMembers requires that everything extracted from data satisfies the package's guarantees.
func checkMembers(t *testing.T, name string, data []byte, o extract.Options) {
	t.Helper()
	n := 0
	for m := range extract.Members(name, data, o) {
		n++
		if (m.Result == nil) == (m.Err == nil) {
			t.Fatalf("%s: neither result nor error", m.Path)
		}
		if m.Err != nil {
			if m.Err.Code == "" {
				t.Fatalf("%s: error without code: %v", m.Path, m.Err)
			}
			if strings.Contains(m.Err.Detail, "the reader stopped") {
				t.Fatalf("%s: panic: %v", m.Path, m.Err)
			}
			continue
		}
		checkResult(t, m.Result, o)
	}
	if n == 0 {
		t.Fatal("no answer")
	}
}

func checkResult(t *testing.T, r *extract.Result, o extract.Options) {
	t.Helper()
	if !utf8.ValidString(r.Text) || strings.ContainsRune(r.Text, 0) {
		t.Fatalf("text is not clean: %q", r.Text)
	}
	if strings.TrimSpace(r.Text) == "" {
		t.Fatalf("empty text without an error")
	}
	if int64(len(r.Text)) > o.WithDefaults().MaxText {
		t.Fatalf("text of %d bytes", len(r.Text))
	}
	if r.Partial && len(r.Flags) == 0 {
		t.Fatal("partial without a flag")
	}
	last := 0
	for _, p := range r.Places {
		if p.Offset < last || p.Offset > len(r.Text) || p.Label == "" {
			t.Fatalf("place %+v after %d in a text of %d bytes", p, last, len(r.Text))
		}
		last = p.Offset
	}
	for _, f := range r.Flags {
		if f.Code == "" || f.Count < 1 || f.Start < 0 || f.End < f.Start || f.End > len(r.Text) {
			t.Fatalf("flag %+v in a text of %d bytes", f, len(r.Text))
		}
		if f.End > 0 && (!utf8.RuneStart(r.Text[f.Start]) || f.End < len(r.Text) && !utf8.RuneStart(r.Text[f.End])) {
			t.Fatalf("flag %+v cuts a character", f)
		}
	}
}

// fuzzAs fuzzes a file's bytes under the given name.
func fuzzAs(f *testing.F, name string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkMembers(t, name, data, fuzzLimits) })
}

// fuzzPart fuzzes one part of a zip made by wrap, with correct checksums.
func fuzzPart(f *testing.F, name string, wrap func(t testing.TB, part string) []byte, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, part string) { checkMembers(t, name, wrap(t, part), fuzzLimits) })
}

func FuzzText(f *testing.F) {
	fuzzAs(f, "a.txt", "plain\r\ntext", "\xff\xfeh\x00i\x00", "\x1b$B$3$s\x1b(B", "caf\xe9 d\xe9j\xe0 vu", "\x8e\xa2\xa1\xa1", "~{VPND~}",
		"a\u200bb сору \u202ex t e x t s p a c e d o u t", "❝x❞",
		"\u202ea\u2067b\u2066c\u202d\u05d0\u202c\u2069d\n\u202ee", "t\u0336h\u0301\u0302\u0303e ᴛʜᴇ ᴄᴀᴛ 🅐🅑🅒 a\u200ab c\u2009d e\u2800f g\u202fh i\u200aj",
		"한\u0332국 人ロ人\u3164人")
}

func FuzzHTML(f *testing.F) {
	fuzzAs(f, "a.html", "<html><head><title>T</title><meta charset=gb2312></head><body hidden><p>x<br>y<table><tr><td>1<td>2</table><pre> a\n b</pre>", "<p style='display:none'>x</p>", "<script>x</script><ul><li>a<li>b",
		"<style>@media screen{div > .a b#c, p{color:#fff;font:1px/2 x!important}} .y{text-indent:-999em;background:url(x) red}</style><div class='a y'><b id=c style='left:-9999px;opacity:0'>x</b>y<p bgcolor=black>z</p>v<font color=white>w</font>",
		"<p>a<i style='display:none'>b  </i>c<br><pre>d <i hidden> e\n</i>",
		"<p>a<bdo dir=rtl>b<p>c</bdo><i style='unicode-bidi:isolate;direction:rtl'>d<div>e", "<ruby>a<rt>b<rp>c<rtc><rt>d</ruby><rt>e",
		"<p>a<math hidden><mi>x<annotation>y</math> <span aria-hidden=true>x<math>x</span><img alt='\\x'><div>T</div>he",
		"<div><template shadowrootmode=open><p>a<slot></slot></template>b</div><iframe srcdoc='&lt;p&gt;c'></iframe><object data='data:text/html,<p>d'>e</object><noscript><p>f</noscript>",
		"<style>p::before{content:'a' attr(title) counter(x)}.q{unicode-bidi:bidi-override;direction:rtl}</style><p title=b>c<p class=q>d<input value=e><textarea>f</textarea><select><option selected>g</select>")
}

func FuzzMarkdown(f *testing.F) {
	fuzzAs(f, "a.md", "---\ntitle: T\n---\n# H\n\n*a* **b** `c` [d](e)\n\n- x\n  - y\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n", "> > > a\n\nfoot[^1]\n\n[^1]: note")
}

func FuzzXML(f *testing.F) {
	fuzzAs(f, "a.xml", `<?xml version="1.0" encoding="windows-1251"?><rss><item>a<b>c</b></item></rss>`,
		`<office:document `+odtNS+`><text:p>x</text:p></office:document>`,
		`<w:wordDocument `+wordNS+`><w:p><w:r><w:t>x</w:t></w:r></w:p></w:wordDocument>`)
}

func FuzzFB2(f *testing.F) {
	fuzzAs(f, "a.fb2", `<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description><title-info><book-title>T</book-title><author><first-name>A</first-name></author></title-info></description><body><section><title><p>One</p></title><p>text</p></section></body></FictionBook>`)
}

func FuzzRTF(f *testing.F) {
	fuzzAs(f, "a.rtf", `{\rtf1\ansi\ansicpg936{\fonttbl{\f0\fcharset134 SimSun;}}{\colortbl;\red255\green255\blue255;}\uc1 \u20320?\'c4\'e3\par {\v hidden}\cf1 white\b bold\line x\tab\cell}`, `{\rtf1{\info{\title T}{\author A}}{\*\x y}\bin3 abc\u-10179 ?\u-8704 ?}`)
}

func FuzzLaTeX(f *testing.F) {
	fuzzAs(f, "a.tex", `\documentclass{article}\title{T}\newcommand{\x}[1]{#1 \emph{y}}\begin{document}\section{S} a\footnote{n} \x{b} $x^2$ \[\alpha\] \'e \"{o} \c{c} %c
\begin{tabular}{ll}a&b\\c\end{tabular}\verb|z| \input{q}\end{document}`, `\def\a{\a}\a`, `\newcommand{\b}{\b\b}\b \begin{x}[t] {`)
}

func FuzzMail(f *testing.F) {
	fuzzAs(f, "a.eml", "From: a@b\nSubject: =?utf-8?q?h=C3=A9?=\nContent-Type: multipart/alternative; boundary=B\n\n--B\nContent-Type: text/plain; charset=koi8-r\n\nx\n--B\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n<p>y=20z\n--B--\n",
		"From x Mon Jan 1\nFrom: a\nTo: b\nContent-Type: application/octet-stream; name=q.zip\nContent-Transfer-Encoding: base64\n\nUEsDBA==\n")
}

func FuzzDOCX(f *testing.F) {
	fuzzPart(f, "a.docx", func(t testing.TB, s string) []byte { return docx(t, s, docxStyleSheet...) },
		`<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:rPr><w:vanish/><w:sz w:val="2"/><w:color w:val="FFFFFF"/></w:rPr><w:t>x</w:t><w:tab/><w:br/></w:r><w:txbxContent><w:p><w:r><w:t>y</w:t></w:r></w:p></w:txbxContent></w:p>`, `<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl><w:del><w:r><w:delText>z</w:delText></w:r></w:del><w:sym w:char="41"/>`,
		`<w:background w:color="000000"/><w:tbl><w:tblPr><w:tblStyle w:val="Grid"/></w:tblPr><w:tr><w:tc><w:tcPr><w:shd w:fill="000000"/></w:tcPr><w:p><w:pPr><w:pStyle w:val="C"/></w:pPr><w:r><w:t>a</w:t></w:r><w:r><w:rPr><w:rStyle w:val="W"/></w:rPr><w:t>b</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`,
		`<w:p><w:pPr><w:framePr w:dropCap="drop"/></w:pPr><w:r><w:t>T</w:t></w:r></w:p><w:p><w:bdo w:val="rtl"><w:r><w:t>ab</w:t></w:r><w:dir w:val="ltr"><w:r><w:ruby><w:rt><w:r><w:t>x</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>y</w:t></w:r></w:rubyBase></w:ruby></w:r></w:dir></w:bdo></w:p>`)
}

func FuzzODT(f *testing.F) {
	fuzzPart(f, "a.odt", func(t testing.TB, s string) []byte { return odtStyled(t, s) },
		`<text:h>T</text:h><text:p>a<text:s text:c="3"/><text:tab/><text:note><text:note-body><text:p>n</text:p></text:note-body></text:note></text:p><table:table><table:table-cell><text:p>c</text:p></table:table-cell></table:table>`,
		`<text:section text:display="none"><text:p text:style-name="P1">a<text:span text:style-name="P2">b</text:span>c</text:p></text:section><text:p>d<text:span text:style-name="P2"> e </text:span>f</text:p>`,
		`<text:p>a<text:ruby><text:ruby-base>b</text:ruby-base><text:ruby-text>c</text:ruby-text></text:ruby>d<text:ruby-text>e</text:ruby-text></text:p>`)
}

func FuzzPPTX(f *testing.F) {
	fuzzPart(f, "a.pptx", func(t testing.TB, s string) []byte {
		return zipped(t, "ppt/presentation.xml", "<x/>", "ppt/slides/slide1.xml",
			`<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">`+s+`</p:sld>`)
	}, `<a:p><a:r><a:rPr sz="100"/><a:t>x</a:t></a:r><a:br/></a:p><a:fld type="slidenum"><a:t>1</a:t></a:fld>`)
}

func FuzzEPUB(f *testing.F) {
	fuzzPart(f, "a.epub", func(t testing.TB, s string) []byte {
		return zipped(t, "mimetype", "application/epub+zip", "META-INF/container.xml",
			`<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfile full-path="c.opf"/></container>`,
			"c.opf", s, "a.html", "<p>chapter</p>")
	}, `<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.html"/><item id="n" href="n.xhtml" properties="nav"/></manifest><spine toc="n"/></package>`,
		`<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>T</dc:title><manifest><item id="a" href="a.html"/></manifest><spine><itemref idref="a"/></spine></package>`)
}

func FuzzArchive(f *testing.F) {
	inner := zipped(f, "a.txt", "x")
	fuzzAs(f, "a.zip", string(zipped(f, "a.txt", "x", "b.zip", string(inner))), string(gzipped(f, []byte("text"))),
		string(tarred(f, false, plainFile("a.txt", "x"))), string(tarred(f, true, plainFile("a.txt", "x"), plainFile("b/._a", "y"))),
		string(rawZip(f, false, []string{"\x8f\x5c.txt", "\xb1\xed.txt", "a\xffb.txt", "a.txt", "a.txt"})),
		string(rawZip(f, false, []string{"~$a.docx", "__MACOSX/._a", "\xe1\x90é.txt"}, []byte("\x75\x70\x06\x00\x01abcdx"))))
}

// FuzzOLE starts from small real files if the evaluation data is available.
func FuzzOLE(f *testing.F) {
	f.Add([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
	if dir := os.Getenv("CONCORDAT_OLE_SEEDS"); dir != "" {
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, n := range names {
			if data, err := os.ReadFile(n); err == nil && len(data) < 60000 {
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkMembers(t, "a.doc", data, fuzzLimits) })
}

func FuzzWordPieces(f *testing.F) {
	f.Add([]byte("\x02\x10\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00"), []byte("text"))
	f.Fuzz(func(t *testing.T, table, text []byte) {
		r, err := extract.Pieces(table, text)
		var e *extract.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		if r != nil {
			checkResult(t, r, extract.Options{})
		}
	})
}

func FuzzCompressedRTF(f *testing.F) {
	f.Add([]byte("\x2d\x00\x00\x00\x2b\x00\x00\x00LZFu\xf1\xc5\xc7\xa7\x03\x00\n\x00rcpg125B2\n\xf3 hel\t\x00 bw\x05\xb0ld}\n\x80\x0f\xa0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if out, err := extract.UnpackRTF(data, 1<<20); err == nil && len(out) > 1<<20+64 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}

func FuzzPDF(f *testing.F) {
	f.Add(pdfFile([]string{"BT /F1 12 Tf 1 0 0 1 72 700 Tm (Hello) Tj ET\n", "1 g BT 3 Tr /F1 1 Tf (x) Tj ET\n"}))
	f.Add(attachedPDF())
	f.Add(pdfFile([]string{"BT /F1 12 Tf 1 0 0 1 72 700 Tm (s p a c e d  o u t) Tj 200 0 Td (cell) Tj -200 -14 Td (one) Tj 200 0 Td (two-) Tj ET\n"}))
	for _, seed := range pdfSeeds(f) {
		f.Add(seed)
	}
	font := fontOf("cmap", cmapOf(4, 3, 1, smallLetters))
	page := glyphPage{smallLetters, moved, "FontFile2", font, "", []string{"thequickbrownfoxjumpsoverthelazydogandrunsawayintothewoods"}}
	f.Add(pdfOf(page.objects()...))
	f.Add(packedPDF(f, []int{1, 2, 3, 4, 7, 8}, page.objects()...))
	f.Add(encryptedPDF(f, "", page.objects()...))
	p := engine(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		o := fuzzLimits
		o.PDF = p
		checkMembers(t, "a.pdf", data, o)
	})
}
