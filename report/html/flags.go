package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"concordat"
	"concordat/report"
)

// flagSign marks where a flag begins in the text.
const flagSign = "⚑"

// shownPlaces is the number of places per kind of flag listed before the rest is collapsed.
const shownPlaces = 8

// flags lists the flags by kind: first the kinds that can conceal something, then collapsed notes about the file.
func (d *doc) flags() {
	kinds := report.FlagKinds(d.r)
	if len(kinds) == 0 {
		return
	}
	notes := slices.IndexFunc(kinds, func(k report.FlagKind) bool { return !k.Disguise })
	if notes < 0 {
		notes = len(kinds)
	}
	class := "flags"
	if notes > 0 {
		class += " raised"
	}
	if d.apart {
		class += " compact"
	}
	d.raw(`<div class="`, class, `" id="flags" role="note"><h3>`)
	d.say("Flags")
	d.raw("</h3>")
	flagRows(d, kinds[:notes])
	if rest := kinds[notes:]; len(rest) > 0 {
		d.raw("<details><summary>")
		d.text(d.in.Plural(len(rest), "note about the file", "notes about the file"))
		d.raw("</summary>")
		flagRows(d, rest)
		d.raw("</details>")
	}
	d.raw("</div>")
}

func flagRows(d *doc, kinds []report.FlagKind) {
	if len(kinds) == 0 {
		return
	}
	d.raw("<ul>")
	for _, k := range kinds {
		d.raw("<li><details")
		d.attr("id", "flag-"+k.Code)
		if !d.apart {
			d.raw(" open")
		}
		d.raw("><summary>")
		d.text(d.in.FlagTitle(k))
		d.raw("</summary><p>")
		d.text(d.in.FlagMeans(k))
		if advice := d.in.FlagAdvice(k); advice != "" {
			d.raw(` <span class="advice">`)
			d.text(advice)
			d.raw("</span>")
		}
		d.raw("</p>")
		flagPlaces(d, k)
		d.raw("</details></li>")
	}
	d.raw("</ul>")
}

// flagPlaces links to the places of a kind of flag in the text.
func flagPlaces(d *doc, k report.FlagKind) {
	var links []int // flags with a place
	for _, i := range k.Flags {
		if d.flagSpan(d.r.Flags[i]).Len() > 0 {
			links = append(links, i)
		}
	}
	if len(links) == 0 {
		return
	}
	write := func(some []int) {
		for n, i := range some {
			f := d.r.Flags[i]
			s := d.flagSpan(f)
			if n > 0 {
				d.raw(" · ")
			}
			d.raw("<a")
			to := d.links.place(s.Start) + fmt.Sprintf("#f%d", i+1)
			if d.links.Flag != nil {
				to = cmp.Or(d.links.Flag(i), to)
			}
			d.attr("href", to)
			if f.Detail != "" && k.Disguise {
				d.attr("title", d.in.FlagDetail(f))
			}
			d.raw("><bdi>")
			d.text(shorten(s.In(d.full), 60))
			d.raw("</bdi></a>")
		}
	}
	d.raw(`<p class="at"><span class="note">`)
	d.say("in the text:")
	d.raw("</span> ")
	write(links[:min(len(links), shownPlaces)])
	d.raw("</p>")
	if rest := links[min(len(links), shownPlaces):]; len(rest) > 0 {
		d.raw(`<details class="at"><summary>`)
		d.say("%d more", len(rest))
		d.raw("</summary><p>")
		write(rest)
		d.raw("</p></details>")
	}
}

// flagName returns the name of a kind of flag.
func flagName(d *doc, code string) string {
	return strings.ReplaceAll(d.in.FlagName(concordat.Flag{Code: code}), "_", " ")
}

// flagSpan returns where a flag lies in the text, or an empty span if nowhere.
func (d *doc) flagSpan(f concordat.Flag) concordat.Span {
	if f.Span == nil || f.Span.Start < 0 || f.Span.Start >= f.Span.End || f.Span.End > len(d.full) {
		return concordat.Span{}
	}
	return *f.Span
}

// flagMark is a stretch of text marked by flags.
type flagMark struct {
	concordat.Span
	code   string // code of the flag displayed to the reader
	begins []int  // indices of the flags that start here
	sign   bool   // a flag sign precedes the mark
}

// signGap is the distance in bytes up to which two places of one kind of flag share a sign.
const signGap = 200

// flagMarks returns the places of flags in text order, without overlaps.
func flagMarks(d *doc) []flagMark {
	type place struct {
		at    concordat.Span
		index int
	}
	var places []place
	var cuts []int
	for i, f := range d.r.Flags {
		if s := d.flagSpan(f); s.Len() > 0 {
			places, cuts = append(places, place{s, i}), append(cuts, s.Start, s.End)
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.at.Start, b.at.Start) })
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []flagMark
	var open []place
	last := map[string]int{} // end of each code's last mark
	for n := 0; n+1 < len(cuts); n++ {
		m := flagMark{Span: concordat.Span{Start: cuts[n], End: cuts[n+1]}}
		open = slices.DeleteFunc(open, func(p place) bool { return p.at.End <= m.Start })
		for ; len(places) > 0 && places[0].at.Start == m.Start; places = places[1:] {
			open, m.begins = append(open, places[0]), append(m.begins, places[0].index)
		}
		if len(open) == 0 {
			continue
		}
		for _, p := range open {
			if c := d.r.Flags[p.index].Code; m.code == "" || report.IsDisguise(c) && !report.IsDisguise(m.code) {
				m.code = c
			}
		}
		end, before := last[m.code]
		m.sign = report.IsDisguise(m.code) && (!before || m.Start-end > signGap)
		last[m.code] = m.End
		out = append(out, m)
	}
	return out
}

// beginFlag opens a flag's mark if s is part of one, and returns the number of elements it opened. A flag that covers only white space is
// placed before s.
func (m *marker) beginFlag(s concordat.Span) int {
	for ; m.flag < len(m.flags) && m.flags[m.flag].End <= s.Start; m.flag++ {
		if m.begun <= m.flag {
			for _, i := range m.flags[m.flag].begins {
				m.raw(fmt.Sprintf(`<span id="f%d"></span>`, i+1))
			}
		}
	}
	if m.flag == len(m.flags) || m.flags[m.flag].Start > s.Start {
		return 0
	}
	f := m.flags[m.flag]
	name := flagName(m.doc, f.code)
	n := 0
	open := func(id int) {
		m.raw("<span")
		if id > 0 {
			m.attr("id", fmt.Sprintf("f%d", id))
		}
		if n == 0 {
			class := "flag"
			if report.IsDisguise(f.code) {
				class += " raised"
			}
			m.attr("class", class)
			m.attr("title", name)
		}
		m.raw(">")
		n++
	}
	if m.begun > m.flag || len(f.begins) == 0 {
		open(0)
		return n
	}
	m.begun = m.flag + 1
	for _, i := range f.begins {
		open(i + 1)
	}
	if f.sign {
		m.raw(`<a class="no fs"`)
		m.attr("href", "#flag-"+f.code)
		m.attr("aria-label", m.in.Say("Flag: %s", name))
		m.raw(">", flagSign, "</a>")
	}
	return n
}

// flagStrip marks possible concealment in the map, as one path along its top.
func flagStrip(d *doc) {
	var b strings.Builder
	last := -1.0
	for _, m := range d.marksOfFlags {
		x, w := d.axis.x(m.Start), max(d.axis.x(m.End)-d.axis.x(m.Start), 2)
		if !report.IsDisguise(m.code) || x+w < last+0.5 {
			continue
		}
		fmt.Fprintf(&b, "M%.1f 0h%.1fv4h-%.1fz", x, w, w)
		last = x + w
	}
	if b.Len() > 0 {
		d.raw(`<path class="f-flag" d="`, b.String(), `"><title>`)
		d.say("Flags")
		d.raw("</title></path>")
	}
}
