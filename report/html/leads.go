package html

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	_ "embed"

	"concordat"
	"concordat/report"
)

// LinesScript draws lines between corresponding sentences of a lead. Without the script, corresponding sentences have equal numbers.
//
//go:embed lines.js
var LinesScript string

// leadSign appears next to the number of a lead.
const leadSign = "↝"

// leads writes text that seems to restate a source in other words, separately from the passages: side by side, with lines between
// corresponding sentences. Rejected leads are collapsed.
func (d *doc) leads() {
	if d.r.Leads == nil {
		return
	}
	d.raw(`<section id="leads" aria-labelledby="leads-h">`)
	d.heading("leads-h", "Leads")
	if len(d.r.Leads) == 0 {
		d.note(report.NoLeads)
	} else {
		d.note(report.LeadMeaning)
		d.raw(`<details class="rest"><summary>`)
		d.say("How often leads are wrong")
		d.raw(`</summary><p class="note">`)
		d.text(d.r.LeadsMeasured())
		d.raw("</p>")
		if means := report.LikelihoodMeaning(d.r); means != "" {
			d.raw(`<p class="note">`)
			d.text(means)
			d.raw("</p>")
		}
		d.raw("</details>")
		d.note("Sentences that belong together have the same number.")
	}
	if sought := report.LeadsSought(d.r); sought != "" {
		d.raw(`<p class="note">`)
		d.text(sought)
		d.raw("</p>")
	}
	if counted := d.r.CountedLeads(); counted != "" {
		d.raw(`<p class="lead-share">`)
		d.text(counted)
		d.raw("</p>")
	}
	if shown := d.r.LeadsShown(); shown != "" {
		d.raw(`<p class="note">`)
		d.text(shown)
		d.raw("</p>")
	}
	d.raw(string(d.links.LeadFilter))
	for i, l := range d.r.Leads {
		if d.r.ShowsLead(l) && d.links.showsLead(i) {
			d.lead(i, l)
		}
	}
	d.partnerLeads()
	d.raw("</section>\n")
}

// partnerLeads lists partner documents that might say the same, with only the sentences of the checked text.
func (d *doc) partnerLeads() {
	if len(d.r.PartnerLeads) == 0 {
		return
	}
	d.note(report.PartnerLeadMeaning)
	for i, l := range d.r.PartnerLeads {
		d.raw(`<article class="lead possible" id="`, l.Number, `" aria-labelledby="h`, l.Number, `"><header><h3 id="h`, l.Number,
			`"><span class="key">`, l.Number, `</span> <span class="src" dir="auto">`)
		d.text(name(l.Title, l.Source))
		d.raw(`</span></h3><p>`)
		d.text(d.r.PartnerLeadWords(l))
		d.raw(` <span class="place">`)
		d.text(report.SourcePlace(d.r, l.Source))
		d.raw("</span></p></header>")
		for _, s := range l.Spans {
			d.raw(`<blockquote dir="auto">`)
			d.text(strings.TrimSpace(s.In(d.r.Submission.Text)))
			d.raw("</blockquote>")
		}
		if d.links.PartnerLeadTools != nil {
			d.raw(string(d.links.PartnerLeadTools(i)))
		}
		d.raw("</article>\n")
	}
}

func (d *doc) lead(i int, l report.RuledLead) {
	d.raw(`<article class="lead `, string(l.State), `" id="`, l.Number, `" aria-labelledby="h`, l.Number, `"><header><h3 id="h`, l.Number,
		`"><span class="key k-lead">`, l.Number, `&nbsp;`, leadSign, `</span> <span class="src" dir="auto">`)
	d.text(name(l.Title, l.Source))
	d.raw(`</span></h3><p>`)
	d.text(capital(d.r.LeadWords(l.Lead)))
	d.raw(` <span class="place">`)
	d.text(report.SourcePlace(d.r, l.Source))
	d.raw("</span></p>")
	if !d.links.NoText {
		d.raw(`<a class="back"`)
		d.attr("href", d.links.place(l.Span.Start)+"#t"+l.Number)
		d.raw(">")
		d.say("in the text")
		d.raw("</a>")
	}
	d.raw("</header>")
	if likely := d.r.LikelihoodWords(l.Lead); likely != "" {
		d.raw(`<p class="likelihood note">`)
		d.text(likely)
		d.raw("</p>")
	}
	if own := d.in.OwnWords(l.Own); own != "" {
		d.raw(`<p class="proposal note" dir="auto">`)
		d.text(own)
		d.raw("</p>")
	}
	if ruling := d.r.RulingWords(l); ruling != "" {
		d.raw(`<p class="ruling" dir="auto">`)
		d.text(ruling)
		d.raw("</p>")
	}
	if l.State == report.LeadSetAside {
		d.raw("<details><summary>")
		d.say("Show it")
		d.raw("</summary>")
	}
	d.joined(l.Lead)
	if l.State == report.LeadSetAside {
		d.raw("</details>")
	}
	if d.links.LeadTools != nil {
		d.raw(string(d.links.LeadTools(i)))
	}
	d.raw("</article>\n")
}

// numberedSpan is a sentence of a lead with its pair numbers.
type numberedSpan struct {
	concordat.Span
	numbers []string
}

// numberedSpans returns the sentences of one side in text order, without duplicates or overlaps.
func numberedSpans(pairs []report.LeadPair, of func(report.LeadPair) concordat.Span) []numberedSpan {
	var all []numberedSpan
	for i, p := range pairs {
		all = append(all, numberedSpan{of(p), []string{strconv.Itoa(i + 1)}})
	}
	slices.SortStableFunc(all, func(a, b numberedSpan) int { return cmp.Compare(a.Start, b.Start) })
	var out []numberedSpan
	for _, s := range all {
		if n := len(out); n > 0 && s.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			out[n-1].numbers = append(out[n-1].numbers, s.numbers...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// joined writes both passages of a lead side by side, with sentences numbered by pair.
func (d *doc) joined(l report.Lead) {
	d.raw(`<div class="two joined"><div class="side here"><h4>`)
	d.say("Checked text")
	d.raw(`</h4><p dir="auto"`)
	if d.lang != "" {
		d.attr("lang", d.lang)
	}
	d.raw(">")
	d.numberedSide(d.full, l.Span, numberedSpans(l.Pairs, func(p report.LeadPair) concordat.Span { return p.Span }))
	d.raw(`</p></div><div class="side there"><h4>`)
	d.say("Source")
	d.raw("</h4>")
	if len(l.Text) != l.SourceSpan.Len() {
		d.note("The wording of the source is not shown.")
		d.raw("</div></div>")
		return
	}
	d.raw(`<p dir="auto"`)
	if in := language(l.Text); in != "" {
		d.attr("lang", in)
	}
	d.raw(">")
	d.numberedSide(l.Text, concordat.Span{End: len(l.Text)}, numberedSpans(l.Pairs, func(p report.LeadPair) concordat.Span {
		return concordat.Span{Start: p.SourceSpan.Start - l.SourceSpan.Start, End: p.SourceSpan.End - l.SourceSpan.Start}
	}))
	d.raw("</p></div></div>")
}

// numberedSide writes a span of a text with its sentences marked. Marks outside the span are omitted.
func (d *doc) numberedSide(text string, s concordat.Span, sentences []numberedSpan) {
	at := s.Start
	for _, x := range sentences {
		x.Start, x.End = report.RuneStart(text, max(x.Start, at)), report.RuneStart(text, min(x.End, s.End))
		if x.Start >= x.End {
			continue
		}
		d.text(text[at:x.Start])
		d.raw(`<mark class="ld" data-pairs="`, strings.Join(x.numbers, " "), `"><span class="no">`, strings.Join(x.numbers, "&nbsp;"), `</span>`)
		d.text(strings.TrimRight(x.In(text), " \n"))
		d.raw("</mark>")
		at = x.Start + len(strings.TrimRight(x.In(text), " \n"))
	}
	d.text(text[at:s.End])
}

// leadMark is a stretch of text in leads that the report's filter shows and nobody has rejected.
type leadMark struct {
	concordat.Span
	begins []int // indices of the leads that start here
}

// leadMarks returns the sentences of the text that belong to leads, in text order without overlaps.
func leadMarks(r *report.Report) []leadMark {
	marked := func(l report.RuledLead) bool { return l.State != report.LeadSetAside && r.ShowsLead(l) }
	var pairs []report.LeadPair
	for _, l := range r.Leads {
		if marked(l) {
			pairs = append(pairs, l.Pairs...)
		}
	}
	var out []leadMark
	for _, s := range numberedSpans(pairs, func(p report.LeadPair) concordat.Span { return p.Span }) {
		m := leadMark{Span: s.Span}
		for i, l := range r.Leads {
			if marked(l) && s.Start <= l.Span.Start && l.Span.Start < s.End {
				m.begins = append(m.begins, i)
			}
		}
		out = append(out, m)
	}
	return out
}
