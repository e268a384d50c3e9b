package html

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
)

// LeafStyle is the style sheet for pages returned by View.Leaf; it must follow Style.
//
//go:embed leaf.css
var LeafStyle string

// Leaf is a page of the submission in its original layout, with the positions of passages.
type Leaf struct {
	Number, Pages int
	Width, Height float64 // in points
	Picture       string  // address of the image
	Marks         []LeafMark
	Flags         []LeafFlag // in text order
}

// LeafMark is a passage, or part of one, on a Leaf.
type LeafMark struct {
	Passage int // index of the passage
	Begins  bool
	Boxes   []LeafBox // one box per line, in order
}

// LeafFlag is a flagged stretch of the text, or part of one, on a Leaf.
type LeafFlag struct {
	Stretch int   // index of the stretch in View.FlagSpans
	Anchors []int // indices of the flags that link here
	Boxes   []LeafBox
}

// LeafBox is a rectangle in points, measured from the upper left corner of the Leaf.
type LeafBox struct{ X, Y, Width, Height float64 }

// Leaf returns a page as an image with its passages marked in the same colours and signs as in the text. The image is loaded when it
// scrolls into view.
func (v *View) Leaf(p Leaf, l Links) template.HTML {
	return v.part(l, func(d *doc) {
		n := strconv.Itoa(p.Number)
		d.raw(`<figure class="leaf" id="page-`, n, `"><figcaption>`)
		d.say("Page %d of %d", p.Number, p.Pages)
		d.raw(`</figcaption><div class="paper">`)
		d.raw(fmt.Sprintf(`<img width="%.0f" height="%.0f" loading="lazy" decoding="async"`, max(p.Width, 1), max(p.Height, 1)))
		d.attr("src", p.Picture)
		d.attr("alt", d.in.Say("Picture of page %d. Its text is in the report.", p.Number))
		d.raw(`>`)
		if len(p.Marks)+len(p.Flags) > 0 {
			d.raw(fmt.Sprintf(`<svg class="marks" viewBox="0 0 %.1f %.1f" preserveAspectRatio="none" role="group"`, p.Width, p.Height))
			d.attr("aria-label", d.in.Say("Passages on page %d", p.Number))
			d.raw(">")
			var labels []LeafBox
			for _, m := range p.Marks {
				writeLeafMark(d, m, &labels)
			}
			writeLeafFlags(d, p.Flags)
			d.raw("</svg>")
		}
		d.raw("</div></figure>\n")
	})
}

// writeLeafMark writes one mark, and its number if the passage begins here. labels collects the positions of numbers on the page.
func writeLeafMark(d *doc, m LeafMark, labels *[]LeafBox) {
	e := d.r.Evidence[m.Passage]
	c, number := class(e.Kind, e.Excluded), d.r.Number(m.Passage)
	d.raw(`<a class="m k-`, c, d.hues.coloured(m.Passage, d.links.Only), `" data-e="`, number, `"`)
	d.attr("href", d.links.passage(m.Passage))
	if m.Begins {
		d.raw(` id="m`, number, `"`)
		d.attr("aria-label", leafNumber(d, m.Passage)+": "+d.label(m.Passage))
	} else {
		d.raw(` tabindex="-1" aria-hidden="true"`)
	}
	d.raw("><title>")
	d.text(d.label(m.Passage))
	d.raw("</title>")
	var area, line strings.Builder
	left := m.Boxes[0].X
	for _, b := range m.Boxes {
		fmt.Fprintf(&area, "M%.1f %.1fh%.1fv%.1fh%.1fz", b.X, b.Y, b.Width, b.Height, -b.Width)
		fmt.Fprintf(&line, "M%.1f %.1fh%.1f", b.X, b.Y+b.Height, b.Width)
		if b.Y < m.Boxes[0].Y+3*b.Height { // in the same column
			left = min(left, b.X)
		}
	}
	d.raw(`<path class="area" d="`, area.String(), `"/><path class="line" d="`, line.String(), `"/>`)
	if m.Begins {
		x, y, anchor := labelAt(m.Boxes[0], left, labels)
		d.raw(fmt.Sprintf(`<text x="%.1f" y="%.1f" text-anchor="%s" aria-hidden="true">`, x, y, anchor))
		d.text(leafNumber(d, m.Passage))
		d.raw("</text>")
	}
	d.raw("</a>")
}

// FlagSpans returns the stretches of the text that are marked by flags, in text order, without overlaps.
func (v *View) FlagSpans() (out []concordat.Span) {
	for _, m := range v.base.marksOfFlags {
		out = append(out, m.Span)
	}
	return out
}

// writeLeafFlags frames flagged stretches. As in the text, stretches of one kind that are near to each other share a sign.
func writeLeafFlags(d *doc, flags []LeafFlag) {
	last := map[string]int{} // end of each code's last stretch
	for _, f := range flags {
		m := d.marksOfFlags[f.Stretch]
		class, name := "flagged", flagName(d, m.code)
		if report.IsDisguise(m.code) {
			class += " raised"
		}
		d.raw(`<g class="`, class, `"><title>`)
		d.text(name)
		d.raw("</title>")
		for _, i := range f.Anchors {
			d.raw(fmt.Sprintf(`<g id="f%d">`, i+1))
		}
		d.raw(`<path class="box" d="`)
		for _, b := range f.Boxes {
			d.raw(fmt.Sprintf("M%.1f %.1fh%.1fv%.1fh%.1fz", b.X-1, b.Y-1, b.Width+2, b.Height+2, -b.Width-2))
		}
		d.raw(`"/>`, strings.Repeat("</g>", len(f.Anchors)))
		if end, before := last[m.code]; report.IsDisguise(m.code) && (!before || m.Start-end > signGap) {
			d.raw(`<a class="fs"`)
			d.attr("href", "#flag-"+m.code)
			d.attr("aria-label", d.in.Say("Flag: %s", name))
			x, y := f.Boxes[0].X-1, max(f.Boxes[0].Y-2, labelHeight)
			d.raw(fmt.Sprintf(`><text x="%.1f" y="%.1f" aria-hidden="true">`, x, y), flagSign, "</text></a>")
		}
		last[m.code] = m.End
		d.raw("</g>")
	}
}

// leafNumber returns the label of a passage on a page: its number, the sign for its kind and the letter of its source.
func leafNumber(d *doc, passage int) string {
	e := d.r.Evidence[passage]
	return strings.TrimSpace(d.r.Number(passage) + " " + sign(class(e.Kind, e.Excluded)) + " " + d.hues.letter(passage))
}

const (
	// leafMargin is the minimum space next to a passage for its number, and labelHeight is the height of a number, in points.
	leafMargin  = 34
	labelHeight = 9
)

// labelAt returns where to put a passage's number: before the first line, above it if there is no space, and below any number that is
// already there.
func labelAt(first LeafBox, left float64, labels *[]LeafBox) (x, y float64, anchor string) {
	x, y, anchor = left-4, max(first.Y+first.Height*0.8, labelHeight), "end"
	if left < leafMargin {
		x, y, anchor = first.X, max(first.Y+1, labelHeight), "start"
	}
	for _, l := range *labels {
		if math.Abs(l.X-x) < leafMargin && math.Abs(l.Y-y) < labelHeight {
			y = l.Y + labelHeight
		}
	}
	*labels = append(*labels, LeafBox{X: x, Y: y})
	return x, y, anchor
}
