package html

import (
	"cmp"
	"fmt"
	"strings"

	"concordat"
)

// patterns are the textures for kinds, so that colour is never the only cue. The bar and the map use them. A page defines them only once
// because ids must be unique.
const patterns = `<defs>` +
	`<pattern id="t-near" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="p0" width="7" height="7"/><rect class="p1" width="2.5" height="7"/></pattern>` +
	`<pattern id="t-paraphrase" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="p0" width="6" height="6"/><circle class="p1" cx="3" cy="3" r="1.6"/></pattern>` +
	`<pattern id="t-summary" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="p0" width="6" height="6"/><rect class="p1" width="6" height="2"/></pattern>` +
	`<pattern id="t-common" width="5" height="5" patternUnits="userSpaceOnUse"><rect class="p0" width="5" height="5"/><rect class="p1" width="1.2" height="5"/></pattern>` +
	`<pattern id="t-out" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect class="p0" width="8" height="8"/><rect class="p1" width="1.5" height="8"/></pattern>` +
	`<pattern id="t-lead" width="8" height="4" patternUnits="userSpaceOnUse"><rect class="p0" width="8" height="4"/><path class="p1" d="M0 3q2 -4 4 -1t4 -1" fill="none" stroke-width="1.4"/></pattern>` +
	sourcePatterns + `</defs>`

// class returns the style class of an evidence or a source.
func class(k concordat.Kind, e concordat.Exclusion) string {
	switch {
	case e == concordat.ExcludedCommon:
		return "common"
	case e == concordat.ExcludedTemplate:
		return "template"
	case e == concordat.ExcludedForm:
		return "form"
	case e == concordat.ExcludedSentence:
		return "sentence"
	case e == concordat.ExcludedUndecided:
		return "undecided"
	case e != "":
		return "out"
	}
	switch k {
	case concordat.KindVerbatim, concordat.KindNear, concordat.KindParaphrase, concordat.KindSummary, concordat.KindCommon,
		concordat.KindTemplate, concordat.KindForm, concordat.KindSentence, concordat.KindUndecided, concordat.KindQuotation:
		return string(k)
	}
	return "paraphrase"
}

// sign returns the mark for a kind, displayed next to a passage's number.
func sign(class string) string {
	switch class {
	case "verbatim":
		return "="
	case "near":
		return "≈"
	case "paraphrase":
		return "~"
	case "summary":
		return "⊂"
	case "common":
		return "∘"
	case "quotation":
		return "❞"
	case "template":
		return "▭"
	case "form":
		return "□"
	case "sentence":
		return "–"
	case "undecided":
		return "?"
	}
	return "×"
}

// level returns the height of a kind in the map, at most 30; closer kinds are taller.
func level(class string) int {
	switch class {
	case "verbatim":
		return 30
	case "near":
		return 25
	case "paraphrase":
		return 20
	case "summary":
		return 16
	case "quotation":
		return 13
	}
	return 9
}

// axis places the bytes of a text of this length along a strip of width 1000.
type axis int

// x returns the position of a byte in the strip.
func (a axis) x(at int) float64 {
	if a == 0 {
		return 0
	}
	return 1000 * float64(at) / float64(a)
}

// mapStrip draws the whole text as a strip with every passage at its position.
func (d *doc) mapStrip() {
	d.raw(`<section class="map"`)
	d.attr("aria-label", d.in.Say("Map of the document"))
	d.raw(`><svg viewBox="0 0 1000 34" preserveAspectRatio="none" role="group"`)
	d.attr("aria-label", d.in.Say("The document from beginning to end with %s", d.in.Plural(len(d.r.Evidence), "passage", "passages")))
	d.raw(`><rect class="ground" x="0" y="0" width="1000" height="30"/>`)
	d.skipStrip()
	covered := d.r.Covered
	for i, e := range d.r.Evidence {
		d.raw("<a")
		d.attr("href", d.mark(i))
		d.raw(` tabindex="-1"><title>`)
		d.text(d.label(i))
		d.raw("</title>")
		if e.Excluded != "" {
			d.block(e.Span, class(e.Kind, e.Excluded), "")
		}
		for ; len(covered) > 0 && covered[0].Start < e.Span.End; covered = covered[1:] {
			d.block(covered[0].Span, class(covered[0].Kind, ""), d.hues.colour(i))
		}
		d.raw("</a>")
	}
	for _, l := range d.leadMarks {
		d.block(l.Span, "lead", "")
	}
	flagStrip(d)
	d.raw(`</svg><p class="axis" aria-hidden="true"><span>`)
	d.say("beginning")
	d.raw("</span><span>")
	d.say("end")
	d.raw("</span></p>")
	d.raw("</section>\n")
}

// block draws one stretch in the map, at least wide enough to be visible.
func (d *doc) block(s concordat.Span, kind, colour string) {
	h := level(kind)
	d.raw(fmt.Sprintf(`<rect class="f-%s" x="%.2f" y="%d" width="%.2f" height="%d"/>`,
		cmp.Or(colour, kind), d.axis.x(s.Start), 30-h, max(d.axis.x(s.End)-d.axis.x(s.Start), 1.2), h))
}

// skipStrip marks text that was not compared, as one path along the bottom of the map.
func (d *doc) skipStrip() {
	var b strings.Builder
	last := -1.0
	for _, s := range d.r.Skipped {
		x, w := d.axis.x(s.Span.Start), d.axis.x(s.Span.End)-d.axis.x(s.Span.Start)
		if x+w < last+0.2 { // it would not be visible next to its neighbour
			continue
		}
		fmt.Fprintf(&b, "M%.1f 31h%.1fv3h-%.1fz", x, max(w, 0.4), max(w, 0.4))
		last = x + w
	}
	if b.Len() > 0 {
		d.raw(`<path class="f-skip" d="`, b.String(), `"><title>`)
		d.say("not compared")
		d.raw("</title></path>")
	}
}

// label describes a passage in words for people who cannot see the marks.
func (d *doc) label(i int) string {
	e := d.r.Evidence[i]
	s := d.in.Say("Passage %s, %s, %s", d.r.Number(i), d.in.EvidenceKind(e), d.in.Plural(len(e.Sources), "source", "sources"))
	if letter := d.hues.letter(i); letter != "" {
		s += d.in.Say(", source %s", letter)
	}
	if e.Excluded != "" {
		s += d.in.Say(", not counted: %s", d.r.WhyNot(e))
	}
	return s
}
