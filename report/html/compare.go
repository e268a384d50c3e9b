package html

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"concordat"
	"concordat/report"
)

// A Comparison shows the submission and one source side by side, with corresponding places linked.
type Comparison struct {
	Here, There template.HTML
	Source      template.HTML // its letter, in its colour
	List        template.HTML // links to the displayed places
	Places      int           // total number of place pairs
	From, To    int           // displayed pairs of places, as a half-open range
}

// How places are displayed next to each other.
const (
	// ComparePlaces is the number of place pairs displayed at once.
	ComparePlaces = 60
	// besides is the number of bytes of text displayed around a place.
	besides = 500
	// leastSkipped is the minimum number of bytes between two places at which the text between them is omitted.
	leastSkipped = 200
)

// CompareOptions configure a comparison.
type CompareOptions struct {
	From int // first place to show
	// Of selects the text to display if the source's work has several; the zero value selects the source itself.
	Of concordat.Ref
	// Text is the full text of the source, displayed in its own order. If the text must not be displayed, Text is empty and only what the
	// report contains appears.
	Text string
	// Whole displays both texts from beginning to end, not only the surroundings of the places.
	Whole bool
	// Joined gives each place one colour on both sides; otherwise, all places have the colour of the source.
	Joined bool
}

// pairing is one place in both texts.
type pairing struct {
	concordat.Passage
	evidence int
	number   int // place number, from 1, in submission order; people see the passage number
	of       int // total number of places
	source   concordat.Source
}

// Compare displays the submission next to source s of the report. Each place on one side links to its counterpart on the other: #h1 to
// #t1.
func (v *View) Compare(s int, o CompareOptions, l Links) Comparison {
	all := v.pairings(s, cmp.Or(o.Of, v.base.r.Sources[s].Ref))
	out := Comparison{Places: len(all), From: min(max(o.From, 0), len(all))}
	around := besides
	if o.Whole {
		around = max(len(v.base.full), len(o.Text))
	}
	out.To = min(out.From+ComparePlaces, len(all))
	some := all[out.From:out.To]
	out.Source = v.part(l, func(d *doc) { d.chip(v.base.r.Sources[s].Ref) })
	side := func(write func(d *doc)) template.HTML {
		return v.part(l, func(d *doc) {
			d.around, d.placed = around, o.Joined
			write(d)
		})
	}
	out.List = side(func(d *doc) { placeList(d, some) })
	out.Here = side(func(d *doc) { d.hereSide(some) })
	out.There = side(func(d *doc) {
		d.thereSide(slices.SortedStableFunc(slices.Values(some), func(a, b pairing) int {
			return cmp.Compare(a.SourceSpan.Start, b.SourceSpan.Start)
		}), o.Text)
	})
	return out
}

// placeClass returns the style and colour classes of a place.
func placeClass(d *doc, p pairing) string {
	slot := d.hues.slot[p.source.Ref]
	if d.placed {
		if slot = (p.number-1)%colours + 1; p.source.Excluded != "" {
			slot = 0
		}
	}
	return "k-" + class(p.Kind, p.source.Excluded) + soClass(slot)
}

// placeList writes links to places.
func placeList(d *doc, ps []pairing) {
	for _, p := range ps {
		d.raw(fmt.Sprintf(`<a class="no m %s" href="#h%d" data-goto="%d"`, placeClass(d, p), p.number, p.number))
		label := d.in.Say("Place %d of %d, %s", p.number, p.of, d.in.KindAndCloseness(p.Kind, p.Similarity))
		if p.source.Excluded != "" {
			label += d.in.Say(", not counted: %s", d.in.Exclusion(p.source.Excluded))
		}
		d.attr("aria-label", label)
		d.attr("title", label)
		d.raw(">", fmt.Sprint(p.number), "</a> ")
	}
}

// PlaceOf returns the first place of source s within passage e, or 0.
func (v *View) PlaceOf(s, e int) int {
	return max(0, slices.IndexFunc(v.pairings(s, v.base.r.Sources[s].Ref), func(p pairing) bool { return p.evidence == e }))
}

// pairings returns the places of one text of a source in submission order.
func (v *View) pairings(s int, of concordat.Ref) []pairing {
	var out []pairing
	ranked := v.base.r.Sources[s]
	for _, e := range ranked.Evidence {
		for _, src := range v.base.r.Evidence[e].Sources {
			if src.Ref != of {
				continue
			}
			for _, p := range src.Parts {
				out = append(out, pairing{p, e, 0, 0, src})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b pairing) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	for i := range out {
		out[i].number, out[i].of = i+1, len(out)
	}
	return out
}

// begin writes the start of a place, which is the number of its passage, linked to the other side.
func (d *doc) begin(p pairing, side, other string) {
	c, number := class(p.Kind, p.source.Excluded), d.r.Number(p.evidence)
	if d.placed { // numbered by position, since they are not passages of a report
		number = fmt.Sprint(p.number)
	}
	d.raw(fmt.Sprintf(`<span class="m %s" id="%s%d" data-place="%d"`, placeClass(d, p), side, p.number, p.number))
	if p.source.Excluded != "" {
		d.raw(" data-out")
	}
	d.raw(fmt.Sprintf(`><a class="no" href="#%s%d"`, other, p.number))
	d.attr("aria-label", d.in.Say("%s, %s", d.in.Say("Passage %s, place %d of %d", number, p.number, p.of),
		d.in.KindAndCloseness(p.Kind, p.Similarity)))
	d.raw(">", number, "&nbsp;", sign(c), "</a>")
}

// hereSide writes the submission's text around the places.
func (d *doc) hereSide(ps []pairing) {
	spans := make([]concordat.Span, len(ps))
	for i, p := range ps {
		spans[i] = p.Span
	}
	d.side(d.full, spans, func(i, from int) int {
		p := ps[i]
		d.begin(p, "h", "t")
		rest := p.Passage
		rest.Span.Start = max(rest.Span.Start, from)
		if rest.Span.Start < rest.Span.End {
			words := after(usable(p.Passage, len(d.full)), from, func(w *concordat.SpanPair) *concordat.Span { return &w.Span })
			d.differences(rest.Span.In(d.full), rest.Span.Start, words, func(w concordat.SpanPair) concordat.Span { return w.Span })
		}
		d.raw("</span>")
		return max(rest.Span.End, from)
	})
}

// after returns the word pairs that end after byte from on one side, clipped at that byte.
func after(words []concordat.SpanPair, from int, of func(*concordat.SpanPair) *concordat.Span) []concordat.SpanPair {
	var out []concordat.SpanPair
	for _, w := range words {
		if s := of(&w); s.End > from {
			s.Start = max(s.Start, from)
			out = append(out, w)
		}
	}
	return out
}

// thereSide writes the source's text around the places, in source order: its full text, or the part in the report.
func (d *doc) thereSide(ps []pairing, text string) {
	words := func(w concordat.SpanPair) concordat.Span { return w.Source }
	if fits(ps, text) {
		spans := make([]concordat.Span, len(ps))
		for i, p := range ps {
			spans[i] = p.SourceSpan
		}
		d.side(text, spans, func(i, from int) int {
			p := ps[i]
			d.begin(p, "t", "h")
			at := concordat.Span{Start: max(p.SourceSpan.Start, from), End: p.SourceSpan.End}
			if at.Len() > 0 {
				d.differences(at.In(text), at.Start, after(usable(p.Passage, len(d.full)), from,
					func(w *concordat.SpanPair) *concordat.Span { return &w.Source }), words)
			}
			d.raw("</span>")
			return max(at.End, from)
		})
		return
	}
	for _, p := range ps {
		d.raw(`<p dir="auto">`)
		d.context(report.LastOf(p.Before, p.SourceSpan.Start <= len(p.Before)))
		d.begin(p, "t", "h")
		switch shared := report.SharedWords(d.full, p.Passage); {
		case p.Text != "":
			d.differences(p.Text, p.SourceSpan.Start, usable(p.Passage, len(d.full)), words)
		case shared != "":
			d.text(shared)
		default:
			d.raw(`<i>`)
			d.say("The wording of this source is not shown here.")
			d.raw(`</i>`)
		}
		d.raw("</span>")
		d.context(report.FirstOf(p.After, false))
		d.raw("</p>")
	}
}

// fits reports whether text is the version that the places refer to; the text can have changed after the check.
func fits(ps []pairing, text string) bool {
	return text != "" && !slices.ContainsFunc(ps, func(p pairing) bool {
		s := p.SourceSpan
		return s.Start < 0 || s.End > len(text) || s.End < s.Start || p.Text != "" && s.In(text) != p.Text
	})
}

// side writes a text with spans, ordered by start. It writes the text between spans itself and calls write for each span, with the end of
// the text written so far; write returns the new end.
func (d *doc) side(text string, spans []concordat.Span, write func(i, from int) int) {
	end, around := 0, cmp.Or(d.around, besides)
	for i, s := range spans {
		gap := s.Start - end
		switch {
		case i == 0:
			a := wordStart(text, 0, s.Start-around)
			d.skipped(text[:a])
			d.raw(`<p dir="auto">`)
			d.context(text[a:s.Start])
		case gap <= 2*around+leastSkipped:
			d.context(text[min(end, s.Start):s.Start])
		default:
			a := wordStart(text, end, end+around)
			b := wordStart(text, a, s.Start-around)
			d.context(text[end:a])
			d.raw("</p>")
			d.skipped(text[a:b])
			d.raw(`<p dir="auto">`)
			d.context(text[b:s.Start])
		}
		end = write(i, end)
	}
	if len(spans) > 0 {
		b := wordStart(text, end, end+around)
		if len(text)-b < leastSkipped {
			b = len(text)
		}
		d.context(text[min(end, b):b])
		d.raw("</p>")
		if b < len(text) {
			d.skipped(text[b:])
		}
	}
}

// PlainText returns text as HTML without marks.
func PlainText(text string) template.HTML {
	return template.HTML(`<p dir="auto">` + template.HTMLEscapeString(text) + `</p>`)
}

// wordStart returns the start of the word that contains byte at, but no less than least; it returns 0 near the beginning of the text, and
// the text's length beyond the end. Text without separators can be cut anywhere.
func wordStart(text string, least, at int) int {
	if at <= leastSkipped && least == 0 {
		return 0
	}
	if at >= len(text) {
		return len(text)
	}
	at = report.RuneStart(text, at)
	const longest = 60
	for i := at; i > max(least, at-longest); i-- {
		if text[i-1] == ' ' || text[i-1] == '\n' {
			return i
		}
	}
	return max(at, least)
}

// skipped writes the amount of omitted text.
func (d *doc) skipped(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	d.raw(`<p class="note leftout">`)
	d.say("%s characters omitted", report.Thousands(d.in, len([]rune(s))))
	d.raw("</p>")
}
