package pdf

import (
	"fmt"
	"strings"

	"concordat"
	"concordat/report"
)

// link is a line of text that links to another website.
type link struct {
	address        string
	page, number   int // object number, once assigned
	x, y, width, h float64
	of             *element
}

// object returns a link annotation (ISO 32000-2, 12.5.6.5; ISO 14289-1, 7.18). key is its key in the parent tree.
func (l *link) object(key int) string {
	return fmt.Sprintf("<</Type /Annot /Subtype /Link /Rect [%.2f %.2f %.2f %.2f] /Border [0 0 0] /F 4 /StructParent %d /Contents %s "+
		"/A <</S /URI /URI %s>>>>", l.x, pageHeight-l.y-l.h, l.x+l.width, pageHeight-l.y, key, textString(l.address), ascii(l.address))
}

// ascii encodes an address, which contains only ASCII, as a string object (ISO 32000-2, 12.6.4.8).
func ascii(s string) string { return fmt.Sprintf("<%x>", s) }

// writeLink writes a separate line that links to an address and displays it, so that the line is useful on paper too.
func writeLink(d *doc, x, w float64, before, address string) {
	e := d.at.child("P").child("Link")
	h := sizeSmall * leading
	for _, line := range lines(d.pieces([]run{faint(before + address)}), w) {
		d.room(h)
		d.mark(e, func() { d.draw(line, x, d.y, h) })
		l := &link{address: address, page: d.f.PageNo(), x: x, y: d.y, h: h, of: e}
		for _, p := range line {
			l.width += p.width
		}
		e.links, d.links = append(e.links, l), append(d.links, l)
		d.y += h
	}
}

// writeWorks describes the works of the sources, and where else they are available.
func writeWorks(d *doc) {
	begun := false
	for _, s := range d.r.Sources {
		own, also := d.in.OwnWords(s.Own), report.AlsoWords(d.r, s)
		if s.Work == nil && also == "" && own == "" {
			continue
		}
		if !begun {
			d.sub(d.in.Say("Works of the sources"))
			begun = true
		}
		d.room(3 * sizeText * leading)
		d.para(margin, textWidth, strong(s.Letter()), body("  "+name(s.Title, s.Ref)), faint(about(d, s.Work)))
		if also != "" {
			d.para(margin+14, textWidth-14, faint(also))
		}
		if own != "" {
			d.para(margin+14, textWidth-14, body(own))
		}
		for _, l := range addressesOf(d, s) {
			writeLink(d, margin+14, textWidth-14, l[0], l[1])
		}
		d.y += 4
	}
}

// about describes the authors, date and licence of a work.
func about(d *doc, w *concordat.Work) string {
	if w == nil {
		return ""
	}
	out := "  " + w.Authors()
	if w.Date != "" {
		out += " (" + string(w.Date) + ")"
	}
	if w.License != "" && w.LicenseURL() == "" {
		out += " " + d.in.Say("Licence: ") + w.License
	}
	return strings.TrimRight(out, " ")
}

// addressesOf returns the links of a source, each with the text that precedes it.
func addressesOf(d *doc, s report.RankedSource) (out [][2]string) {
	if w := s.Work; w != nil {
		for _, at := range s.Addresses() {
			out = append(out, [2]string{"", at})
		}
		if page := w.PageURL(); page != "" {
			out = append(out, [2]string{d.in.PageWords(w.Repository) + ": ", page})
		}
		for _, c := range w.Creators {
			for _, at := range []string{c.URL(), c.OrganisationURL()} {
				if at != "" {
					out = append(out, [2]string{c.Name + ": ", at})
				}
			}
		}
		if at := w.LicenseURL(); at != "" {
			out = append(out, [2]string{d.in.Say("Licence: "), at})
		}
	}
	for _, c := range s.Also {
		if c.Page != "" {
			out = append(out, [2]string{d.r.Place(c.Ref) + ": ", c.Page})
		}
	}
	return out
}
