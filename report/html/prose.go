package html

import "concordat/report"

// prose writes a page's own texts in the language of the page.
type prose struct {
	*page
	in report.Language
}

// say writes one of the page's own texts in the page's language.
func (p prose) say(english string, args ...any) { p.text(p.in.Say(english, args...)) }

// heading writes the heading of a part of the page.
func (p prose) heading(id, english string) {
	p.raw(`<h2 id="`, id, `">`)
	p.say(english)
	p.raw("</h2>")
}

// caption begins a table in a wide box, with its caption and column heads.
func (p prose) caption(english string, columns ...string) {
	p.raw(`<div class="wide" tabindex="0" role="region"`)
	p.attr("aria-label", p.in.Say(english))
	p.raw(`><table class="consulted"><caption>`)
	p.say(english)
	p.raw("</caption><thead><tr>")
	for _, c := range columns {
		p.raw(`<th scope="col">`)
		p.say(c)
		p.raw("</th>")
	}
	p.raw("</tr></thead><tbody>")
}

// note writes a remark of the page itself.
func (p prose) note(english string) {
	p.raw(`<p class="note">`)
	p.say(english)
	p.raw("</p>")
}

// paragraph writes a heading and sentences below it.
func (p prose) paragraph(heading string, sentences ...string) {
	p.raw("<h3>")
	p.say(heading)
	p.raw("</h3><p>")
	said := make([]string, len(sentences))
	for i, s := range sentences {
		said[i] = p.in.Say(s)
	}
	p.text(p.in.Join(said))
	p.raw("</p>")
}

// fact writes a name with its value.
func (p prose) fact(name, value string) {
	if value == "" {
		value = "–"
	}
	p.raw("<div>")
	p.tag("dt", name)
	p.raw("<dd dir=\"auto\">")
	p.text(value)
	p.raw("</dd></div>")
}
