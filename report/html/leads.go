package html

import (
	"strings"

	"concordat/report"
)

// leads shows what seems to say the same in other words, apart from the passages: sentence beside sentence.
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
	for i, l := range d.r.Leads {
		d.raw(`<div class="lead" id="lead-`)
		d.num(i + 1)
		d.raw(`"><p><strong dir="auto">`)
		d.text(name(l.Title, l.Source))
		d.raw(`</strong> <span class="place">`)
		d.text(d.r.Place(l.Source))
		d.raw("</span><br>")
		d.text(d.r.LeadWords(l))
		d.raw("</p>")
		d.caption("Pairs of a lead", "Checked text", "Source text")
		for _, p := range l.Pairs {
			d.raw(`<tr><td dir="auto" class="k-lead">`)
			d.text(strings.TrimSpace(p.Span.In(d.full)))
			d.raw(`</td><td dir="auto">`)
			d.text(strings.TrimSpace(p.Text))
			d.raw("</td></tr>")
		}
		d.raw("</tbody></table></div></div>\n")
	}
	d.raw("</section>\n")
}
