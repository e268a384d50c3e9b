package extract

import (
	"slices"
)

// pdfBox is a filled shape or a picture on a page.
type pdfBox struct {
	left, right, low, high float64
	at                     int  // position among the page's objects, in drawing order
	known                  bool // it has a single colour
	colour                 [3]byte
	opaque                 bool
}

// pdfGround tracks what is drawn under and over the letters of a page.
type pdfGround struct {
	boxes []pdfBox
	drawn map[uint64]int // position of each text object among the page's objects
}

// leastBox is the minimum side, in points, of a box that can be behind letters; thinner boxes are lines.
const leastBox = 2

// maxBoxesDrawn is the maximum number of boxes examined on a page.
const maxBoxesDrawn = 500

// readGround finds the page's boxes and text objects. For forms, it finds only the position.
func (f *pdfium) readGround(page uint64, g geometry) *pdfGround {
	gr := &pdfGround{drawn: map[uint64]int{}}
	n := min(f.integer("FPDFPage_CountObjects", page), maxObjects)
	for i := range max(n, 0) {
		o := f.call("FPDFPage_GetObject", page, uint64(i))
		kind := f.integer("FPDFPageObj_GetType", o)
		if kind == pdfObjectText {
			gr.drawn[o] = i
			continue
		}
		if len(gr.boxes) >= maxBoxesDrawn || f.err != nil {
			continue
		}
		if b, ok := f.box(o, kind, g); ok {
			b.at = i
			gr.boxes = append(gr.boxes, b)
		}
	}
	return gr
}

// box reads an object that fills its bounds.
func (f *pdfium) box(o uint64, kind int, g geometry) (pdfBox, bool) {
	var b pdfBox
	s := uint64(f.scratch)
	if kind == pdfObjectPath {
		if f.integer("FPDFPath_GetDrawMode", o, s, s+4) == 0 {
			return b, false
		}
		if m := f.read(f.scratch, 4); m == nil || m[0] == 0 {
			return b, false // only its outline is drawn
		}
		if f.integer("FPDFPageObj_GetFillColor", o, s, s+4, s+8, s+12) != 0 {
			if m := f.read(f.scratch, 16); m != nil {
				b.known, b.colour, b.opaque = true, [3]byte{m[0], m[4], m[8]}, m[12] >= 0xf8
				if m[12] < 0x20 {
					return b, false
				}
			}
		}
	}
	if f.integer("FPDFPageObj_GetBounds", o, s, s+4, s+8, s+12) == 0 {
		return b, false
	}
	m := f.read(f.scratch, 16)
	if m == nil {
		return b, false
	}
	b.left, b.right, b.low, b.high = g.shown(f32(m), f32(m[8:]), f32(m[4:]), f32(m[12:]))
	if b.right-b.left < leastBox || b.high-b.low < leastBox {
		return b, false
	}
	if b.opaque = b.opaque || kind == pdfObjectImage; b.opaque {
		b.opaque = f.integer("FPDFPageObj_HasTransparency", o) == 0
	}
	if kind == pdfObjectPath && b.opaque {
		b.opaque = f.isRectangle(o)
	}
	return b, true
}

// isRectangle reports whether a path is a single rectangle, the only path that fills its bounds.
func (f *pdfium) isRectangle(o uint64) bool {
	n := f.integer("FPDFPath_CountSegments", o)
	return n == 4 || n == 5
}

// settle determines whether a character, drawn by a text object in the given colour, is visible against its background.
func (gr *pdfGround) settle(c *pdfChar, object uint64, red, green, blue byte) {
	ground := pdfBox{known: true, colour: [3]byte{0xff, 0xff, 0xff}}
	at, own := gr.drawn[object]
	x, y := (c.left+c.right)/2, (c.low+c.high)/2
	for i := range gr.boxes {
		b := &gr.boxes[i]
		if x < b.left || x > b.right || y < b.low || y > b.high {
			continue
		}
		switch {
		case !own || b.at < at:
			ground = *b
		case b.opaque:
			c.covered = true
		}
	}
	c.white = ground.known && nearColour(ground.colour, [3]byte{red, green, blue})
}

// nearColour reports whether two colours are indistinguishable.
func nearColour(a, b [3]byte) bool {
	const play = 8
	for i := range a {
		if max(a[i], b[i])-min(a[i], b[i]) >= play {
			return false
		}
	}
	return true
}

// clip is a rectangle outside which the object is invisible.
type clip struct {
	left, right, low, high float64
	set                    bool
}

// Clipping paths that are rectangles have few points; longer ones are not followed.
const (
	maxClips      = 4
	maxClipPoints = 6
)

// clipOf reads the clipping paths of a text object.
func (f *pdfium) clipOf(object uint64, g geometry) clip {
	var c clip
	path := f.call("FPDFPageObj_GetClipPath", object)
	if path == 0 {
		return c
	}
	n := f.integer("FPDFClipPath_CountPaths", path)
	for i := range max(min(n, maxClips), 0) {
		points := f.integer("FPDFClipPath_CountPathSegments", path, uint64(i))
		if points < 4 || points > maxClipPoints {
			continue
		}
		s := uint64(f.scratch)
		var xs, ys []float64
		for k := range points {
			seg := f.call("FPDFClipPath_GetPathSegment", path, uint64(i), uint64(k))
			if seg == 0 || f.integer("FPDFPathSegment_GetPoint", seg, s, s+4) == 0 {
				continue
			}
			if m := f.read(f.scratch, 8); m != nil {
				xs, ys = append(xs, f32(m)), append(ys, f32(m[4:]))
			}
		}
		if len(xs) == 0 {
			continue
		}
		l, r, lo, hi := g.shown(slices.Min(xs), slices.Max(xs), slices.Min(ys), slices.Max(ys))
		if !c.set {
			c = clip{l, r, lo, hi, true}
		} else {
			c.left, c.right, c.low, c.high = max(c.left, l), min(c.right, r), max(c.low, lo), min(c.high, hi)
		}
	}
	return c
}

// hides reports whether the middle of a character is outside the clip.
func (c *clip) hides(x *pdfChar) bool {
	if !c.set {
		return false
	}
	const play = 1 // points
	mx, my := (x.left+x.right)/2, (x.low+x.high)/2
	return mx < c.left-play || mx > c.right+play || my < c.low-play || my > c.high+play
}

// squeezed is the maximum ratio of a letter's width to its height at which it is illegible.
const squeezed = 0.06
