package sandbox_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat/extract"
	"concordat/extract/sandbox"
)

// office returns LibreOffice, or skips the test if it is not installed.
func office(t *testing.T, o sandbox.OfficeOptions) *sandbox.Office {
	t.Helper()
	f, err := sandbox.FindOffice(o)
	if err != nil {
		t.Skipf("%v: install libreoffice-writer-nogui", err)
	}
	return f
}

const sampleDOCX = "../../demo/submission/shared-evidence-commons.docx"

// TestOffice: the pages rendered from a DOCX contain the words of its text.
func TestOffice(t *testing.T) {
	f := office(t, sandbox.OfficeOptions{})
	pdf, err := f.PDF(t.Context(), sampleDOCX, "essay.docx", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, sandbox.Options{Warm: -1})
	pages, err := r.Letters(t.Context(), pdf)
	if err != nil {
		t.Fatal(err)
	}
	items, err := r.File(t.Context(), sampleDOCX)
	if err != nil || len(items) != 1 || items[0].Result == nil {
		t.Fatalf("%v, %v", items, err)
	}
	placer, placed, all := extract.NewPlacer(pages), 0, 0
	text := items[0].Result.Text
	for _, p := range strings.Split(text, "\n\n") {
		if len(extract.Fold(p)) < 60 {
			continue
		}
		if all++; placer.Locate(extract.Fold(p), float64(strings.Index(text, p))/float64(len(text))).Sure() {
			placed++
		} else {
			t.Logf("not placed: %s", p)
		}
	}
	t.Logf("%d pages, %d of %d paragraphs placed", len(pages), placed, all)
	if placed < all || all < 10 {
		t.Errorf("%d of %d paragraphs are placed", placed, all)
	}
}

// odt returns an ODT whose body is the given XML.
func odt(t *testing.T, body string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	const oasis = "urn:oasis:names:tc:opendocument:xmlns:"
	const entry = `<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.text"/>` +
		`<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>`
	for _, part := range [][2]string{{"mimetype", "application/vnd.oasis.opendocument.text"},
		{"META-INF/manifest.xml", `<manifest:manifest xmlns:manifest="` + oasis + `manifest:1.0">` + entry + `</manifest:manifest>`},
		{"content.xml", `<office:document-content xmlns:office="` + oasis + `office:1.0" xmlns:text="` + oasis + `text:1.0" xmlns:draw="` +
			oasis + `drawing:1.0" xmlns:svg="` + oasis + `svg-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" ` +
			`office:version="1.2"><office:body><office:text>` + body + `</office:text></office:body></office:document-content>`}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: part[0], Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(part[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, "in.odt", b.String())
}

// TestOfficeReachesNothing: if a file refers to others, its pages contain no text from this machine, and no connection is made.
func TestOfficeReachesNothing(t *testing.T) {
	f := office(t, sandbox.OfficeOptions{})
	secret := write(t, "secret.txt", "wordsofthekeystore")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan bool, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			asked <- true
			_ = c.Close()
		}
	}()
	file := odt(t, `<text:p>An honest paragraph.</text:p><text:section text:name="a"><text:section-source xlink:href="file://`+secret+
		`" text:filter-name="Text"/><text:p>nothing yet</text:p></text:section><text:p>`+
		`<draw:frame svg:width="3cm" svg:height="3cm"><draw:image xlink:href="http://`+
		l.Addr().String()+`/a.png" xlink:type="simple" xlink:actuate="onLoad"/></draw:frame></text:p>`)
	pdf, err := f.PDF(t.Context(), file, "a.odt", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pages, err := newRunner(t, sandbox.Options{Warm: -1}).Letters(t.Context(), pdf)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(pages, ""); !strings.Contains(all, "anhonestparagraph") || strings.Contains(all, "keystore") {
		t.Errorf("the pages say %q", all)
	}
	select {
	case <-asked:
		t.Error("a picture was fetched")
	default:
	}
}

// TestOfficeBadFiles: a file that is not a document causes an error of that file; a conversion ends when its time is up or its caller
// ends.
func TestOfficeBadFiles(t *testing.T) {
	f := office(t, sandbox.OfficeOptions{})
	for name, content := range map[string]string{"a.docx": "PK\x03\x04 and nothing more", "c.docx": "<html>no</html>"} {
		var e *extract.Error
		dir := t.TempDir()
		if _, err := f.PDF(t.Context(), write(t, name, content), name, dir); !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var e *extract.Error
	if _, err := f.PDF(t.Context(), write(t, "d.txt", "x"), "d.txt", t.TempDir()); !errors.As(err, &e) || e.Code != extract.Unsupported {
		t.Errorf("a text: %v", err)
	}
	hasty := office(t, sandbox.OfficeOptions{Wall: 300 * time.Millisecond})
	if _, err := hasty.PDF(t.Context(), sampleDOCX, "a.docx", t.TempDir()); !errors.As(err, &e) || e.Code != extract.Timeout {
		t.Errorf("no time: %v", err)
	}
	small := office(t, sandbox.OfficeOptions{MaxOutput: 1000})
	if _, err := small.PDF(t.Context(), sampleDOCX, "a.docx", t.TempDir()); !errors.As(err, &e) {
		t.Errorf("no room: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := f.PDF(ctx, sampleDOCX, "a.docx", t.TempDir()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it ended after %v", took)
	}
}

// TestNoOffice: without the program there is no Office, and the error says so.
func TestNoOffice(t *testing.T) {
	none := sandbox.OfficeOptions{Command: filepath.Join(t.TempDir(), "soffice")}
	if _, err := sandbox.FindOffice(none); !errors.Is(err, sandbox.ErrNoOffice) {
		t.Errorf("got %v", err)
	}
	alone := filepath.Join(t.TempDir(), "soffice")
	if err := os.WriteFile(alone, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.FindOffice(sandbox.OfficeOptions{Command: alone}); !errors.Is(err, sandbox.ErrNoOffice) {
		t.Errorf("a script alone: %v", err)
	}
	for name, want := range map[string]bool{"a.docx": true, "A.DOCX": true, "b.odt": true, "c.pdf": false, "docx": false, "": false} {
		if sandbox.Converts(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
