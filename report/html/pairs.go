package html

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
	"concordat/report"
)

// passages shows every passage next to each of its sources.
func (d *doc) passages() {
	d.raw(`<section id="passages" aria-labelledby="passages-h">`)
	d.heading("passages-h", "Passages and their sources")
	if len(d.r.Evidence) == 0 {
		d.note(d.r.NoPassages())
		d.raw("</section>")
		return
	}
	d.raw(`<p class="note">`)
	before, after, _ := strings.Cut(d.in.Say("The checked text comes first, then the source. Words missing on the other side are {mark}; grey text is context."), "{mark}")
	d.text(before)
	d.raw("<u>")
	d.say("underlined and shaded")
	d.raw("</u>")
	d.text(after)
	d.raw("</p>")
	for i, e := range d.r.Evidence {
		if !report.Folded(e.Excluded) {
			d.evidence(i)
		}
	}
	if rest := report.UncountedWords(d.r); rest != "" {
		folding(d, rest, func() {
			for i, e := range d.r.Evidence {
				if report.Folded(e.Excluded) {
					d.evidence(i)
				}
			}
		})
	}
	d.raw("</section>\n")
}

func (d *doc) evidence(i int) {
	e := d.r.Evidence[i]
	c := class(e.Kind, e.Excluded)
	n := d.r.Number(i)
	d.raw(fmt.Sprintf(`<article class="ev k-%s" id="p%s" data-e="%s" aria-labelledby="h%s"><header><h3 id="h%s"><span class="key k-%s">%s&nbsp;%s</span> `,
		c, n, n, n, n, c, n, sign(c)))
	d.text(capital(d.in.EvidenceKind(e)))
	d.raw(`</h3><p>`)
	d.text(d.about(e))
	d.raw(`</p><a class="back"`)
	d.attr("href", d.mark(i))
	d.raw(">")
	d.say("in the text")
	d.raw("</a></header>")
	if d.links.PassageTools != nil {
		d.raw(string(d.links.PassageTools(i)))
	}
	k := 0
	for ; k < len(e.Sources) && k < maxSources && d.left > 0; k++ {
		d.pair(e, k)
	}
	d.further(e.Sources[k:])
	d.raw("</article>\n")
}

// maxSources is the number of sources displayed next to a passage; further ones are only named.
const maxSources = 20

// further lists the names of sources that are not displayed next to their passage.
func (d *doc) further(sources []concordat.Source) {
	if len(sources) == 0 {
		return
	}
	d.raw(`<p class="further">`)
	d.say("Also in %s; the wording is in the JSON form of this report: ", d.in.Plural(len(sources), "further source", "further sources"))
	for i, s := range sources {
		if i > 0 {
			d.raw(", ")
		}
		d.raw("<a")
		d.attr("href", d.links.source(d.rank[s.Ref]))
		d.raw("><bdi>")
		d.text(shorten(name(s.Title, s.Ref), 40))
		d.raw("</bdi></a>")
	}
	d.raw(".</p>")
}

// about describes a passage's place, size and status.
func (d *doc) about(e concordat.Evidence) string {
	at := d.count.Points(e.Span)
	s := d.in.Say("characters %s to %s", report.Thousands(d.in, at.Start), report.Thousands(d.in, at.End))
	if e.Section >= 0 && e.Section < len(d.r.Sections) {
		s += d.in.Say(", section “%s”", d.r.Sections[e.Section].Name)
	}
	s += d.in.Say(", %s", report.GroupName(d.in, e.Group))
	s += d.in.Say(", %s", d.in.Plural(len(e.Sources), "source", "sources"))
	if e.Excluded != "" {
		return s + d.in.Say(". Not counted: %s.", d.r.WhyNot(e))
	}
	return s + d.in.Say(", %s.", d.in.Plural(e.Characters, "letter counts", "letters count"))
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// pair writes source k of e. The best source is expanded; all others are collapsed.
func (d *doc) pair(e concordat.Evidence, k int) {
	s := e.Sources[k]
	d.raw(fmt.Sprintf(`<details class="pair" data-s="%d"`, d.rank[s.Ref]))
	if k == 0 {
		d.raw(" open")
	}
	d.raw(`><summary>`)
	d.chip(s.Ref)
	d.raw(` <span class="src" dir="auto">`)
	d.text(name(s.Title, s.Ref))
	d.raw(`</span> <span class="how">`)
	d.text(report.SourceKind(d.in, s))
	if s.Excluded != "" && e.Excluded == "" {
		d.say("; not counted: %s", d.in.Exclusion(s.Excluded))
	}
	if s.Date != "" {
		d.text(" · " + string(s.Date))
	}
	d.raw(`</span>`)
	if s.Oldest {
		d.raw(` <strong class="oldest">`)
		d.say("oldest known")
		d.raw(`</strong>`)
	}
	d.raw(`</summary><p class="place"><bdi>`)
	d.text(d.r.Place(s.Ref))
	d.raw("</bdi>")
	d.say(", ")
	if s.Points.Len() > 0 {
		d.text(d.in.Say("characters %s to %s", report.Thousands(d.in, s.Points.Start), report.Thousands(d.in, s.Points.End)))
	} else if s.Span.Len() > 0 {
		d.text(d.in.Say("bytes %s to %s", report.Thousands(d.in, s.Span.Start), report.Thousands(d.in, s.Span.End)))
	} else {
		d.say("at a place that is not shown")
	}
	if s.Here != e.Span {
		at := d.count.Points(s.Here)
		d.text(d.in.Say("; matches characters %s to %s of the checked text", report.Thousands(d.in, at.Start), report.Thousands(d.in, at.End)))
	}
	if n := s.Documents(); n > 1 {
		d.text(d.in.Say("; its most common sentence appears in %s documents", report.Thousands(d.in, n)))
	}
	if words := d.r.SourceWords(s.Ref); words != "" {
		d.text("; " + words)
	}
	d.raw("</p>")
	if d.links.Source != nil {
		d.raw(`<p class="place"><a`)
		d.attr("href", d.links.Source(d.rank[s.Ref]))
		d.raw(">")
		d.say("Side by side with this source")
		d.raw("</a></p>")
	}
	d.age(s.Age)
	for _, p := range s.Parts {
		d.part(s, p)
	}
	d.raw("</details>")
}

// age describes what is known about the date of a source.
func (d *doc) age(a concordat.Age) {
	d.raw(`<p class="place age">`)
	d.text(d.in.DateWords(a))
	d.raw("</p>")
}

// part writes one piece of the submission next to its counterpart in the source.
func (d *doc) part(s concordat.Source, p concordat.Passage) {
	if d.left -= p.Span.Len() + len(p.Text) + len(p.Before) + len(p.After) + 2*report.ContextBytes; d.left < 0 {
		d.note("This page shows no more wording. The JSON form of the report has the rest.")
		return
	}
	words := usable(p, len(d.full))
	if len(s.Parts) > 1 {
		c := class(p.Kind, s.Excluded)
		d.raw(`<p class="piece"><span class="key k-`, c, `">`, sign(c), `</span>`)
		d.text(d.in.KindAndCloseness(p.Kind, p.Similarity))
		d.raw("</p>")
	}
	d.raw(`<div class="two"><div class="side here"><h4>`)
	d.say("Checked text")
	d.raw(`</h4><p dir="auto"`)
	if d.lang != "" {
		d.attr("lang", d.lang)
	}
	d.raw(">")
	before, after := report.Around(d.full, p.Span)
	d.context(before)
	d.differences(p.Span.In(d.full), p.Span.Start, words, func(w concordat.SpanPair) concordat.Span { return w.Span })
	d.context(after)
	d.raw(`</p></div><div class="side there"><h4>`)
	d.say("Source")
	d.raw("</h4>")
	if shared := report.SharedWords(d.full, p); p.Text == "" && shared != "" {
		d.raw(`<p class="note">`)
		d.say("Only the words that both sides share are shown:")
		d.raw(`</p><p dir="auto">`)
		d.text(shared)
		d.raw("</p>")
	} else if p.Text == "" {
		d.raw(`<p class="note">`)
		for i, part := range strings.Split(d.in.Say("The wording of this source may not be shown here. Ask {0} for it ({1})."), "{") {
			if number, rest, ok := strings.Cut(part, "}"); ok && i > 0 {
				d.tag("bdi", map[string]string{"0": d.r.SiteName(s.Site), "1": d.r.LibraryWords(s.Site, s.Library)}[number])
				part = rest
			}
			d.text(part)
		}
		d.raw("</p>")
	} else {
		d.raw(`<p dir="auto"`)
		if l := language(p.Text); l != "" {
			d.attr("lang", l)
		}
		d.raw(">")
		d.context(report.LastOf(p.Before, len(p.Before) >= p.SourceSpan.Start))
		d.differences(p.Text, p.SourceSpan.Start, words, func(w concordat.SpanPair) concordat.Span { return w.Source })
		d.context(report.FirstOf(p.After, false))
		d.raw("</p>")
	}
	d.raw("</div></div>")
	if p.Text != "" && p.Words == nil && p.Kind != concordat.KindVerbatim {
		d.note("The two were not compared word by word.")
	}
}

func (d *doc) context(s string) {
	if s == "" {
		return
	}
	d.raw("<i>")
	d.text(s)
	d.raw("</i>")
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

// differences writes a side, marking the text between matching words. from is the offset of the side in the whole text.
func (d *doc) differences(side string, from int, words []concordat.SpanPair, of func(concordat.SpanPair) concordat.Span) {
	if len(words) == 0 {
		d.text(side)
		return
	}
	at := 0
	for _, w := range words {
		s := of(w)
		start, end := report.RuneStart(side, s.Start-from), report.RuneStart(side, s.End-from)
		d.differs(side[at:max(at, start)])
		d.text(side[max(at, start):max(at, end)])
		at = max(at, end)
	}
	d.differs(side[at:])
}

// differs marks the words of s but not the surrounding space and punctuation.
func (d *doc) differs(s string) {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }
	a := strings.IndexFunc(s, word)
	if a < 0 {
		d.text(s)
		return
	}
	b := strings.LastIndexFunc(s, word)
	_, n := utf8.DecodeRuneInString(s[b:])
	d.text(s[:a])
	d.raw("<u>")
	d.text(s[a : b+n])
	d.raw("</u>")
	d.text(s[b+n:])
}
