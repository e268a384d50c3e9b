package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"concordat/extract"
	"concordat/extract/sandbox"
)

// twoPages returns a minimal PDF with one line on each of two pages.
func twoPages() string {
	var b strings.Builder
	var at []int
	object := func(s string) { at = append(at, b.Len()); b.WriteString(s + "\n") }
	b.WriteString("%PDF-1.4\n")
	object("1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj")
	object("2 0 obj\n<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>\nendobj")
	for i := range 2 {
		object(strconv.Itoa(3+i) + " 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Resources<</Font<</F 7 0 R>>>>/Contents " +
			strconv.Itoa(5+i) + " 0 R>>\nendobj")
	}
	for i, text := range []string{"The first page", "Another page"} {
		s := "BT /F 12 Tf 20 50 Td (" + text + ") Tj ET"
		object(strconv.Itoa(5+i) + " 0 obj\n<</Length " + strconv.Itoa(len(s)) + ">>\nstream\n" + s + "\nendstream\nendobj")
	}
	object("7 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj")
	xref := b.Len()
	b.WriteString("xref\n0 8\n0000000000 65535 f \n")
	for _, x := range at {
		s := strconv.Itoa(x)
		b.WriteString(strings.Repeat("0", 10-len(s)) + s + " 00000 n \n")
	}
	b.WriteString("trailer\n<</Size 8/Root 1 0 R>>\nstartxref\n" + strconv.Itoa(xref) + "\n%%EOF\n")
	return b.String()
}

// TestPages: rendering pages leaves the child intact, and a fault in a file is an error of that file only.
func TestPages(t *testing.T) {
	r := newRunner(t, sandbox.Options{Warm: -1})
	ctx := t.Context()
	path := write(t, "a.pdf", twoPages())
	letters, err := r.Letters(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if len(letters) != 2 || letters[0] != "thefirstpage" || letters[1] != "anotherpage" {
		t.Errorf("letters %q", letters)
	}
	p, err := r.Page(ctx, path, 2, 400)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(p.PNG))
	if err != nil {
		t.Fatal(err)
	}
	if p.Number != 2 || p.Pages != 2 || p.Letters != "anotherpage" || len(p.Boxes) != len(p.Letters) || img.Bounds().Dx() != 400 ||
		img.Bounds().Dy() != 200 {
		t.Errorf("page %d of %d, %q, %d boxes, picture %v", p.Number, p.Pages, p.Letters, len(p.Boxes), img.Bounds())
	}
	if marks := p.Marks(0, len(p.Boxes)); len(marks) != 1 || marks[0].Top < 30 || marks[0].Bottom > 60 {
		t.Errorf("marks %+v, want one about the middle", marks)
	}
	placed, err := r.Pages(ctx, path, 1, 9)
	if err != nil || len(placed) != 2 || placed[1].Letters != "anotherpage" || placed[1].PNG != nil || placed[1].Width != 200 {
		t.Errorf("placed %+v, %v", placed, err)
	}
	for name, path := range map[string]string{"no PDF": write(t, "b.pdf", "%PDF-1.4 nothing more"),
		"no file": filepath.Join(t.TempDir(), "none")} {
		var e *extract.Error
		if _, err := r.Letters(ctx, path); !errors.As(err, &e) {
			t.Errorf("%s: letters: %v", name, err)
		}
		if _, err := r.Page(ctx, path, 1, 400); !errors.As(err, &e) {
			t.Errorf("%s: page: %v", name, err)
		}
	}
	for _, n := range []int{-1, 0, 3} {
		var e *extract.Error
		if _, err := r.Page(ctx, path, n, 400); !errors.As(err, &e) || e.Code != extract.Unreadable {
			t.Errorf("page %d: %v", n, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := r.Page(ended, path, 1, 400); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}
