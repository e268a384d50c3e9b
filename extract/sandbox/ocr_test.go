package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"concordat/extract"
	"concordat/extract/sandbox"
)

// mixedPDF returns a PDF with a page of text, a page with only drawn strokes, and another page of text.
func mixedPDF() string {
	page := func(content string) string {
		return "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents " + content + ">>"
	}
	stream := func(s string) string { return "<</Length " + strconv.Itoa(len(s)) + ">>stream\n" + s + "\nendstream" }
	text := func(s string) string { return stream("BT /F 12 Tf 1 0 0 1 72 700 Tm (" + s + ") Tj ET") }
	// These bars form the letters H and I many times over.
	bars := ""
	for i := range 40 {
		x := 60 + float64(i%8)*60
		y := 700 - float64(i/8)*60
		bars += bar(x, y, 4, 24) + bar(x+14, y, 4, 24) + bar(x+4, y+10, 10, 4) + bar(x+24, y, 4, 24)
	}
	return pdfOf("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[4 0 R 6 0 R 8 0 R]/Count 3>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
		page("5 0 R"), text("The first page ends here."), page("7 0 R"), stream(bars), page("9 0 R"), text("The third page ends here."))
}

// pdfOf returns a PDF with the given objects, numbered from 1; the first is the catalogue.
func pdfOf(objects ...string) string {
	var s, table strings.Builder
	s.WriteString("%PDF-1.4\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", s.Len())
		fmt.Fprintf(&s, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := s.Len()
	fmt.Fprintf(&s, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1,
		table.String(), len(objects)+1, xref)
	return s.String()
}

func bar(x, y, w, h float64) string {
	return strings.Join([]string{num(x), num(y), num(w), num(h), "re f "}, " ")
}

func num(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', 2, 64), "0"), ".")
}

func TestOCRTextStandsAtItsPage(t *testing.T) {
	fake := filepath.Join(t.TempDir(), "recogniser")
	// It answers only if its input is a picture.
	script := "#!/bin/sh\nhead -c 4 | grep -q PNG && printf 'What the pic-\\nture says.\\n\\nMore.\\n'\n"
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, sandbox.Options{OCR: &sandbox.OCR{Command: fake}})
	items, err := r.File(context.Background(), write(t, "a.pdf", mixedPDF()))
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 1 || items[0].Result == nil {
		t.Fatalf("got %+v, %v", items, items[0].Err)
	}
	res := items[0].Result
	if want := "The first page ends here.\n\nWhat the picture says.\n\nMore.\n\nThe third page ends here."; res.Text != want {
		t.Errorf("got %q, want %q", res.Text, want)
	}
	if res.PlaceAt(strings.Index(res.Text, "picture")) != "page 2" || res.PlaceAt(strings.Index(res.Text, "third")) != "page 3" {
		t.Errorf("places %+v", res.Places)
	}
	marked := false
	for _, f := range res.Flags {
		marked = marked || f.Code == extract.FlagOCR && res.Text[f.Start:f.End] == "What the picture says.\n\nMore."
	}
	if !marked || !res.Partial || len(items[0].Scans) != 0 {
		t.Errorf("recognised text is not marked: %+v", res)
	}
}

func TestTesseract(t *testing.T) {
	if _, err := exec.LookPath("tesseract"); err != nil {
		t.Skip("tesseract is not installed")
	}
	r := newRunner(t, sandbox.Options{OCR: &sandbox.OCR{}})
	items, err := r.File(context.Background(), write(t, "a.pdf", mixedPDF()))
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 1 || items[0].Result == nil || !strings.Contains(items[0].Result.Text, "HI") {
		t.Errorf("got %+v, want the letters HI", items[0].Result)
	}
}

func TestOCRMustBeInstalled(t *testing.T) {
	if _, err := sandbox.New(sandbox.Options{OCR: &sandbox.OCR{Command: "no-such-program"}}); err == nil {
		t.Error("a missing program is accepted")
	}
	if _, err := sandbox.New(sandbox.Options{OCR: &sandbox.OCR{Command: "sh", Languages: "eng --help"}}); err == nil {
		t.Error("languages that are arguments are accepted")
	}
}
