package extract

import (
	"math"
	"regexp"
)

// PDFium omits a text object if its box has no width. The box of a single letter, or of a line that runs down, has no width if the font
// is not in the file and no available font has the letter, as with the East Asian fonts supplied by every viewer. A drawn outline widens
// the box, so such objects are given an outline before the text is read; it is removed afterwards.

// pdfOrdering matches the names by which fonts refer to collections of East Asian characters (ISO 32000-1, section 9.7.3).
var pdfOrdering = regexp.MustCompile(`/Ordering\s*\(\s*(?:Japan1|Japan2|GB1|CNS1|Korea1|KR)\s*\)`)

// widens reports whether the file has such fonts.
func (p *pdfObjects) widens() bool {
	if pdfOrdering.Match(p.data) {
		return true
	}
	for _, o := range p.packedObjects() {
		if pdfOrdering.Match(o) {
			return true
		}
	}
	return false
}

// renderStroke is the render mode of outlines, fpdf_edit.h.
const renderStroke = 1

// thinObject is a text object that was given an outline, with its original render mode.
type thinObject struct {
	object uint64
	mode   int
}

// widen gives an outline to the text objects of n that have no width.
func (f *pdfium) widen(depth, n int, object func(i uint64) uint64) []thinObject {
	var out []thinObject
	s := uint64(f.scratch)
	for i := range max(min(n, maxObjects), 0) {
		o := object(uint64(i))
		switch f.integer("FPDFPageObj_GetType", o) {
		case pdfObjectForm:
			if depth < maxForms {
				out = append(out, f.widen(depth+1, f.integer("FPDFFormObj_CountObjects", o), func(k uint64) uint64 {
					return f.call("FPDFFormObj_GetObject", o, k)
				})...)
			}
		case pdfObjectText:
			if f.integer("FPDFPageObj_GetBounds", o, s, s+4, s+8, s+12) == 0 {
				continue
			}
			if m := f.read(f.scratch, 16); m == nil || math.Abs(f32(m[8:])-f32(m)) >= 0.01 {
				continue
			}
			thin := thinObject{o, f.integer("FPDFTextObj_GetTextRenderMode", o)}
			f.call("FPDFTextObj_SetTextRenderMode", o, renderStroke)
			f.call("FPDFPageObj_SetStrokeWidth", o, uint64(math.Float32bits(1)))
			one, none := math.Float64bits(1), math.Float64bits(0)
			f.call("FPDFPageObj_Transform", o, one, none, none, one, none, none) // this changes nothing but recomputes the box
			out = append(out, thin)
		}
	}
	return out
}

// restore restores the objects' original render mode.
func (f *pdfium) restore(objects []thinObject) {
	for _, t := range objects {
		f.call("FPDFTextObj_SetTextRenderMode", t.object, uint64(t.mode))
	}
}
