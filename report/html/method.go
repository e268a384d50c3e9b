package html

import (
	"encoding/hex"
	"fmt"

	"concordat"
	"concordat/report"
)

// coverage says what the report rests on.
func (d *doc) coverage() {
	d.raw(`<section id="coverage" aria-labelledby="coverage-h"><h2 id="coverage-h">What was checked, and what was not</h2><ul class="plain">`)
	for _, s := range d.r.Statement() {
		d.raw("<li>")
		d.text(s)
		d.raw("</li>")
	}
	d.raw("</ul>")
	if len(d.r.Consulted) > 0 {
		d.raw(`<div class="wide"><table class="consulted"><caption>Libraries asked</caption><thead><tr><th scope="col">Site</th><th scope="col">Library</th>`,
			`<th scope="col">Sentences asked</th><th scope="col">answered</th><th scope="col">Remarks</th></tr></thead><tbody>`)
		for _, c := range d.r.Consulted {
			d.consulted(c)
		}
		d.raw("</tbody></table></div>")
	}
	d.raw("</section>\n")
}

func (d *doc) consulted(c concordat.Consulted) {
	if c.Err == "" && c.Answered >= c.Asked && len(c.Missing) == 0 {
		d.raw("<tr>")
	} else {
		d.raw(`<tr class="part">`)
	}
	d.tag("td", string(c.Site))
	d.tag("td", string(c.Library))
	d.raw(`<td class="n">`)
	d.text(report.Thousands(c.Asked))
	d.raw(`</td><td class="n">`)
	d.text(report.Thousands(c.Answered))
	d.raw("</td>")
	d.tag("td", report.ConsultedWords(c))
	d.raw("</tr>")
}

// method says by what rules the report came about and how to make it again.
func (d *doc) method() {
	d.raw(`<section id="method" aria-labelledby="method-h"><h2 id="method-h">Method, rules and how to verify</h2><dl class="facts">`)
	r := d.r
	d.fact("Task", string(r.Task))
	d.fact("SHA-256 of the text", r.Digest)
	d.fact("Fingerprint scheme", string(r.Scheme))
	d.fact("Look-ups", map[string]string{"exact": "exact bands", "one": "every band, and every band with one changed hash"}[r.Probe])
	d.fact("Sent to other sites", r.Forward)
	d.fact("Threshold", report.Percent(r.Threshold))
	d.raw("</dl><h3>Rules</h3><ul class=\"plain\">")
	for _, s := range r.RuleWords() {
		d.raw("<li>")
		d.text(s)
		d.raw("</li>")
	}
	d.raw("</ul>")
	d.excluded()
	d.raw(`<h3>How the shares are counted</h3><p>A share is a number of letters, marks and digits over all of them that were compared. `,
		`Passages of one source that lie close together are joined; passages that overlap are one passage with several sources, so nothing is counted twice. `,
		`A rule takes passages out of the count and leaves what was compared as it is, so no rule can raise a share. Positions are Unicode code points of the text, from 0.</p>`,
		`<h3>To verify</h3><p>Extract the text of the same file and compare its SHA-256. Check it again with the scheme and rules above: the same libraries give the same passages. `,
		`The JSON form of this report holds every figure of this page; <code>concordat report verify</code> checks the signatures in it.</p>`)
	d.signatures()
	d.raw("</section>\n")
}

func (d *doc) excluded() {
	if len(d.r.Rules.ExcludePassages) == 0 {
		return
	}
	d.raw(`<div class="wide"><table class="consulted"><caption>Passages taken out by hand</caption><thead><tr><th scope="col">Place</th><th scope="col">Words</th>`,
		`<th scope="col">Reason</th><th scope="col">By</th><th scope="col">On</th></tr></thead><tbody>`)
	for _, p := range d.r.Rules.ExcludePassages {
		s := p.Span
		s.Start = boundary(d.full, min(max(s.Start, 0), len(d.full)))
		s.End = boundary(d.full, max(min(s.End, len(d.full)), s.Start))
		at := d.count.Points(s)
		d.raw("<tr>")
		d.tag("td", fmt.Sprintf("%s to %s", report.Thousands(at.Start), report.Thousands(at.End)))
		d.raw(`<td dir="auto">`)
		d.text(shorten(s.In(d.full), 80))
		d.raw(`</td><td dir="auto">`)
		d.text(p.Comment)
		d.raw("</td>")
		d.tag("td", p.By)
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
		d.raw(`<p class="note">Signed by <bdi>`)
		d.text(string(s.Site))
		d.raw("</bdi>: ")
		d.text(fmt.Sprintf("its %s of %s, signing key %d.", s.Kind, s.At.UTC().Format("2006-01-02 15:04 UTC"), s.KeyEpoch))
		d.raw("</p>")
	}
	if len(d.r.Signatures) == 0 && len(d.r.Statements) > 0 {
		return
	}
	if len(d.r.Signatures) == 0 {
		d.raw(`<p class="note">This report carries no signatures.</p>`)
		return
	}
	d.raw(`<div class="wide"><table class="consulted"><caption>Signatures</caption><thead><tr><th scope="col">Site</th><th scope="col">Over</th><th scope="col">Key</th><th scope="col">Signature</th></tr></thead><tbody>`)
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
