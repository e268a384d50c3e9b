package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Limits on the load that a file can cause.
const (
	maxChecksOfFile = 10
	fileTime        = 4 * time.Minute // maximum time until its checks have ended
	atOnce          = 8               // number of files whose checks are awaited together
)

// hostileFile is a file designed to do harm.
type hostileFile struct {
	name string
	make func() ([]byte, error)
}

// entry is a member of an archive.
type entry struct {
	name string
	body []byte
}

func zipOf(entries ...entry) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, e := range entries {
		f, err := w.Create(e.name)
		if err == nil {
			_, err = f.Write(e.body)
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// nested returns archives of n archives each, nested to the given depth.
func nested(n, deep int) ([]byte, error) {
	inner := entry{"text.txt", []byte("A text in an archive in an archive.")}
	for level := range deep {
		var all []entry
		for i := range n {
			all = append(all, entry{fmt.Sprintf("%d-%d%s", level, i, filepath.Ext(inner.name)), inner.body})
		}
		b, err := zipOf(all...)
		if err != nil {
			return nil, err
		}
		inner = entry{"inner.zip", b}
	}
	return inner.body, nil
}

const (
	contentTypes = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`
	relations    = `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`
	wordHead     = `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>`
	wordTail     = `</w:t></w:r></w:p></w:body></w:document>`
)

// docx returns a Word document with the text, and with the bytes of prolog before its first element.
func docx(prolog, text string) ([]byte, error) {
	return zipOf(entry{"[Content_Types].xml", []byte(contentTypes)}, entry{"_rels/.rels", []byte(relations)},
		entry{"word/document.xml", []byte(`<?xml version="1.0"?>` + prolog + wordHead + text + wordTail)})
}

func odt(text string) ([]byte, error) {
	return zipOf(entry{"mimetype", []byte("application/vnd.oasis.opendocument.text")},
		entry{"content.xml", []byte(`<?xml version="1.0"?><office:document-content ` +
			`xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text><text:p>` +
			text + `</text:p></office:text></office:body></office:document-content>`)})
}

// pdf returns a one-page document with the given content; extra holds further objects, the first of which is the page's form X.
func pdf(content string, extra ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	objects := append([]string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content), "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"}, extra...)
	var places []int
	for i, o := range objects {
		places = append(places, b.Len())
		fmt.Fprintf(&b, "%d 0 obj%s endobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, p := range places {
		fmt.Fprintf(&b, "%010d 00000 n \n", p)
	}
	fmt.Fprintf(&b, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, at)
	return b.Bytes()
}

// hostileFiles returns the files that are always tried. secret is the path of a file that must not be read.
func hostileFiles(secret string) []hostileFile {
	given := func(b []byte) func() ([]byte, error) { return func() ([]byte, error) { return b, nil } }
	laughs := `<!DOCTYPE w [<!ENTITY a0 "ha">`
	for i := range 12 {
		laughs += fmt.Sprintf(`<!ENTITY a%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&a%d;", i), 10))
	}
	outside := `<!DOCTYPE w [<!ENTITY x SYSTEM "file://` + secret + `">]>`
	form := "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>/Length 4>>stream\n/X Do\nendstream"
	return []hostileFile{
		{"nested.zip", func() ([]byte, error) { return nested(20, 3) }},
		{"deep.zip", func() ([]byte, error) { return nested(1, 40) }},
		{"bomb.zip", func() ([]byte, error) { return zipOf(entry{"zeros.txt", make([]byte, 300<<20)}) }},
		{"bomb.docx", func() ([]byte, error) { return docx("", strings.Repeat("x ", 100<<20)) }},
		{"laughs.docx", func() ([]byte, error) { return docx(laughs+"]>", "&a12;") }},
		{"outside.docx", func() ([]byte, error) { return docx(outside, "&x;") }},
		{"outside.html", given([]byte(outside + `<p>&x;</p><iframe src="file://` + secret + `"></iframe><object data="file://` + secret +
			`"></object>`))},
		{"outside.fb2", given([]byte(`<?xml version="1.0"?>` + outside + `<FictionBook><body><p>&x;</p></body></FictionBook>`))},
		{"outside.tex", given([]byte(`\documentclass{article}\begin{document}\input{` + secret + `}\include{` + secret + `}\end{document}`))},
		{"outside.md", given([]byte("![x](file://" + secret + ")\n\n[y](" + secret + ")"))},
		{"names.zip", func() ([]byte, error) {
			return zipOf(entry{"../../../../../../../../tmp/concordat-attack-escaped", []byte("a text")},
				entry{"/tmp/concordat-attack-escaped", []byte("a text")},
				entry{"..\\..\\escaped.txt", []byte("a text")}, entry{strings.Repeat("n", 300) + ".txt", []byte("a text")},
				entry{"a\r\nb\x00.txt", []byte("a text")})
		}},
		{"html.html", given([]byte(strings.Repeat("<div>", 300_000)))},
		{"line.txt", given(bytes.Repeat([]byte("word "), 4<<20))},
		{"deep.rtf", given([]byte(`{\rtf1` + strings.Repeat("{", 300_000)))},
		{"deep.md", given([]byte(strings.Repeat(">", 200_000) + "x"))},
		{"itself.pdf", given(pdf("/X Do BT /F 12 Tf (text) Tj ET", form))},
		{"many.pdf", given(pdf(strings.Repeat("q 1 0 0 1 0 0 cm Q ", 300_000), form))},
		{"empty.docx", given(nil)},
		{"nothing.pdf", given([]byte("%PDF-1.7"))},
	}
}

// mutated returns a document of some kind with bytes changed, removed or doubled.
func (t *target) mutated(n int) (string, []byte, error) {
	text := strings.Repeat("The council fixed the price of bread and coal before the ships returned. ", 20)
	var b []byte
	var err error
	kind := []string{"docx", "odt", "pdf", "html", "rtf", "zip"}[n%6]
	switch kind {
	case "docx":
		b, err = docx("", text)
	case "odt":
		b, err = odt(text)
	case "pdf":
		b = pdf("BT /F 12 Tf (" + text + ") Tj ET")
	case "html":
		b = []byte("<!doctype html><html><head><title>T</title></head><body><table><tr><td>" + text + "</td></tr></table><p>" + text +
			"</p></body></html>")
	case "rtf":
		b = []byte(`{\rtf1\ansi{\fonttbl{\f0 Times;}}\f0 ` + text + `\par}`)
	case "zip":
		b, err = zipOf(entry{"a.txt", []byte(text)}, entry{"b.html", []byte("<p>" + text)})
	}
	b = bytes.Clone(b)
	for range 1 + t.random.IntN(12) {
		at := t.random.IntN(len(b))
		switch t.random.IntN(4) {
		case 0:
			b[at] = byte(t.random.UintN(256))
		case 1:
			b[at] ^= 1 << t.random.IntN(8)
		case 2:
			b = b[:max(at, 1)]
		default:
			to := min(len(b), at+t.random.IntN(200))
			b = append(b[:to:to], b[at:]...)
		}
	}
	return fmt.Sprintf("mutated-%d.%s", n, kind), b, err
}

// attackFiles submits hostile files as checks, then mutated ones until its time is up.
func attackFiles(ctx context.Context, t *target, r *result) error {
	word := t.word()
	secret := filepath.Join(t.dir, "secret")
	if err := os.WriteFile(secret, []byte(word), 0o600); err != nil {
		return err
	}
	var waiting []handed
	wait := func(most int) error {
		for len(waiting) > most {
			if err := t.awaitChecks(ctx, r, waiting[0]); err != nil {
				return err
			}
			waiting = waiting[1:]
		}
		return nil
	}
	if err := each(t, r, hostileFiles(secret), func(f hostileFile) error {
		b, err := f.make()
		if err != nil {
			return err
		}
		waiting = append(waiting, t.handIn(ctx, r, f.name, b))
		return wait(atOnce)
	}); err != nil {
		return err
	}
	for n := 0; time.Now().Before(t.end); n++ {
		name, b, err := t.mutated(n)
		if err != nil {
			return err
		}
		waiting = append(waiting, t.handIn(ctx, r, name, b))
		if err := wait(atOnce); err != nil {
			return err
		}
	}
	if err := wait(0); err != nil {
		return err
	}
	found, err := search(ctx, filepath.Join(t.dir, "site"), [][]byte{[]byte(word)})
	if err != nil {
		return err
	}
	if places := found[word]; len(places) > 0 {
		r.fault("content of a file outside the site appears in %s", strings.Join(places, ", "))
	}
	if _, err := os.Lstat("/tmp/concordat-attack-escaped"); !errors.Is(err, os.ErrNotExist) {
		r.fault("an archive member was written to /tmp")
	}
	return nil
}

// handed is a submitted file with its checks.
type handed struct {
	name string
	ids  []string
	at   time.Time
}

func (t *target) handIn(ctx context.Context, r *result, name string, b []byte) handed {
	h := handed{name: name, at: time.Now()}
	r.tries++
	body, kind, err := multipartOf(map[string][]byte{name: b})
	if err != nil {
		r.fault("%s: %v", name, err)
		return h
	}
	a, err := t.raw(ctx, t.people["submitter"].token, "POST", "/api/v1/checks", kind, body)
	if err != nil {
		r.fault("%s: request failed: %v", name, err)
		return h
	}
	var out struct{ Checks []struct{ ID string } }
	switch {
	case a.status >= 500:
		r.fault("%s: status %d: %.200s", name, a.status, a.body)
	case a.status >= 400:
		r.count("refused", 1)
	case json.Unmarshal(a.body, &out) != nil:
		r.fault("%s: response is not JSON", name)
	}
	for _, c := range out.Checks {
		h.ids = append(h.ids, c.ID)
	}
	return h
}

// awaitChecks waits until a file's checks have ended.
func (t *target) awaitChecks(ctx context.Context, r *result, h handed) error {
	for _, id := range h.ids {
		for {
			got, err := t.api(ctx, t.people["submitter"].token, "GET", "/checks/"+url.PathEscape(id), nil)
			if err != nil {
				r.fault("%s: %v", h.name, err)
				return ctx.Err()
			}
			state := fmt.Sprint(got["state"])
			if state != "queued" && state != "running" {
				r.count(state, 1)
				break
			}
			if time.Since(h.at) > fileTime {
				r.fault("%s: check is still %s after %s", h.name, state, fileTime)
				break
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return t.countChecks(ctx, r, h)
}

// countChecks counts a file's checks; checks of archive members are added while the archive is read.
func (t *target) countChecks(ctx context.Context, r *result, h handed) error {
	if !strings.HasSuffix(h.name, ".zip") || len(h.ids) == 0 {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+"/api/v1/checks?limit=200", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+t.people["submitter"].token)
	a, err := t.do(t.http, req)
	if err != nil {
		return err
	}
	if n := strings.Count(string(a.body), h.name); n > maxChecksOfFile {
		r.fault("%s: started at least %d checks", h.name, n)
	}
	return nil
}
