package extract

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// storedText returns the character data that the parts of an Office or OpenDocument file store for any reader. It ignores relationships,
// revisions, alternatives and styles.
func storedText(t *testing.T, data []byte) []string {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range z.File {
		name := strings.ToLower(strings.ReplaceAll(f.Name, "\\", "/"))
		odf := path.Base(name) == "content.xml"
		if path.Ext(name) != ".xml" || strings.Contains(name, "glossary") || strings.Contains(name, "docprops") ||
			strings.Contains(name, "customxml") || strings.Contains(name, "embeddings") || strings.Contains(name, "diagrams/drawing") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			continue
		}
		raw, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			continue
		}
		d := xml.NewDecoder(bytes.NewReader(raw))
		d.Strict = false
		var open []string
		seen := map[string]bool{}                                                             // text stored for two programs counts once
		prompt := strings.Contains(name, "slidelayouts/") || strings.Contains(name, "master") // an outline, whose words are never shown
		holder := false
		for {
			tok, err := d.RawToken()
			if err != nil {
				break
			}
			switch tok := tok.(type) {
			case xml.StartElement:
				open = append(open, tok.Name.Local)
				holder = tok.Name.Local == "ph" || holder && tok.Name.Local != "sp"
			case xml.EndElement:
				open = open[:max(0, len(open)-1)]
			case xml.CharData:
				if len(open) == 0 {
					continue
				}
				switch last := open[len(open)-1]; {
				case prompt && holder:
				case !odf && (last == "t" || last == "delText"), odf && (last == "p" || last == "h" || last == "span" || last == "a"):
					if s := string(tok); !seen[s] {
						seen[s] = true
						out = append(out, s)
					}
				}
			}
		}
	}
	return out
}

// storedHTML returns the text of a page's elements that a browser could show, whatever the style sheets say.
func storedHTML(data []byte) []string {
	c, err := detectEncoding(data)
	if err != nil {
		return nil
	}
	s, err := c.decode(data)
	if err != nil {
		return nil
	}
	root, err := html.ParseWithOptions(strings.NewReader(s), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil
	}
	var out []string
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode && n.Parent != nil {
			switch n.Parent.Data {
			case "script", "style", "title", "datalist", "option", "annotation":
			default:
				out = append(out, n.Data)
			}
		}
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			walk(k)
		}
	}
	walk(root)
	return out
}

// storedBook returns the text of all pages of a book.
func storedBook(data []byte) []string {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range z.File {
		switch path.Ext(strings.ToLower(f.Name)) {
		case ".html", ".htm", ".xhtml":
			if r, err := f.Open(); err == nil {
				if page, err := io.ReadAll(r); err == nil {
					out = append(out, storedHTML(page)...)
				}
				r.Close()
			}
		}
	}
	return out
}

// The expressions match the control words of RTF, groups to be skipped, and words of ASCII letters.
var (
	rtfControl = regexp.MustCompile(`\\[a-zA-Z]+-?[0-9]* ?|\\'[0-9a-fA-F]{2}|\\.`)
	rtfTables  = regexp.MustCompile(`^\{\s*\\(?:\*|fonttbl|colortbl|stylesheet|info|pict|listtext|pntext|filetbl|xe|tc|fldinst|nonshppict|upr|themedata|atnid)`)
	rtfWord    = regexp.MustCompile(`[A-Za-z]{4,}`)
)

// storedRTF returns the words of an RTF file's groups that no rule excludes; it ignores code pages.
func storedRTF(data []byte) []string {
	if bytes.Contains(data, []byte("\\bin")) {
		return nil // binary data within the text
	}
	var kept strings.Builder
	skip, depth := 0, 0
	s := string(data)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			if m := rtfControl.FindString(s[i:]); m != "" {
				if skip == 0 {
					kept.WriteByte(' ') // it can stand for a letter
				}
				i += len(m) - 1
			}
		case c == '{':
			if depth++; skip == 0 && rtfTables.MatchString(s[i:min(len(s), i+40)]) {
				skip = depth
			}
		case c == '}':
			if skip == depth {
				skip = 0
			}
			depth--
		case skip == 0 && c != '\r' && c != '\n':
			kept.WriteByte(c)
		}
	}
	return rtfWord.FindAllString(kept.String(), -1)
}

// unaccounted counts the letters of stretches that are neither in the text nor counted as left out.
func unaccounted(stored []string, r *Result) int {
	text := onlyCharacters(r.Text)
	n := 0
	for _, f := range r.Flags {
		if f.Code == FlagBidi { // the displayed order is different
			return 0
		}
	}
	for _, s := range stored {
		if c := onlyCharacters(s); !strings.Contains(text, c) {
			n += characters(s)
		}
	}
	for _, f := range r.Flags {
		n -= f.Letters
	}
	return n
}

// TestEveryStoredLetterIsAccountedFor compares the letters stored in files with the letters that are read, left out by a rule or reported
// as unread.
func TestEveryStoredLetterIsAccountedFor(t *testing.T) {
	folders := []string{corpus(t, "formats")}
	if root := os.Getenv("CONCORDAT_CORPORA"); root != "" {
		folders = append(folders, filepath.Join(root, "..", "inputs", "dev", "inputs"))
	}
	read := 0
	for _, dir := range folders {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		for _, p := range files(t, dir) {
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			format, err := Sniff(filepath.Base(p), data)
			if err != nil {
				continue
			}
			switch format {
			case DOCX, PPTX, XLSX, ODT, ODP, ODS, HTML, EPUB, RTF:
			default:
				continue
			}
			r, err := Bytes(filepath.Base(p), data, Options{})
			if err != nil {
				continue
			}
			read++
			var stored []string
			switch format {
			case HTML:
				stored = storedHTML(data)
			case EPUB:
				stored = storedBook(data)
			case RTF:
				stored = storedRTF(data)
			default:
				stored = storedText(t, data)
			}
			if n := unaccounted(stored, r); n > 0 {
				t.Errorf("%s: %d letters are neither in the text nor counted; flags %+v", filepath.Base(p), n, r.Flags)
			}
		}
	}
	t.Logf("%d files", read)
	if read == 0 {
		t.Error("no file was read")
	}
}

// TestLettersLeftOut counts, for each format, the text left out, and the reported size of what was not read.
func TestLettersLeftOut(t *testing.T) {
	office := func(parts ...string) []byte {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for i := 0; i < len(parts); i += 2 {
			w, err := z.Create(parts[i])
			if err == nil {
				_, err = w.Write([]byte(parts[i+1]))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	word := func(body string) []byte {
		return office("word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`+
			body+`</w:body></w:document>`)
	}
	for _, c := range []struct {
		name, file, code string
		letters          int
		bytes            int64
		missing          bool
		data             []byte
	}{
		{"deleted", "a.docx", FlagTracked, 5, 0, false, word(`<w:p><w:r><w:t>seen</w:t></w:r><w:del><w:r><w:delText>is not</w:delText>` +
			`<w:delInstrText>PAGE</w:delInstrText></w:r></w:del></w:p>`)},
		{"deleted, RTF", "a.rtf", FlagTracked, 5, 0, false, []byte(`{\rtf1 seen {\deleted is not}}`)},
		{"deleted until a word that ends it, RTF", "a.rtf", FlagTracked, 5, 0, false, []byte(`{\rtf1 \deleted is not\deleted0 seen}`)},
		{"header, RTF", "a.rtf", FlagHeaders, 9, 0, false, []byte(`{\rtf1 {\header my {\b report} 3}seen}`)},
		{"comment, RTF", "a.rtf", FlagComments, 4, 0, false, []byte(`{\rtf1 seen{\*\annotation{\*\atndate 1}mine}}`)},
		{"reading", "a.html", FlagReadings, 5, 0, false, []byte(`<p><ruby>漢字<rt>kan ji</rt></ruby> is seen`)},
		{"template", "a.html", FlagAlternatives, 5, 0, false, []byte(`<p>seen<template>never</template><template>seen</template>`)},
		{"frames", "a.html", FlagAlternatives, 5, 0, false, []byte(`<p>seen<noframes><b>never</b></noframes>`)},
		{"two forms of a message", "a.eml", FlagAlternatives, 5, 0, false, []byte("MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n" +
			"--b\nContent-Type: text/plain\n\nseen\n\nnever\n--b\nContent-Type: text/html\n\n<p>seen</p>\n--b--\n")},
		{"picture of a message", "a.eml", FlagPictures, 0, 4, true, []byte("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n" +
			"--b\nContent-Type: text/plain\n\nseen\n--b\nContent-Type: image/png\n\nxxxx\n--b--\n")},
		{"addresses of an article", "a.xml", FlagMetadata, 4, 0, false, []byte(`<article xmlns:mml="x" dtd="jats"><front><article-meta><aff>Oslo</aff>` +
			`</article-meta></front><body><p>seen</p></body></article>`)},
		{"a part that nothing leads to", "a.docx", FlagPart, 5, 0, true, office("word/document.xml",
			`<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>seen</w:t></w:r></w:p></w:body></w:document>`,
			"word/stray.xml", "<x>stray</x>")},
		{"an object without a reader", "a.docx", FlagPart, 0, 10, true, office("word/document.xml",
			`<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>seen</w:t></w:r></w:p></w:body></w:document>`,
			"word/embeddings/a.bin", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09")},
		{"marks over letters", "a.txt", FlagMarks, 14, 0, false, []byte("s\u0336e\u0336e\u0336n\u0336 l\u0336e\u0336t\u0336t\u0336e\u0336r\u0336s\u0336 a\u0336r\u0336e\u0336")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Bytes(c.file, c.data, Options{})
			if err != nil {
				t.Fatal(err)
			}
			letters, size, missing := 0, int64(0), false
			for _, f := range r.Flags {
				if f.Code == c.code {
					letters, size, missing = letters+f.Letters, size+f.Bytes, missing || f.Missing
				}
			}
			if letters != c.letters || size != c.bytes || missing != c.missing || !strings.Contains(r.Text, "seen") && c.code != FlagMarks {
				t.Errorf("got %d letters, %d bytes, missing %v, want %d, %d, %v; %q, %+v", letters, size, missing, c.letters, c.bytes, c.missing,
					r.Text, r.Flags)
			}
		})
	}
}

// TestLettersBeyondTheLimit counts the letters that a limit cuts off.
func TestLettersBeyondTheLimit(t *testing.T) {
	for _, name := range []string{"a.txt", "a.html", "a.md"} {
		whole := strings.Repeat("word by word\n\n", 20)
		for most := int64(1); most < 100; most += 7 {
			r, err := Bytes(name, []byte(whole), Options{MaxText: most})
			if err != nil {
				t.Fatal(err)
			}
			n := characters(r.Text)
			for _, f := range r.Flags {
				n += f.Letters
				if f.Bytes > 0 {
					n = characters(whole) // more characters than are decoded
					break
				}
			}
			if name == "a.txt" && n != characters(whole) || n > characters(whole) {
				t.Fatalf("%s, limit %d: %d letters are read or counted, want %d; %+v", name, most, n, characters(whole), r.Flags)
			}
		}
	}
}

// TestLongHeadersOfRTF: page headers that are not running titles are kept, and so are headers of a document without other text.
func TestLongHeadersOfRTF(t *testing.T) {
	long := strings.Repeat("a long header ", 20)
	for file, want := range map[string]string{
		`{\rtf1 {\header ` + long + `\par and on}seen{\footer short}}`:  "seen\n\n" + strings.TrimSpace(long) + "\n\nand on",
		`{\rtf1 {\headerl ` + long + `}{\headerr ` + long + `}seen}`:    "seen\n\n" + strings.TrimSpace(long),
		`{\rtf1 {\upr{old words}{\*\ud{new words}}}}`:                   "new words",
		`{\rtf1 {\header alone}}`:                                       "alone",
		`{\rtf1 {\header {\*\shpinst{\shptxt boxed}}{\pntext 1.}}seen}`: "seen",
	} {
		r, err := Bytes("a.rtf", []byte(file), Options{})
		if err != nil || r.Text != want {
			t.Errorf("%.40s: got %+v, %v, want %q", file, r, err, want)
		}
	}
}
