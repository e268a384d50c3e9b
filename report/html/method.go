package html

import (
	"encoding/hex"

	"concordat"
	"concordat/report"
)

// coverage describes what the report is based on.
func (d *doc) coverage() {
	d.raw(`<section id="coverage" aria-labelledby="coverage-h">`)
	d.heading("coverage-h", "What was checked, and what was not")
	d.raw(`<ul class="plain">`)
	for _, s := range d.r.Statement() {
		d.raw("<li>")
		d.text(s)
		d.raw("</li>")
	}
	d.raw("</ul>")
	if len(d.r.Consulted) > 0 {
		d.caption("Libraries asked", "Site", "Library", "Sentences asked", "Answered", "Remarks")
		for _, c := range d.r.Consulted {
			d.consulted(c)
		}
		d.raw("</tbody></table></div>")
	}
	d.raw("</section>\n")
}

func (d *doc) consulted(c concordat.Consulted) {
	if report.Whole(c) && c.LeadsMissing+c.LeadsUnasked == 0 {
		d.raw("<tr>")
	} else {
		d.raw(`<tr class="part">`)
	}
	d.tag("td", d.r.SiteName(c.Site))
	d.tag("td", d.r.LibraryWords(c.Site, c.Library))
	d.raw(`<td class="n">`)
	d.text(report.Thousands(d.in, c.Asked))
	d.raw(`</td><td class="n">`)
	d.text(report.Thousands(d.in, c.Answered))
	d.raw("</td>")
	d.tag("td", d.in.Consulted(c))
	d.raw("</tr>")
}

// method lists the rules of the report and how to reproduce it.
func (d *doc) method() {
	d.raw(`<section id="method" aria-labelledby="method-h">`)
	d.heading("method-h", "Method, rules and how to verify")
	d.raw(`<dl class="facts">`)
	r := d.r
	d.fact(d.in.Say("Task"), string(r.Task))
	d.fact(d.in.Say("SHA-256 of the text"), r.Digest)
	d.fact(d.in.Say("Fingerprint scheme"), string(r.Scheme))
	d.fact(d.in.Say("Look-ups"), d.in.Say(map[string]string{"exact": "exact bands",
		"one": "every band, and every band with one changed hash"}[r.Probe]))
	d.fact(d.in.Say("Sent to other sites"), d.in.Say(r.Forward))
	d.fact(d.in.Say("Threshold"), d.in.Percent(r.Threshold))
	d.raw("</dl><h3>")
	d.say("Rules")
	d.raw("</h3><ul class=\"plain\">")
	for _, s := range r.RuleWords() {
		d.raw("<li>")
		d.text(s)
		d.raw("</li>")
	}
	d.raw("</ul>")
	d.excluded()
	d.raw(`<h3 id="meaning">`)
	d.say("What the share means")
	d.raw(`</h3><ul class="plain">`)
	for _, s := range report.ShareMeaning(r) {
		d.raw("<li>")
		d.text(s)
		d.raw("</li>")
	}
	d.raw("</ul>")
	d.paragraph("How the shares are counted", "The share that counts is the number of matching letters and digits, divided by the number that could count; other shares are of all that were compared. An accent or other mark that is a separate character counts as a letter.",
		"Passages of one source that lie close together are joined; passages that overlap are one passage with several sources, so nothing is counted twice.",
		"Rules take passages out of the count. Text that a rule excludes whatever its source, such as a template, a form or a list of references, could not have counted at all: leaving it out can raise the share that counts, but never the share of the whole text. Positions are Unicode code points of the text, from 0.")
	d.paragraph("To verify", "Extract the text of the same file and compare its SHA-256. Check it again with the scheme and rules above: the same libraries give the same passages.",
		"The JSON form of this report has every figure on this page; concordat report verify checks the signatures in it.")
	d.signatures()
	d.raw("</section>\n")
}

// paragraph writes a heading and sentences below it.
func (d *doc) paragraph(heading string, sentences ...string) {
	d.raw("<h3>")
	d.say(heading)
	d.raw("</h3><p>")
	said := make([]string, len(sentences))
	for i, s := range sentences {
		said[i] = d.in.Say(s)
	}
	d.text(d.in.Join(said))
	d.raw("</p>")
}

func (d *doc) excluded() {
	d.byHand("Passages excluded by hand", d.r.Rules.ExcludePassages)
	counted := make([]report.ExcludedPassage, len(d.r.Rules.CountWording))
	for i, w := range d.r.Rules.CountWording {
		counted[i] = report.ExcludedPassage(w)
	}
	d.byHand("Shared wording counted by hand", counted)
}

// byHand lists decisions about individual passages, if any.
func (d *doc) byHand(caption string, passages []report.ExcludedPassage) {
	if len(passages) == 0 {
		return
	}
	d.caption(caption, "Place", "Words", "Reason", "By", "On")
	for _, p := range passages {
		s := p.Span
		s.Start = report.RuneStart(d.full, min(max(s.Start, 0), len(d.full)))
		s.End = report.RuneStart(d.full, max(min(s.End, len(d.full)), s.Start))
		at := d.count.Points(s)
		d.raw("<tr>")
		d.tag("td", d.in.Say("%s to %s", report.Thousands(d.in, at.Start), report.Thousands(d.in, at.End)))
		d.raw(`<td dir="auto">`)
		d.text(shorten(s.In(d.full), 80))
		d.raw(`</td><td dir="auto">`)
		d.text(p.Comment)
		d.raw("</td>")
		d.tag("td", d.r.Names.Person(p.By))
		on := ""
		if !p.At.IsZero() {
			on = p.At.UTC().Format("2006-01-02 15:04 UTC")
		}
		d.tag("td", on)
		d.raw("</tr>")
	}
	d.raw("</tbody></table></div>")
}

func (d *doc) signatures() {
	for _, s := range d.r.Statements {
		d.raw(`<p class="note">`)
		d.text(d.in.SignedAnswer(s))
		d.raw("</p>")
	}
	if len(d.r.Signatures) == 0 && len(d.r.Statements) > 0 {
		return
	}
	if len(d.r.Signatures) == 0 {
		d.note("This report carries no signatures.")
		return
	}
	d.caption("Signatures", "Site", "Over", "Key", "Signature")
	for _, s := range d.r.Signatures {
		d.raw("<tr>")
		d.tag("td", string(s.Site))
		d.tag("td", s.Over)
		d.raw(`<td class="hex">`)
		d.text(s.Key)
		d.raw(`</td><td class="hex">`, hex.EncodeToString(s.Value), "</td></tr>")
	}
	d.raw("</tbody></table></div>")
}

// note writes a remark of the page itself.
func (d *doc) note(english string) {
	d.raw(`<p class="note">`)
	d.say(english)
	d.raw("</p>")
}
