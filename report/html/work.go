package html

import (
	"concordat"
	"concordat/report"
)

// writeWork describes a source's work: its details, other locations, and whether it might be the author's own.
func writeWork(d *doc, s report.RankedSource) {
	if s.Work != nil {
		d.raw(`<p class="place work" dir="auto">`)
		writeCreators(d, s.Work.Creators)
		if s.Work.Date != "" {
			d.text(" (" + string(s.Work.Date) + ")")
		}
		for _, id := range s.Work.IDs {
			d.raw(" ")
			outward(d, id.URL(), id.Scheme+":"+id.Value)
		}
		if page := s.Work.PageURL(); page != "" {
			d.raw(" ")
			outward(d, page, d.in.PageWords(s.Work.Repository))
		}
		if s.Work.License != "" {
			d.text(" " + d.in.Say("Licence: "))
			outward(d, s.Work.LicenseURL(), s.Work.License)
		}
		d.raw("</p>")
	}
	if len(s.Also) > 0 {
		d.raw(`<p class="place also" dir="auto">`)
		d.say("The same work, also in ")
		for i, c := range s.Also {
			if i > 0 {
				d.text(d.in.Say("; "))
			}
			d.raw("<bdi>")
			outward(d, c.Page, d.r.Place(c.Ref))
			d.raw("</bdi>")
		}
		d.raw("</p>")
	}
	if words := d.in.OwnWords(s.Own); words != "" {
		d.raw(`<p class="shares proposal">`)
		d.text(words)
		d.raw("</p>")
	}
}

// writeCreators lists authors with links to their ORCID records and to the records of their organisations.
func writeCreators(d *doc, all []concordat.Creator) {
	for i, c := range all {
		if i > 0 {
			d.text(d.in.Say("; "))
		}
		outward(d, c.URL(), c.Name)
		if at := c.OrganisationURL(); at != "" {
			d.raw(" (")
			outward(d, at, "ROR")
			d.raw(")")
		}
	}
}

// outward writes text as an external link, or as plain text if it has no address.
func outward(d *doc, address, text string) {
	if address == "" {
		d.text(text)
		return
	}
	d.raw("<a")
	d.attr("href", address)
	d.raw(` rel="noreferrer">`)
	d.text(text)
	d.raw("</a>")
}
