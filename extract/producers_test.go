package extract_test

import (
	"context"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/extract"
	"concordat/profile"
)

// realText is text for other programs to print, with its paragraphs and whether it is read from right to left.
type realText struct {
	name       string
	paragraphs []string
	rtl        bool
}

// realTexts returns grant abstracts, laws, and the Universal Declaration in several scripts.
func realTexts(t *testing.T) []realText {
	out := []realText{{"english", prose(t), false}, {"chinese", nil, false}}
	for i, p := range extract.ListFiles(t, extract.CorpusDir(t, "zh-laws")) {
		if filepath.Ext(p) != ".md" || i%300 != 7 {
			continue
		}
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(string(data), "\n") {
			if l = strings.TrimLeft(strings.TrimSpace(l), "# "); l != "" && !strings.HasPrefix(l, "<") && len(out[1].paragraphs) < 400 {
				out[1].paragraphs = append(out[1].paragraphs, l)
			}
		}
	}
	dir := extract.CorpusDir(t, "udhr")
	for _, c := range []struct {
		name, file string
		rtl        bool
	}{
		{"russian", "udhr/Russian_Russky-UTF8~", false}, {"greek", "udhr/Greek_Ellinika-UTF8", false},
		{"german", "udhr/German_Deutsch-Latin1", false},
		{"arabic", "udhr2/arb.txt", true}, {"persian", "udhr2/pes_1.txt", true},
	} {
		data, err := os.ReadFile(filepath.Join(dir, c.file))
		if err != nil {
			t.Logf("without %s: %v", c.name, err)
			continue
		}
		r, err := extract.Bytes(c.file, data, extract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, realText{c.name, strings.FieldsFunc(r.Text, func(r rune) bool { return r == '\n' }), c.rtl})
	}
	return out
}

// word returns the text as DOCX, in one or two columns.
func (x realText) word(t *testing.T, columns string) []byte {
	direction, run := "", ""
	if x.rtl {
		direction, run = "<w:bidi/>", "<w:rPr><w:rtl/></w:rPr>"
	}
	var body strings.Builder
	for _, p := range x.paragraphs {
		body.WriteString(`<w:p><w:pPr>` + direction + `<w:spacing w:after="160"/><w:jc w:val="both"/></w:pPr><w:r>` + run +
			`<w:t xml:space="preserve">` + html.EscapeString(p) + `</w:t></w:r></w:p>`)
	}
	body.WriteString(`<w:sectPr><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1417" w:bottom="1417" w:left="1417" w:right="1417"/><w:cols w:num="` + columns + `" w:space="500"/></w:sectPr>`)
	return docx(t, body.String(),
		"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>`,
		"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`)
}

// web returns the text as HTML.
func (x realText) web(columns string) []byte {
	direction := "ltr"
	if x.rtl {
		direction = "rtl"
	}
	var s strings.Builder
	s.WriteString(`<!doctype html><meta charset=utf-8><style>body{font-size:10pt;columns:` + columns +
		`}p{text-align:justify;hyphens:auto}</style><body lang=en dir=` + direction + `>`)
	for _, p := range x.paragraphs {
		s.WriteString("<p>" + html.EscapeString(p) + "</p>\n")
	}
	return []byte(s.String())
}

// TestProducers has other programs print real texts as PDF, and compares the fingerprints of their sentences with the original
// document's. It runs only if CONCORDAT_LONG is set and the programs are installed.
func TestProducers(t *testing.T) {
	if os.Getenv("CONCORDAT_LONG") == "" {
		t.Skip("CONCORDAT_LONG is not set")
	}
	texts := realTexts(t)
	for _, c := range []struct {
		program, ext string
		command      func(dir, in string) []string
	}{
		{"soffice", ".docx", func(dir, in string) []string {
			return []string{"-env:UserInstallation=file://" + dir + "/profile", "--headless", "--convert-to", "pdf", "--outdir", dir, in}
		}},
		{"chromium", ".html", func(dir, in string) []string {
			return []string{"--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", "--user-data-dir=" + dir + "/profile",
				"--print-to-pdf=" + strings.TrimSuffix(in, ".html") + ".pdf", "file://" + in}
		}},
	} {
		t.Run(c.program, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			all, equal, near := 0, 0, 0
			for _, x := range texts {
				for _, columns := range []string{"1", "2"} {
					data := x.web(columns)
					if c.ext == ".docx" {
						data = x.word(t, columns)
					}
					in := filepath.Join(dir, x.name+columns+c.ext)
					if err := os.WriteFile(in, data, 0o600); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
					out, err := exec.CommandContext(ctx, c.program, c.command(dir, in)...).CombinedOutput()
					cancel()
					pdf, rerr := os.ReadFile(strings.TrimSuffix(in, c.ext) + ".pdf")
					if err != nil || rerr != nil {
						t.Fatalf("%s: %v %v %s", c.program, err, rerr, out)
					}
					n, e, k := agreement(t, data, pdf)
					t.Logf("%s, columns %s: %d sentences, equal %.3f, within the gate %.3f", x.name, columns, n, float64(e)/float64(n),
						float64(k)/float64(n))
					all, equal, near = all+n, equal+e, near+k
				}
			}
			t.Logf("all: %d sentences, equal %.4f, within the gate %.4f", all, float64(equal)/float64(all), float64(near)/float64(all))
			if near*100 < all*98 {
				t.Errorf("%d of %d sentences within the gate, want 98 %%", near, all)
			}
		})
	}
}

// agreement counts the sentences of a document, the ones whose fingerprint is in its PDF, and the ones with a fingerprint within the
// gate.
func agreement(t *testing.T, document, pdf []byte) (all, equal, near int) {
	t.Helper()
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var profiles [2]*concordat.Profile
	for i, data := range [][]byte{document, pdf} {
		r, err := extract.Bytes("", data, extract.Options{PDF: engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		if profiles[i], err = p.Profile(concordat.Document{Text: r.Text}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range profiles[0].Indexed {
		best := 100
		for _, q := range append(profiles[1].Indexed, profiles[1].Asked...) {
			best = min(best, s.Fingerprint.Distance(q.Fingerprint))
		}
		all++
		if best == 0 {
			equal++
		}
		if best <= s.Gate {
			near++
		}
	}
	return all, equal, near
}
