package extract

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// PDFium's error codes, fpdfview.h.
const (
	pdfErrFormat   = 3
	pdfErrPassword = 4
	pdfErrSecurity = 5
)

// maxPageChars is the maximum number of characters on one page; a page of dense print has 10,000.
const maxPageChars = 2_000_000

// readPDF reads the text layer page by page. Pages without a text layer are named and make the result partial.
func readPDF(b *builder, data []byte) error {
	if b.opt.PDF == nil {
		return &Error{Code: Unsupported, NoEngine: true, Detail: "PDFs cannot be read without an engine (Options.PDF)"}
	}
	objects, data := newPDFObjects(data, b.opt).asDrawn(b.flag)
	f, err := b.opt.PDF.open()
	if err != nil {
		return &Error{Code: Limit, Detail: err.Error()}
	}
	defer f.close()
	doc, err := f.load(data)
	if err != nil {
		return err
	}
	b.res.Title, b.res.Author = f.metaText(doc, "Title"), f.metaText(doc, "Author")
	b.dated(f.metaText(doc, "CreationDate"))
	if b.res.Date == "" {
		b.dated(objects.xmpDate())
	}
	pages := f.integer("FPDF_GetPageCount", doc)
	if f.err != nil || pages <= 0 {
		return &Error{Code: Damaged, Detail: "no pages found"}
	}
	d := &pdfDoc{b: b, f: f, doc: doc, widens: objects.widens()}
	d.readPages(pages)
	d.write()
	d.attachments(objects.data)
	d.scripts()
	if f.err != nil {
		return &Error{Code: Damaged, Detail: f.err.Error()}
	}
	return nil
}

// load opens the document; the bytes remain in the instance's memory until it is closed.
func (f *pdfium) load(data []byte) (uint64, error) {
	at := f.malloc(len(data))
	if f.err != nil {
		return 0, &Error{Code: Limit, Detail: "the PDF does not fit into the reader's memory",
			Advice: "raise " + SettingOf("Memory") + " to allow it"}
	}
	f.write(at, data)
	doc := f.call("FPDF_LoadMemDocument", uint64(at), uint64(len(data)), 0)
	if f.err != nil {
		return 0, &Error{Code: Damaged, Detail: f.err.Error()}
	}
	if doc != 0 {
		return doc, nil
	}
	switch code := f.integer("FPDF_GetLastError"); code {
	case pdfErrPassword:
		return 0, &Error{Code: Encrypted, Detail: "the PDF needs a password"}
	case pdfErrSecurity:
		return 0, &Error{Code: Encrypted, Detail: "the PDF is protected by an unknown method"}
	case pdfErrFormat:
		return 0, &Error{Code: Damaged, Detail: "not a readable PDF"}
	default:
		return 0, &Error{Code: Damaged, Detail: fmt.Sprintf("the PDF cannot be opened (PDFium error %d)", code)}
	}
}

// metaText reads an entry of the document's information dictionary.
func (f *pdfium) metaText(doc uint64, key string) string {
	return f.wideText(key, func(k, at, n uint64) int { return f.integer("FPDF_GetMetaText", doc, k, at, n) })
}

// pdfChar is a character as placed on the page. Coordinates are in points from the lower left corner of the page as displayed.
type pdfChar struct {
	r                        rune
	index                    int     // index in PDFium's text for the page
	left, right, low, high   float64 // loose box, with the line's height for every letter
	generated, bad           bool
	white, invisible, hyphen bool
	covered                  bool // covered by a box or picture, or clipped
	squeezed                 bool
}

// pdfPage is the result of reading one page.
type pdfPage struct {
	number        int
	width, height float64
	lines         []pdfLine
	numberDigits  int      // number of digits in the line numbers left out
	pictures      int      // picture objects
	shapes        int      // filled or stroked paths
	notes         []string // text of annotations and form fields that are displayed on the page
	scan          bool     // one picture covers most of the page
	failed        bool
	files         bool // an annotation contains a file
	chars         int
	bad           int  // number of characters without a known meaning
	objects       int  // number of objects counted
	texts         int  // text objects that are drawn
	numbers       int  // number of line numbers left out
	astray        bool // drawn in an order other than the reading order
}

type pdfDoc struct {
	b      *builder
	f      *pdfium
	doc    uint64
	pages  []pdfPage
	widens bool // see widen
	// fileNotes lists the pages, counted from 0, with annotations that contain a file.
	fileNotes []int
}

func (d *pdfDoc) readPages(n int) {
	if n > d.b.opt.MaxPages {
		d.b.partial(FlagPageLimit, fmt.Sprintf("pages %d to %d were not read; raise %s to read them", d.b.opt.MaxPages+1, n,
			SettingOf("MaxPages")))
		n = d.b.opt.MaxPages
	}
	total := 0
	for i := range n {
		p := d.readPage(i)
		d.pages = append(d.pages, p)
		if p.files {
			d.fileNotes = append(d.fileNotes, i)
		}
		if total += p.chars; int64(total) > d.b.opt.MaxText {
			d.b.partial(FlagTextLimit, fmt.Sprintf("the text is cut off on page %d; raise %s to read more", i+1, SettingOf("MaxText")))
			return
		}
		if d.f.err != nil {
			return
		}
	}
}

func (d *pdfDoc) readPage(i int) pdfPage {
	f := d.f
	p := pdfPage{number: i + 1}
	page := f.call("FPDF_LoadPage", d.doc, uint64(i))
	if page == 0 {
		p.failed = true
		return p
	}
	defer f.call("FPDF_ClosePage", page)
	p.width, p.height = f.float("FPDF_GetPageWidthF", page), f.float("FPDF_GetPageHeightF", page)
	var thin []thinObject
	if d.widens {
		thin = f.widen(0, f.integer("FPDFPage_CountObjects", page), func(k uint64) uint64 { return f.call("FPDFPage_GetObject", page, k) })
	}
	text := f.call("FPDFText_LoadPage", page)
	f.restore(thin)
	if text == 0 {
		p.failed = true
		return p
	}
	defer f.call("FPDFText_ClosePage", text)
	g := f.pageGeometry(page, p.width, p.height)
	ground := f.readGround(page, g)
	chars := f.pageChars(text, g, ground)
	if drawn := f.drawnWords(page, chars, g, ground); drawn != nil {
		chars = drawn
		d.b.flag(Flag{Code: FlagGlyphs, Detail: saidDetail})
	} else if tightBoxes(chars) {
		f.loosen(text, g, chars)
	}
	chars = p.order(chars)
	p.lines = splitLines(chars)
	for i := range p.lines {
		l := &p.lines[i]
		x, y := (l.left+l.right)/2, (l.low+l.high)/2
		const margin = 2 // in points
		l.off = l.solid > 0 && p.width > 20 && p.height > 20 && (x < -margin || y < -margin || x > p.width+margin || y > p.height+margin)
	}
	for _, c := range chars {
		if !c.generated && c.r > ' ' {
			p.chars++
			if c.bad {
				p.bad++
			}
		}
	}
	f.pictures(page, &p)
	f.annotations(page, &p)
	p.mirror(chars)
	return p
}

// mirror reverses a page that is read from right to left, so that its lines start at the left edge, because the layout supports only such
// lines.
func (p *pdfPage) mirror(chars []pdfChar) {
	if !mostlyRightToLeft(chars) {
		return
	}
	for i := range p.lines {
		l := &p.lines[i]
		if l.solid > 0 {
			l.left, l.right = p.width-l.right, p.width-l.left
		}
	}
}

// geometry converts page coordinates to displayed coordinates.
type geometry struct {
	left, low     float64
	width, height float64 // as displayed
	rotation      int     // quarter turns clockwise
}

func (f *pdfium) pageGeometry(page uint64, w, h float64) geometry {
	g := geometry{width: w, height: h, rotation: f.integer("FPDFPage_GetRotation", page) & 3}
	s := uint64(f.scratch)
	for _, box := range []string{"FPDFPage_GetCropBox", "FPDFPage_GetMediaBox"} {
		if f.integer(box, page, s, s+4, s+8, s+12) != 0 {
			if m := f.read(f.scratch, 16); m != nil {
				g.left, g.low = f32(m), f32(m[4:])
			}
			break
		}
	}
	return g
}

// shown converts a box on the page to a box on the page as displayed.
func (g geometry) shown(l, r, lo, hi float64) (float64, float64, float64, float64) {
	l, r, lo, hi = l-g.left, r-g.left, lo-g.low, hi-g.low
	switch g.rotation {
	case 1:
		return lo, hi, g.height - r, g.height - l
	case 2:
		return g.width - r, g.width - l, g.height - hi, g.height - lo
	case 3:
		return g.width - hi, g.width - lo, l, r
	}
	return l, r, lo, hi
}

// lowHalf marks the second half of a character represented by two (UTF-16).
const lowHalf = -1

// unicode returns character i of a page. PDFium returns characters above U+FFFF as two halves; for the first one, unicode returns the
// whole character.
func (f *pdfium) unicode(text, i uint64) rune {
	r := rune(uint32(f.call("FPDFText_GetUnicode", text, i)))
	if !utf16.IsSurrogate(r) {
		return r
	}
	if r >= 0xdc00 {
		if i > 0 && utf16.DecodeRune(rune(uint32(f.call("FPDFText_GetUnicode", text, i-1))), r) != utf8.RuneError {
			return lowHalf
		}
		return utf8.RuneError
	}
	return utf16.DecodeRune(r, rune(uint32(f.call("FPDFText_GetUnicode", text, i+1))))
}

// pageChars reads every character with its box, and whether it is visible against its background.
func (f *pdfium) pageChars(text uint64, g geometry, ground *pdfGround) []pdfChar {
	n := f.integer("FPDFText_CountChars", text)
	if n <= 0 {
		return nil
	}
	n = min(n, maxPageChars)
	chars := make([]pdfChar, 0, n)
	s := uint64(f.scratch)
	object, invisible := uint64(0), false
	var cut clip
	for i := range uint64(n) {
		c := pdfChar{r: f.unicode(text, i), index: int(i)}
		if c.r == lowHalf {
			continue
		}
		if c.r == 0xfffe || c.r == 2 {
			c.r, c.hyphen = 2, true
		}
		c.generated = f.integer("FPDFText_IsGenerated", text, i) == 1
		if c.r == '\r' || c.r == '\n' {
			chars = append(chars, c)
			continue
		}
		if c.r > ' ' || c.hyphen {
			// Adjacent characters usually belong to one text object.
			if o := f.call("FPDFText_GetTextObject", text, i); o != object {
				object, cut = o, clip{}
				if invisible = o != 0 && f.drawnWithoutInk(o); o != 0 {
					cut = f.clipOf(o, g)
				}
			}
			c.invisible = invisible
			c.bad = c.r == 0xfffd || c.r != 2 && f.integer("FPDFText_HasUnicodeMapError", text, i) == 1
			if f.integer("FPDFText_GetLooseCharBox", text, i, s) != 0 {
				if m := f.read(f.scratch, 16); m != nil { // FS_RECTF: left, top, right, bottom
					c.left, c.right, c.low, c.high = g.shown(f32(m), f32(m[8:]), f32(m[12:]), f32(m[4:]))
					c.covered = cut.hides(&c)
					width, height := c.right-c.left, c.high-c.low
					c.squeezed = min(width, height) < squeezed*max(width, height) && unicode.IsLetter(c.r)
				}
			}
			if f.integer("FPDFText_GetFillColor", text, i, s, s+4, s+8, s+12) != 0 {
				if m := f.read(f.scratch, 16); m != nil {
					ground.settle(&c, object, m[0], m[4], m[8])
					c.white = c.white || m[12] < faint
				}
			}
		}
		chars = append(chars, c)
		if f.err != nil {
			break
		}
	}
	return chars
}

// PDFium's page object types and the render mode of invisible text, fpdf_edit.h.
const (
	pdfObjectText   = 1
	pdfObjectPath   = 2
	pdfObjectImage  = 3
	pdfObjectForm   = 5
	renderInvisible = 3
	renderClip      = 7
	maxObjects      = 5000
)

// faint is the opacity, out of 255, below which text is indistinguishable from its background.
const faint = 8

// drawnWithoutInk reports whether a text object leaves no mark on the page.
func (f *pdfium) drawnWithoutInk(object uint64) bool {
	mode := f.integer("FPDFTextObj_GetTextRenderMode", object)
	return mode == renderInvisible || mode == renderClip
}

// pictures counts the page's objects and reports whether a single picture covers most of the page.
func (f *pdfium) pictures(page uint64, p *pdfPage) {
	f.countObjects(p, 0, f.integer("FPDFPage_CountObjects", page), func(i uint64) uint64 {
		return f.call("FPDFPage_GetObject", page, i)
	})
}

// countObjects counts n objects, including those in forms, since scanners put the picture of a page into a form.
func (f *pdfium) countObjects(p *pdfPage, depth, n int, object func(i uint64) uint64) {
	for i := range max(min(n, maxObjects-p.objects), 0) {
		o := object(uint64(i))
		if o == 0 || f.err != nil {
			continue
		}
		p.objects++
		switch f.integer("FPDFPageObj_GetType", o) {
		case pdfObjectText:
			if !f.drawnWithoutInk(o) && f.area(o) > 1 {
				p.texts++
			}
		case pdfObjectPath:
			p.shapes++
		case pdfObjectImage:
			p.pictures++
			// Bounds inside a form are in the form's own coordinates, so only the number of characters decides there.
			p.scan = p.scan || depth == 0 && f.area(o) > 0.5*p.width*p.height
		case pdfObjectForm:
			p.scan = p.scan || depth == 0 && p.pictures == 0 && f.area(o) > 0.9*p.width*p.height && f.formIsPicture(o)
			if depth < maxForms {
				f.countObjects(p, depth+1, f.integer("FPDFFormObj_CountObjects", o), func(i uint64) uint64 {
					return f.call("FPDFFormObj_GetObject", o, i)
				})
			}
		}
	}
}

// maxForms is the maximum nesting of forms.
const maxForms = 4

// formIsPicture reports whether a form consists of a single picture.
func (f *pdfium) formIsPicture(form uint64) bool {
	if f.integer("FPDFFormObj_CountObjects", form) != 1 {
		return false
	}
	o := f.call("FPDFFormObj_GetObject", form, 0)
	return o != 0 && f.integer("FPDFPageObj_GetType", o) == pdfObjectImage
}

// area returns the area of an object in square points, or 0.
func (f *pdfium) area(object uint64) float64 {
	s := uint64(f.scratch)
	if f.integer("FPDFPageObj_GetBounds", object, s, s+4, s+8, s+12) == 0 {
		return 0
	}
	m := f.read(f.scratch, 16)
	if m == nil {
		return 0
	}
	return math.Abs((f32(m[8:]) - f32(m)) * (f32(m[12:]) - f32(m[4:])))
}

// Subtypes of annotations with text displayed on the page, fpdf_annot.h.
const (
	annotFreeText  = 3
	annotWidget    = 20
	maxAnnotations = 2000
)

// annotations reads the text of free-text annotations and the values of form fields, because both are visible on the page but in no text
// layer.
func (f *pdfium) annotations(page uint64, p *pdfPage) {
	n := min(f.integer("FPDFPage_GetAnnotCount", page), maxAnnotations)
	for i := range max(n, 0) {
		a := f.call("FPDFPage_GetAnnot", page, uint64(i))
		if a == 0 {
			continue
		}
		key := ""
		switch f.integer("FPDFAnnot_GetSubtype", a) {
		case annotFreeText:
			key = "Contents"
		case annotWidget:
			key = "V"
		case attachFileAnnotation:
			p.files = true
		}
		if key != "" && f.integer("FPDFAnnot_GetFlags", a)&2 == 0 { // 2 means hidden
			if s := strings.TrimSpace(f.wideText(key, func(k, at uint64, n uint64) int {
				return f.integer("FPDFAnnot_GetStringValue", a, k, at, n)
			})); s != "" {
				p.notes = append(p.notes, s)
				p.chars += len(s)
			}
		}
		f.call("FPDFPage_CloseAnnot", a)
	}
}

// wideText reads a UTF-16 string with the given name; get is as in wideResult.
func (f *pdfium) wideText(key string, get func(key, at, n uint64) int) string {
	k := f.malloc(len(key) + 1)
	f.write(k, append([]byte(key), 0))
	defer f.call("free", uint64(k))
	return f.wideResult(func(at, n uint64) int { return get(uint64(k), at, n) })
}

// wideResult reads a UTF-16 string; get writes up to n bytes at an address and returns the length in bytes, including the terminating
// zero.
func (f *pdfium) wideResult(get func(at, n uint64) int) string {
	n := get(0, 0)
	if n <= 2 || n > 1<<20 {
		return ""
	}
	at := f.malloc(n)
	defer f.call("free", uint64(at))
	get(uint64(at), uint64(n))
	raw := f.read(at, uint32(n-2))
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}

// pageList formats page numbers for display, for example "3, 7 to 9".
func pageList(pages []int) string {
	var s strings.Builder
	for i := 0; i < len(pages); {
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "%d", pages[i])
		if j > i {
			fmt.Fprintf(&s, " to %d", pages[j])
		}
		if i = j + 1; s.Len() > 200 && i < len(pages) {
			s.WriteString(" and more")
			break
		}
	}
	return s.String()
}
