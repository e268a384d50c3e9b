package html

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"concordat"
)

// document writes the submission as running text with its passages marked.
func (d *doc) document() {
	d.raw("<h2>")
	d.say("The text")
	d.raw("</h2>")
	overview{d.prose, d.r, false}.legend()
	if strings.TrimSpace(d.full) == "" {
		d.note("The document contains no text.")
		return
	}
	uncounted(d)
	d.raw(`<div class="body"`)
	if d.lang != "" {
		d.attr("lang", d.lang)
	}
	d.raw(">")
	m := marker{doc: d, cuts: d.cuts(), flags: d.marksOfFlags, leads: d.leadMarks}
	for _, s := range paragraphs(d.full) {
		m.paragraph(s)
	}
	d.raw("</div>")
}

// paragraphs returns the text between blank lines, without surrounding line breaks.
func paragraphs(text string) []concordat.Span {
	var out []concordat.Span
	start := -1
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		next := at + end + 1
		if end < 0 {
			end, next = len(text)-at, len(text)
		}
		switch blank := strings.TrimSpace(text[at:at+end]) == ""; {
		case !blank && start < 0:
			out, start = append(out, concordat.Span{Start: at, End: at + end}), at
		case !blank:
			out[len(out)-1].End = at + end
		default:
			start = -1
		}
		at = next
	}
	return out
}

// cuts returns every byte offset where the style of the text can change, in order.
func (d *doc) cuts() []int {
	var out []int
	add := func(s concordat.Span) { out = append(out, s.Start, s.End) }
	for _, e := range d.r.Evidence {
		add(e.Span)
	}
	for _, s := range d.r.Covered {
		add(s.Span)
	}
	for _, s := range d.r.Skipped {
		add(s.Span)
	}
	for _, m := range d.marksOfFlags {
		add(m.Span)
	}
	for _, l := range d.leadMarks {
		add(l.Span)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// marker makes one pass through the text. Each index points to the first element of its kind that ends after the current position.
type marker struct {
	*doc
	cuts                         []int
	cut, evidence, covered, skip int
	numbered                     int // passages numbered so far
	flags                        []flagMark
	flag, begun                  int // begun counts the flags with places already written
	leads                        []leadMark
	lead                         int
}

func (m *marker) paragraph(p concordat.Span) {
	m.raw(`<p dir="auto">`)
	for at := p.Start; at < p.End; {
		for m.cut < len(m.cuts) && m.cuts[m.cut] <= at {
			m.cut++
		}
		end := p.End
		if m.cut < len(m.cuts) {
			end = min(end, m.cuts[m.cut])
		}
		at = m.stretch(concordat.Span{Start: at, End: end}, p)
	}
	m.raw("</p>\n")
}

// stretch writes s, or an evidence's whole part of paragraph p if s begins one, and returns where it stopped.
func (m *marker) stretch(s, p concordat.Span) int {
	ev := m.r.Evidence
	for m.evidence < len(ev) && ev[m.evidence].Span.End <= s.Start {
		m.evidence++
	}
	if m.evidence == len(ev) || ev[m.evidence].Span.Start > s.Start {
		m.plain(s)
		return s.End
	}
	e := ev[m.evidence]
	end := min(e.Span.End, p.End)
	c := class(e.Kind, e.Excluded)
	m.raw(`<mark class="m k-`, c, m.hues.coloured(m.evidence, m.links.Only), `" data-e="`, m.r.Number(m.evidence), `">`)
	m.number(m.evidence, c, m.numbered <= m.evidence)
	m.numbered = m.evidence + 1
	for at := s.Start; at < end; {
		for m.cut < len(m.cuts) && m.cuts[m.cut] <= at {
			m.cut++
		}
		next := end
		if m.cut < len(m.cuts) {
			next = min(next, m.cuts[m.cut])
		}
		x := concordat.Span{Start: at, End: next}
		switch k := m.kind(x); {
		case k == "" && e.Excluded == "": // in the passage, but not in the score
			m.raw(`<span class="gap">`)
			m.plain(x)
			m.raw("</span>")
		case k == "", class(k, "") == c:
			m.plain(x)
		default:
			m.raw(`<span class="m k-`, class(k, ""), `">`)
			m.plain(x)
			m.raw("</span>")
		}
		at = next
	}
	m.raw("</mark>")
	return end
}

// number writes the number and sign of evidence i as a link to its comparison: visible where the passage begins, and hidden from the
// keyboard and screen readers in later paragraphs.
func (d *doc) number(i int, class string, begins bool) {
	d.raw(`<a class="no"`)
	d.attr("href", d.links.passage(i))
	if begins {
		d.raw(` id="m`, d.r.Number(i), `"`)
		d.attr("aria-label", d.label(i))
	} else {
		d.raw(` tabindex="-1" aria-hidden="true"`)
	}
	if letter := d.hues.letter(i); letter != "" {
		d.raw(` data-l="`, letter, `"`)
	}
	d.raw(">", d.r.Number(i), "&nbsp;", sign(class), "</a>")
}

// kind returns the kind under which s counts, or "" if it does not count; s must not contain a cut.
func (m *marker) kind(s concordat.Span) concordat.Kind {
	c := m.r.Covered
	for m.covered < len(c) && c[m.covered].End <= s.Start {
		m.covered++
	}
	if m.covered < len(c) && c[m.covered].Start <= s.Start {
		return c[m.covered].Kind
	}
	return ""
}

// plain writes a stretch of uniform appearance, either skipped or not, and either flagged or not.
func (m *marker) plain(s concordat.Span) {
	sk := m.r.Skipped
	for m.skip < len(sk) && sk[m.skip].Span.End <= s.Start {
		m.skip++
	}
	skipped := m.skip < len(sk) && sk[m.skip].Span.Start <= s.Start && strings.TrimSpace(s.In(m.full)) != ""
	if skipped {
		m.raw(`<span class="skip"`)
		m.attr("title", m.in.Say("not compared: %s", m.in.Skip(sk[m.skip].Reason)))
		m.raw(">")
	}
	flags := m.beginFlag(s)
	in := m.beginLead(s)
	m.text(s.In(m.full))
	if in {
		m.raw("</span>")
	}
	for range flags {
		m.raw("</span>")
	}
	if skipped {
		m.raw("</span>")
	}
}

// beginLead opens a lead's mark if s is part of one, with links to the leads that start there, and reports whether it did.
func (m *marker) beginLead(s concordat.Span) bool {
	for m.lead < len(m.leads) && m.leads[m.lead].End <= s.Start {
		m.lead++
	}
	if m.lead == len(m.leads) || m.leads[m.lead].Start > s.Start {
		return false
	}
	m.raw(`<span class="ld">`)
	if m.leads[m.lead].Start == s.Start {
		for _, i := range m.leads[m.lead].begins {
			n, to := m.r.Leads[i].Number, ""
			if !m.links.showsLead(i) {
				to = m.links.LeadPlace(i)
			}
			m.raw(`<a class="no" id="t`, n, `"`)
			m.attr("href", cmp.Or(to, "#"+n))
			m.attr("aria-label", m.in.Say("Lead %s", n))
			m.raw(">", n, "&nbsp;", leadSign, "</a>")
		}
	}
	return true
}

// language guesses the language of a text from its script, only as precisely as fonts and line breaks require.
func language(text string) string {
	var han, kana, hangul, other int
	seen := 0
	for _, r := range text {
		if seen++; seen > 20000 {
			break
		}
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.IsLetter(r):
			other++
		}
	}
	switch cjk := han + kana + hangul; {
	case cjk*4 < other || cjk == 0:
		return ""
	case hangul*2 > cjk:
		return "ko"
	case kana*10 > cjk:
		return "ja"
	}
	return "zh"
}

// shorten returns s on one line, truncated to n code points.
func shorten(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
