package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
	"concordat/report"
)

// passages writes every passage next to each of its sources.
func (d *doc) passages() {
	d.heading("Passages and their sources")
	if len(d.r.Evidence) == 0 {
		d.note(d.r.NoPassages())
		return
	}
	before, after, _ := strings.Cut(d.in.Say("The checked text comes first, then the source. Words missing on the other side are {mark}; grey text is context."), "{mark}")
	d.para(margin, textWidth, faint(before), run{d.in.Say("underlined and shaded"), textStyle{size: sizeSmall, grey: true, apart: true}},
		faint(after))
	d.y += 4
	for i, e := range d.r.Evidence {
		if !report.Folded(e.Excluded) {
			d.evidence(i)
		}
	}
	rest := report.UncountedWords(d.r)
	if rest == "" {
		return
	}
	d.sub(rest)
	for i, e := range d.r.Evidence {
		if report.Folded(e.Excluded) {
			d.evidence(i)
		}
	}
}

// maxSources is the number of sources displayed next to a passage; further ones are only named.
const maxSources = 5

func (d *doc) evidence(i int) {
	e := d.r.Evidence[i]
	title := d.in.Say("%s. %s", d.r.Number(i), capital(d.in.EvidenceKind(e)))
	d.room(90)
	d.y += 6
	d.bookmark(title+": "+shorten(e.Span.In(d.full), 40), 1)
	d.as("H3", func() {
		d.para(margin, textWidth, run{title, textStyle{size: sizeText + 1, bold: true}}, faint("  "+d.about(e)))
	})
	k := 0
	for ; k < len(e.Sources) && k < maxSources && d.left > 0; k++ {
		d.pair(e, k)
	}
	if len(e.Sources) == 0 { // for example because all its sources were excluded
		d.para(margin, textWidth, wording([]run{body(e.Span.In(d.full))})...)
	}
	if k == 0 && len(e.Sources) > 0 {
		d.note("The pages of this file show no more wording. The attached JSON has the rest.")
	}
	d.further(e.Sources[k:])
}

// about describes a passage's place, size and status.
func (d *doc) about(e concordat.Evidence) string {
	at := d.count.Points(e.Span)
	s := d.in.Say("characters %s to %s", report.Thousands(d.in, at.Start), report.Thousands(d.in, at.End))
	if e.Section >= 0 && e.Section < len(d.r.Sections) {
		s += d.in.Say(", section “%s”", d.r.Sections[e.Section].Name)
	}
	s += d.in.Say(", %s", report.GroupName(d.in, e.Group))
	return s + d.in.Say(", %s", d.in.Plural(len(e.Sources), "source", "sources")) + d.standing(e)
}

// further lists the names of sources not displayed next to their passage.
func (d *doc) further(sources []concordat.Source) {
	if len(sources) == 0 {
		return
	}
	s := d.in.Say("Also in %s; the wording is in the JSON form of this report: ",
		d.in.Plural(len(sources), "further source", "further sources"))
	names := make([]string, len(sources))
	for i, x := range sources {
		names[i] = shorten(name(x.Title, x.Ref), 40)
	}
	d.para(margin, textWidth, faint(s+strings.Join(names, ", ")+"."))
}

// pair writes source k of e.
func (d *doc) pair(e concordat.Evidence, k int) {
	s := e.Sources[k]
	d.room(60)
	d.y += 3
	how := report.SourceKind(d.in, s)
	if s.Excluded != "" && e.Excluded == "" {
		how += d.in.Say("; not counted: %s", d.in.Exclusion(s.Excluded))
	}
	d.as("H4", func() { d.para(margin, textWidth, wording([]run{strong(name(s.Title, s.Ref)), faint("  " + how)})...) })
	d.para(margin, textWidth, faint(d.place(e, s)))
	for _, p := range s.Parts {
		d.part(s, p)
	}
}

// place describes where a source is and what is known about it.
func (d *doc) place(e concordat.Evidence, s concordat.Source) string {
	out := d.r.Place(s.Ref) + d.in.Say(", ")
	switch {
	case s.Points.Len() > 0:
		out += d.in.Say("characters %s to %s", report.Thousands(d.in, s.Points.Start), report.Thousands(d.in, s.Points.End))
	case s.Span.Len() > 0:
		out += d.in.Say("bytes %s to %s", report.Thousands(d.in, s.Span.Start), report.Thousands(d.in, s.Span.End))
	default:
		out += d.in.Say("at a place that is not shown")
	}
	if s.Here != e.Span {
		at := d.count.Points(s.Here)
		out += d.in.Say("; matches characters %s to %s of the checked text", report.Thousands(d.in, at.Start), report.Thousands(d.in, at.End))
	}
	if n := s.Documents(); n > 1 {
		out += d.in.Say("; its most common sentence appears in %s documents", report.Thousands(d.in, n))
	}
	for _, words := range []string{d.r.SourceWords(s.Ref), d.in.DateWords(s.Age)} {
		if words != "" {
			out += d.in.Say("; ") + words
		}
	}
	return out
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// gutter is the space in points between the two sides of a pair.
const gutter = 14

// part writes one part of the submission next to its counterpart in the source.
func (d *doc) part(s concordat.Source, p concordat.Passage) {
	if d.left -= p.Span.Len() + len(p.Text) + len(p.Before) + len(p.After) + 2*report.ContextBytes; d.left < 0 {
		d.note("The pages of this file show no more wording. The attached JSON has the rest.")
		return
	}
	if len(s.Parts) > 1 {
		d.para(margin, textWidth, faint(d.in.KindAndCloseness(p.Kind, p.Similarity)))
	}
	words := usable(p, len(d.full))
	span := d.clip(p.Span)
	before, after := report.Around(d.full, span)
	here := append([]run{faint(before)}, differences(span.In(d.full), span.Start, words,
		func(w concordat.SpanPair) concordat.Span { return w.Span })...)
	here = append(here, faint(after))
	w := (textWidth - gutter) / 2
	d.room(3 * sizeText * leading)
	table := d.at.child("Table")
	heads, sides := table.child("TR"), table.child("TR")
	d.columns(sizeSmall, []float64{margin, margin + w + gutter}, [][][]piece{lines(d.pieces([]run{faint(d.in.Say("Checked text"))}), w),
		lines(d.pieces([]run{faint(d.in.Say("Source"))}), w)}, []*element{heads.child("TH"), heads.child("TH")})
	y, page := d.y, d.f.PageNo()
	d.columns(sizeText, []float64{margin, margin + w + gutter}, [][][]piece{lines(d.pieces(wording(here)), w),
		lines(d.pieces(d.there(s, p, words)), w)}, []*element{sides.child("TD"), sides.child("TD")})
	if d.f.PageNo() == page {
		d.rule(0.3, margin+w+gutter/2, y, margin+w+gutter/2, d.y)
	}
	d.y += 3
	if p.Text != "" && p.Words == nil && p.Kind != concordat.KindVerbatim {
		d.note("The two were not compared word by word.")
	}
}

// wording marks runs as quoted text.
func wording(runs []run) []run {
	for i := range runs {
		runs[i].wording = true
	}
	return runs
}

// there writes the source's side.
func (d *doc) there(s concordat.Source, p concordat.Passage, words []concordat.SpanPair) []run {
	shared := report.SharedWords(d.full, p)
	switch {
	case p.Text != "":
		out := append([]run{faint(report.LastOf(p.Before, len(p.Before) >= p.SourceSpan.Start))},
			differences(p.Text, p.SourceSpan.Start, words, func(w concordat.SpanPair) concordat.Span { return w.Source })...)
		return wording(append(out, faint(report.FirstOf(p.After, false))))
	case shared != "":
		return []run{faint(d.in.Say("Only the words that both sides share are shown:") + "\n"), wording([]run{body(shared)})[0]}
	}
	ask := d.in.Say("The wording of this source may not be shown here. Ask {0} for it ({1}).")
	return []run{faint(strings.NewReplacer("{0}", d.r.SiteName(s.Site), "{1}", d.r.LibraryWords(s.Site, s.Library)).Replace(ask))}
}

// usable returns the word pairs in order within both sides of p, or nil if words were not compared or one side is not displayed.
func usable(p concordat.Passage, size int) []concordat.SpanPair {
	if p.Text == "" || len(p.Text) != p.SourceSpan.Len() {
		return nil
	}
	var out []concordat.SpanPair
	a, b := p.Span.Start, p.SourceSpan.Start
	for _, w := range p.Words {
		if w.Span.Start < a || w.Source.Start < b || w.Span.End < w.Span.Start || w.Source.End < w.Source.Start ||
			w.Span.End > min(p.Span.End, size) || w.Source.End > p.SourceSpan.End {
			continue
		}
		out = append(out, w)
		a, b = w.Span.End, w.Source.End
	}
	return out
}

// differences returns a side with the text between its equal words highlighted. from is the offset of the side in the whole text.
func differences(side string, from int, words []concordat.SpanPair, of func(concordat.SpanPair) concordat.Span) []run {
	if len(words) == 0 {
		return []run{body(side)}
	}
	var out []run
	at := 0
	for _, w := range words {
		s := of(w)
		start, end := report.RuneStart(side, s.Start-from), report.RuneStart(side, s.End-from)
		out = append(out, differs(side[at:max(at, start)])...)
		out = append(out, body(side[max(at, start):max(at, end)]))
		at = max(at, end)
	}
	return append(out, differs(side[at:])...)
}

// differs highlights the words of s, but not the surrounding space and punctuation.
func differs(s string) []run {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }
	a := strings.IndexFunc(s, word)
	if a < 0 {
		return []run{body(s)}
	}
	b := strings.LastIndexFunc(s, word)
	_, n := utf8.DecodeRuneInString(s[b:])
	return []run{body(s[:a]), {s[a : b+n], textStyle{size: sizeText, apart: true}}, body(s[b+n:])}
}
