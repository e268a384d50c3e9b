package html

import (
	"encoding/hex"

	"concordat"
	"concordat/report"
)

// basis is the part of a page about what a report is based on: the text that was checked, the libraries asked, the rules, and how to verify
// all of it.
type basis struct {
	prose
	r     *report.Report
	count *report.Counter
}

// coverage describes what the report is based on.
func (b basis) coverage() {
	b.raw(`<section id="coverage" aria-labelledby="coverage-h">`)
	b.heading("coverage-h", "What was checked, and what was not")
	b.raw(`<ul class="plain">`)
	for _, s := range b.r.Statement() {
		b.raw("<li>")
		b.text(s)
		b.raw("</li>")
	}
	b.raw("</ul>")
	if len(b.r.Consulted) > 0 {
		b.caption("Libraries asked", "Site", "Library", "Sentences asked", "Answered", "Remarks")
		for _, c := range b.r.Consulted {
			b.consulted(c)
		}
		b.raw("</tbody></table></div>")
	}
	b.raw("</section>\n")
}

func (b basis) consulted(c concordat.Consulted) {
	if report.Whole(c) && c.LeadsMissing+c.LeadsUnasked == 0 {
		b.raw("<tr>")
	} else {
		b.raw(`<tr class="part">`)
	}
	b.tag("td", b.r.SiteName(c.Site))
	b.tag("td", b.r.LibraryWords(c.Site, c.Library))
	b.raw(`<td class="n">`)
	b.text(report.Thousands(b.in, c.Asked))
	b.raw(`</td><td class="n">`)
	b.text(report.Thousands(b.in, c.Answered))
	b.raw("</td>")
	b.tag("td", b.in.Consulted(c))
	b.raw("</tr>")
}

// method lists the rules of the report and how to reproduce it.
func (b basis) method() {
	b.raw(`<section id="method" aria-labelledby="method-h">`)
	b.heading("method-h", "Method, rules and how to verify")
	b.raw(`<dl class="facts">`)
	r := b.r
	b.fact(b.in.Say("Task"), string(r.Task))
	b.fact(b.in.Say("SHA-256 of the text"), r.Digest)
	b.fact(b.in.Say("Fingerprint scheme"), string(r.Scheme))
	b.fact(b.in.Say("Look-ups"), b.in.Say(map[string]string{"exact": "exact bands",
		"one": "every band, and every band with one changed hash"}[r.Probe]))
	b.fact(b.in.Say("Sent to other sites"), b.in.Say(r.Forward))
	b.fact(b.in.Say("Threshold"), b.in.Percent(r.Threshold))
	b.raw("</dl><h3>")
	b.say("Rules")
	b.raw("</h3><ul class=\"plain\">")
	for _, s := range r.RuleWords() {
		b.raw("<li>")
		b.text(s)
		b.raw("</li>")
	}
	b.raw("</ul>")
	b.excluded()
	b.raw(`<h3 id="meaning">`)
	b.say("What the share means")
	b.raw(`</h3><ul class="plain">`)
	for _, s := range report.ShareMeaning(r) {
		b.raw("<li>")
		b.text(s)
		b.raw("</li>")
	}
	b.raw("</ul>")
	b.paragraph("How the shares are counted", "The share that counts is the number of matching letters and digits, divided by the number that could count; other shares are of all that were compared. An accent or other mark that is a separate character counts as a letter.",
		"Passages of one source that lie close together are joined; passages that overlap are one passage with several sources, so nothing is counted twice.",
		"Rules take passages out of the count. Text that a rule excludes whatever its source, such as a template, a form or a list of references, could not have counted at all: leaving it out can raise the share that counts, but never the share of the whole text. Positions are Unicode code points of the text, from 0.")
	b.paragraph("To verify", "Extract the text of the same file and compare its SHA-256. Check it again with the scheme and rules above: the same libraries give the same passages.",
		"The JSON form of this report has every figure on this page; concordat report verify checks the signatures in it.")
	b.signatures()
	b.raw("</section>\n")
}

func (b basis) excluded() {
	b.byHand("Passages excluded by hand", b.r.Rules.ExcludePassages)
	counted := make([]report.ExcludedPassage, len(b.r.Rules.CountWording))
	for i, w := range b.r.Rules.CountWording {
		counted[i] = report.ExcludedPassage(w)
	}
	b.byHand("Shared wording counted by hand", counted)
}

// byHand lists decisions about individual passages, if any.
func (b basis) byHand(caption string, passages []report.ExcludedPassage) {
	if len(passages) == 0 {
		return
	}
	b.caption(caption, "Place", "Words", "Reason", "By", "On")
	full := b.r.Submission.Text
	for _, p := range passages {
		s := p.Span
		s.Start = report.RuneStart(full, min(max(s.Start, 0), len(full)))
		s.End = report.RuneStart(full, max(min(s.End, len(full)), s.Start))
		at := b.count.Points(s)
		b.raw("<tr>")
		b.tag("td", b.in.Say("%s to %s", report.Thousands(b.in, at.Start), report.Thousands(b.in, at.End)))
		b.raw(`<td dir="auto">`)
		b.text(shorten(s.In(full), 80))
		b.raw(`</td><td dir="auto">`)
		b.text(p.Comment)
		b.raw("</td>")
		b.tag("td", b.r.Names.Person(p.By))
		on := ""
		if !p.At.IsZero() {
			on = p.At.UTC().Format("2006-01-02 15:04 UTC")
		}
		b.tag("td", on)
		b.raw("</tr>")
	}
	b.raw("</tbody></table></div>")
}

func (b basis) signatures() {
	for _, s := range b.r.Statements {
		b.raw(`<p class="note">`)
		b.text(b.in.SignedAnswer(s))
		b.raw("</p>")
	}
	if len(b.r.Signatures) == 0 && len(b.r.Statements) > 0 {
		return
	}
	if len(b.r.Signatures) == 0 {
		b.note("This report carries no signatures.")
		return
	}
	b.caption("Signatures", "Site", "Over", "Key", "Signature")
	for _, s := range b.r.Signatures {
		b.raw("<tr>")
		b.tag("td", string(s.Site))
		b.tag("td", s.Over)
		b.raw(`<td class="hex">`)
		b.text(s.Key)
		b.raw(`</td><td class="hex">`, hex.EncodeToString(s.Value), "</td></tr>")
	}
	b.raw("</tbody></table></div>")
}
