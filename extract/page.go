package extract

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Page is one page of a PDF as people see it, with the positions of its letters. Pages from the method Pages have no image.
type Page struct {
	Number int     `json:"number"` // from 1
	Pages  int     `json:"pages"`  // number of pages in the document
	Width  float64 `json:"width"`  // in points, as displayed
	Height float64 `json:"height"`
	PNG    []byte  `json:"png,omitempty"`
	// Letters contains the letters of the page in the order of PDF.Letters; boxes are nil beyond maxBoxes.
	Letters string `json:"letters"`
	Boxes   []Box  `json:"boxes"` // one for each rune of Letters
}

// Box is a position on a page, in points from its upper left corner as displayed.
type Box struct {
	Left   float32 `json:"l"`
	Top    float32 `json:"t"`
	Right  float32 `json:"r"`
	Bottom float32 `json:"b"`
}

const (
	// maxBoxes is the maximum number of letters per page with positions; a page of dense print has 10,000.
	maxBoxes = 100_000
	// maxPageSide and leastPageSide limit the sides of a page's image, in pixels.
	maxPageSide   = 4000
	leastPageSide = 8
)

// Fold returns text in the form used for comparing pages: only letters, marks and digits, with compatibility forms resolved, in lower
// case. Extraction joins hyphenated words, drops headers and orders columns, but does not change letters.
func Fold(s string) string {
	var b strings.Builder
	for _, r := range s {
		foldRune(&b, r)
	}
	return b.String()
}

func foldRune(b *strings.Builder, r rune) {
	if r < 0x80 {
		switch {
		case r >= 'A' && r <= 'Z':
			b.WriteByte(byte(r) + 'a' - 'A')
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteByte(byte(r))
		}
		return
	}
	for _, x := range norm.NFKC.String(string(r)) {
		if unicode.IsLetter(x) || unicode.IsMark(x) || unicode.IsDigit(x) {
			b.WriteRune(unicode.ToLower(x))
		}
	}
}

// Letters returns the folded letters of each page of a PDF, up to o.MaxPages pages and o.MaxText bytes. They are in text layer order.
// Errors are of type *Error.
func (p *PDF) Letters(data []byte, o Options) ([]string, error) {
	o = o.WithDefaults()
	f, doc, n, err := p.document(data)
	if err != nil {
		return nil, err
	}
	defer f.close()
	var out []string
	total := int64(0)
	for i := range min(n, o.MaxPages) {
		s := f.letters(doc, i)
		if total += int64(len(s)); total > o.MaxText {
			break
		}
		out = append(out, s)
	}
	if f.err != nil {
		return nil, &Error{Code: Damaged, Detail: f.err.Error()}
	}
	return out, nil
}

// document opens a PDF in a separate instance, which the caller must close.
func (p *PDF) document(data []byte) (*pdfium, uint64, int, error) {
	_, data = newPDFObjects(data, Options{PDF: p}.WithDefaults()).asDrawn(func(Flag) {})
	f, err := p.open()
	if err != nil {
		return nil, 0, 0, &Error{Code: Limit, Detail: err.Error()}
	}
	doc, err := f.load(data)
	n := 0
	if err == nil {
		if n = f.integer("FPDF_GetPageCount", doc); f.err != nil || n <= 0 {
			err = &Error{Code: Damaged, Detail: "no pages found"}
		}
	}
	if err != nil {
		f.close()
		return nil, 0, 0, err
	}
	return f, doc, n, nil
}

// letters returns a page's folded letters without positions.
func (f *pdfium) letters(doc uint64, index int) string {
	page := f.call("FPDF_LoadPage", doc, uint64(index))
	if page == 0 {
		return ""
	}
	defer f.call("FPDF_ClosePage", page)
	text := f.call("FPDFText_LoadPage", page)
	if text == 0 {
		return ""
	}
	defer f.call("FPDFText_ClosePage", text)
	var b strings.Builder
	for i := range max(min(f.integer("FPDFText_CountChars", text), maxPageChars), 0) {
		if r := f.unicode(text, uint64(i)); r != lowHalf {
			foldRune(&b, r)
		}
	}
	return b.String()
}

// Page renders page number n, from 1, at the given width in pixels. It fails with an *Error; the code is Unreadable if there is no such
// page.
func (p *PDF) Page(data []byte, n, width int) (*Page, error) {
	f, doc, pages, err := p.document(data)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if n < 1 || n > pages {
		return nil, &Error{Code: Unreadable, Detail: fmt.Sprintf("the document has pages 1 to %d", pages)}
	}
	page := f.call("FPDF_LoadPage", doc, uint64(n-1))
	if page == 0 {
		return nil, &Error{Code: Damaged, Detail: fmt.Sprintf("page %d cannot be read", n)}
	}
	defer f.call("FPDF_ClosePage", page)
	out := &Page{Number: n, Pages: pages, Width: f.float("FPDF_GetPageWidthF", page), Height: f.float("FPDF_GetPageHeightF", page)}
	if out.PNG, err = f.draw(page, out.Width, out.Height, width); err != nil {
		return nil, err
	}
	placeLetters(f, page, out)
	if f.err != nil {
		return nil, &Error{Code: Damaged, Detail: f.err.Error()}
	}
	return out, nil
}

// MaxPlaced is the maximum number of pages whose letters can be positioned in one call.
const MaxPlaced = 16

// Pages returns the sizes and letters, without images, of up to n pages (at most MaxPlaced), starting with page number from; the first
// page is 1. It fails like Page.
func (p *PDF) Pages(data []byte, from, n int) ([]*Page, error) {
	f, doc, pages, err := p.document(data)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if from < 1 || from > pages || n < 1 {
		return nil, &Error{Code: Unreadable, Detail: fmt.Sprintf("the document has pages 1 to %d", pages)}
	}
	var out []*Page
	for at := from; at < from+min(n, MaxPlaced) && at <= pages; at++ {
		one := &Page{Number: at, Pages: pages}
		if page := f.call("FPDF_LoadPage", doc, uint64(at-1)); page != 0 {
			one.Width, one.Height = f.float("FPDF_GetPageWidthF", page), f.float("FPDF_GetPageHeightF", page)
			placeLetters(f, page, one)
			f.call("FPDF_ClosePage", page)
		}
		out = append(out, one)
	}
	if f.err != nil {
		return nil, &Error{Code: Damaged, Detail: f.err.Error()}
	}
	return out, nil
}

func placeLetters(f *pdfium, page uint64, out *Page) {
	text := f.call("FPDFText_LoadPage", page)
	if text == 0 {
		return
	}
	out.place(f.pageChars(text, f.pageGeometry(page, out.Width, out.Height), &pdfGround{}))
	f.call("FPDFText_ClosePage", text)
}

// place records the page's letters and their positions.
func (p *Page) place(chars []pdfChar) {
	var b strings.Builder
	for _, c := range chars {
		from := b.Len()
		foldRune(&b, c.r)
		for range []rune(b.String()[from:]) {
			if len(p.Boxes) < maxBoxes {
				p.Boxes = append(p.Boxes, Box{float32(c.left), float32(p.Height - c.high), float32(c.right), float32(p.Height - c.low)})
			}
		}
	}
	p.Letters = b.String()
}

// draw renders a page in colour.
func (f *pdfium) draw(page uint64, width, height float64, wide int) ([]byte, error) {
	if !(width > 0 && height > 0) {
		return nil, &Error{Code: Damaged, Detail: "the page has no size"}
	}
	scale := float64(wide) / width
	if side := max(width, height); side*scale > maxPageSide {
		scale = maxPageSide / side
	}
	w, h := max(int(width*scale), leastPageSide), max(int(height*scale), leastPageSide)
	const bgrx, annotations = 3, 0x01 // fpdfview.h
	bitmap := f.call("FPDFBitmap_CreateEx", uint64(w), uint64(h), bgrx, 0, 0)
	if bitmap == 0 {
		return nil, &Error{Code: Limit, Detail: "the picture of the page does not fit into the reader's memory"}
	}
	defer f.call("FPDFBitmap_Destroy", bitmap)
	f.call("FPDFBitmap_FillRect", bitmap, 0, 0, uint64(w), uint64(h), 0xffffffff)
	f.call("FPDF_RenderPageBitmap", bitmap, page, 0, 0, uint64(w), uint64(h), 0, annotations)
	at, stride := uint32(f.call("FPDFBitmap_GetBuffer", bitmap)), f.integer("FPDFBitmap_GetStride", bitmap)
	if f.err != nil || stride < 4*w {
		return nil, &Error{Code: Damaged, Detail: fmt.Sprintf("the page cannot be drawn: %v", f.err)}
	}
	raw := f.read(at, uint32(stride*h))
	if raw == nil {
		return nil, &Error{Code: Damaged, Detail: f.err.Error()}
	}
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		from, to := raw[y*stride:], img.Pix[y*img.Stride:]
		for x := range w {
			to[4*x], to[4*x+1], to[4*x+2], to[4*x+3] = from[4*x+2], from[4*x+1], from[4*x], 0xff
		}
	}
	var buf bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&buf, img); err != nil {
		return nil, &Error{Code: Damaged, Detail: err.Error()}
	}
	return buf.Bytes(), nil
}
