package html

import (
	"strings"

	"concordat/report"
)

// short lists titles, headings and answers that other documents also contain, separately from the passages.
func (d *doc) short() {
	s := d.r.Short
	if s == nil {
		return
	}
	d.raw(`<section id="short" aria-labelledby="short-h">`)
	d.heading("short-h", "Short texts")
	d.note("Titles, headings and answers too short to be checked as sentences. They are weak evidence, have a separate figure, and are not part of the shares above.")
	d.raw(`<p><strong>`)
	d.say("%s of %s", report.Thousands(d.in, s.Found), d.in.Plural(s.Asked, "compared short text", "compared short texts"))
	d.raw("</strong> ")
	d.say(s.Stand())
	d.raw("</p>")
	if len(s.Pieces) == 0 {
		d.note("No short text was found.")
		d.raw("</section>\n")
		return
	}
	d.caption("Short texts found", "Checked text", "Source text", "How close", "Source", "Date")
	for _, p := range s.Pieces {
		d.shortPiece(p)
	}
	d.raw("</tbody></table></div></section>\n")
}

// shortSources is the number of sources listed for one short text.
const shortSources = 5

func (d *doc) shortPiece(p report.ShortEvidence) {
	for i, m := range p.Sources[:min(len(p.Sources), shortSources)] {
		d.raw("<tr>")
		if p.Excluded != "" {
			d.raw(`<td dir="auto" class="off">`)
		} else {
			d.raw(`<td dir="auto">`)
		}
		if i == 0 {
			d.text(strings.TrimSpace(p.Text))
			if p.Span.Len() == 0 {
				d.say(" (title)")
			}
			if p.Excluded != "" {
				d.say("; not counted: %s", d.in.Exclusion(p.Excluded))
			}
		}
		d.raw(`</td><td dir="auto">`)
		d.text(m.Text)
		d.raw("</td><td>")
		d.text(d.in.ShortCloseness(m.Similarity))
		d.raw(`</td><td dir="auto">`)
		d.text(name(m.Title, m.Source))
		d.raw(`<br><span class="place">`)
		d.text(m.Source.String())
		if m.Documents > 1 {
			d.say("; in %s", d.in.Plural(m.Documents, "document", "documents"))
		}
		d.raw("</span></td><td>")
		d.text(d.in.DateWords(m.Age))
		d.raw("</td></tr>")
	}
	if more := len(p.Sources) - shortSources; more > 0 {
		d.raw(`<tr><td></td><td colspan="4">`)
		d.say("and %s", d.in.Plural(more, "more source", "more sources"))
		d.raw("</td></tr>")
	}
}
