package html

import (
	"strings"

	"concordat/report"
)

// leads shows what seems to say the same in other words, apart from the passages: sentence beside sentence. What somebody set aside
// is folded.
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
	}
	if counted := d.r.CountedLeads(); counted != "" {
		d.raw(`<p class="counted">`)
		d.text(counted)
		d.raw("</p>")
	}
	for i, l := range d.r.Leads {
		d.lead(i, l)
	}
	d.raw("</section>\n")
}

func (d *doc) lead(i int, l report.RuledLead) {
	d.raw(`<article class="lead `, string(l.State), `" id="`, l.Number, `" aria-labelledby="h`, l.Number, `"><header><h3 id="h`, l.Number,
		`"><span class="key k-lead">`, l.Number, `&nbsp;`, leadSign, `</span> <span class="src" dir="auto">`)
	d.text(name(l.Title, l.Source))
	d.raw(`</span></h3><p><span class="place">`)
	d.text(d.r.Place(l.Source))
	d.raw("</span> ")
	d.text(d.r.LeadWords(l.Lead))
	d.raw("</p></header>")
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
	d.caption("Pairs of a lead", "Checked text", "Source text")
	for _, p := range l.Pairs {
		d.raw(`<tr><td dir="auto" class="k-lead">`)
		d.text(strings.TrimSpace(p.Span.In(d.full)))
		d.raw(`</td><td dir="auto">`)
		d.text(strings.TrimSpace(p.Text))
		d.raw("</td></tr>")
	}
	d.raw("</tbody></table></div>")
	if l.State == report.LeadSetAside {
		d.raw("</details>")
	}
	if d.links.LeadTools != nil {
		d.raw(string(d.links.LeadTools(i)))
	}
	d.raw("</article>\n")
}

// leadSign stands beside the number of a lead.
const leadSign = "↝"
