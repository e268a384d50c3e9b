package html

import (
	"fmt"

	"concordat"
	"concordat/report"
)

// overview is the part of a page that sums up a report: the scores as a figure, a bar and a table, the shares of sections, and the signs
// used further down.
type overview struct {
	prose
	r        *report.Report
	textured bool // the patterns are defined elsewhere on the page
}

// result writes the scores, one figure in large type, and all of them as a bar and a table. flags writes the flags below them, and is nil
// if they are elsewhere on the page.
func (o overview) result(flags func()) {
	s := o.r.Scores
	o.raw(`<section id="result" class="result" aria-labelledby="result-h">`)
	o.heading("result-h", "Result")
	o.raw(`<div class="figure"><p class="big">`)
	if s.Measured() {
		o.text(o.in.Percent(s.Covered))
	} else {
		o.raw(`<span class="blank">`)
		o.say("not measured")
		o.raw("</span>")
	}
	o.raw(`</p><div><p class="headline">`)
	o.text(o.r.Headline())
	o.raw(`</p><p class="note">`)
	o.text(o.r.Reading())
	o.raw("</p></div></div>")
	if c := o.r.Conclusion(); c != "" {
		o.raw(`<p class="conclusion">`)
		o.text(c)
		o.raw(` <a href="#meaning">`)
		o.say("What the share means")
		o.raw("</a></p>")
	}
	if found := o.in.FlagsFound(report.FlagKinds(o.r)); found != "" && flags != nil {
		o.raw(`<p><a href="#flags">`)
		o.text(found)
		o.raw("</a></p>")
	}
	if len(o.r.Leads) > 0 {
		o.raw(`<p><a href="#leads">`)
		o.text(o.r.LeadsFound())
		o.raw("</a></p>")
	}
	o.said("Verdict", o.r.ReviewWords())
	o.said("Found since then", o.r.LaterWords())
	if s.Measured() {
		o.bar()
		o.scoreTable()
	}
	o.sections()
	if flags != nil {
		flags()
	}
	o.raw("</section>\n")
}

// said writes a heading and a list of sentences about the report, for example people's decisions.
func (o overview) said(heading string, words []string) {
	if len(words) == 0 {
		return
	}
	o.raw(`<div class="decided" role="note"><h3>`)
	o.say(heading)
	o.raw("</h3><ul>")
	for _, s := range words {
		o.raw(`<li dir="auto">`)
		o.text(s)
		o.raw("</li>")
	}
	o.raw("</ul></div>")
}

// bar draws the text as one bar, split into matches and the rest.
func (o overview) bar() {
	s := o.r.Scores
	exact := 0.0 // relative to all compared text, like the rest of the bar
	if s.Covered > 0 {
		exact = s.Verbatim / s.Covered * s.Whole
	}
	o.raw(`<svg class="bar" viewBox="0 0 1000 26" preserveAspectRatio="none" role="img" aria-label="`)
	label := o.in.Say("Word for word %s, changed %s, common wording %s, excluded by rules %s, not found %s",
		o.in.Percent(exact), o.in.Percent(s.Whole-exact), o.in.Percent(s.Common), o.in.Percent(s.ByRules()), o.in.Percent(1-s.Found))
	if s.Undecided > 0 {
		label = o.in.Say("%s, %s", o.in.Say("To be decided %s", o.in.Percent(s.Undecided)), label)
	}
	o.text(label)
	o.raw(`">`)
	if !o.textured {
		o.raw(patterns)
	}
	at := 0.0
	for _, x := range []struct {
		share float64
		class string
	}{{exact, "verbatim"}, {max(s.Whole-exact, 0), "near"}, {s.Common, "common"},
		{s.Undecided, "undecided"}, {s.ByRules(), "out"}, {max(1-s.Found, 0), "none"}} {
		o.raw(fmt.Sprintf(`<rect class="f-%s" x="%.1f" y="0" width="%.1f" height="26"/>`, x.class, at*1000, x.share*1000))
		at += x.share
	}
	o.raw("</svg>")
}

func (o overview) scoreTable() {
	s := o.r.Scores
	o.raw(`<table class="scores"><caption>`)
	o.text(s.OfWhat(o.in))
	o.raw(`</caption><tbody>`)
	row := func(class, name, value, note string) {
		o.raw(`<tr><th scope="row">`)
		if class != "" {
			o.raw(`<span class="key k-`, class, `" aria-hidden="true"></span>`)
		}
		o.say(name)
		o.raw(`</th><td class="n">`)
		o.text(value)
		o.raw("</td><td>")
		o.say(note)
		o.raw("</td></tr>")
	}
	row("", "Found in other documents, counted", o.in.Percent(s.Covered), "each letter once, however many sources contain it")
	row("verbatim", "of this, word for word", o.in.Percent(s.Verbatim), "")
	row("near", "of this, changed", s.ChangedWords(o.in), "edited, reworded or condensed")
	for _, g := range report.ShownGroups(o.r) {
		row("", report.GroupTitle(o.in, g.Group), report.GroupFigure(o.in, g), "")
	}
	if s.Countable < s.Checked {
		row("", "of the whole text", o.in.Percent(s.Whole), "including forms, references and the like")
	}
	row("", "Largest single source", o.in.Percent(s.Largest), "")
	if s.Estimate != nil {
		row("", "estimate", o.in.Say("%s to %s", o.in.Percent(s.Estimate.Low), o.in.Percent(s.Estimate.High)), "only partners hold the texts")
	}
	if s.Undecided > 0 {
		row("undecided", "To be decided", o.in.Percent(s.Undecided),
			o.in.Say("a form, or copied? If it counts, the share is %s", o.in.Percent(s.IfCounted)))
	}
	if s.Covered > 0 {
		row("", "How close the wording is", o.in.Closeness(s.Alike()), "average over what was found: how close it is, not how much there is")
	}
	row("", "Found within quotations", o.in.Percent(s.Quoted), s.QuotedWords(o.in, o.r.Rules))
	row("common", "Common wording", o.in.Percent(s.Common), o.withoutScore(concordat.ExcludedCommon,
		"shared by many documents, not counted"))
	row("out", "Excluded by rules", o.in.Percent(s.ByRules()), "found, not counted")
	if s.Template > 0 || len(o.r.Templates) > 0 {
		row("template", "of this, template wording", o.in.Percent(s.Template),
			o.withoutScore(concordat.ExcludedTemplate, "from a form that was handed out, not counted"))
	}
	if s.Form > 0 {
		row("form", "of this, wording that reads like a form", o.in.Percent(s.Form),
			o.withoutScore(concordat.ExcludedForm, "no template for it was given; not counted"))
	}
	if o.withoutScore(concordat.ExcludedSentence, "") != "" {
		row("sentence", "Isolated sentences", "", o.withoutScore(concordat.ExcludedSentence, "not counted"))
	}
	if s.Leads > 0 {
		row("lead", "In leads counted by a person", o.in.Percent(s.Leads), "in addition to the share of evidence, not part of it")
	}
	o.raw("</tbody></table>")
}

// withoutScore describes how many passages an exclusion affects, and why.
func (o overview) withoutScore(e concordat.Exclusion, why string) string {
	n := 0
	for _, x := range o.r.Evidence {
		if x.Excluded == e {
			n++
		}
	}
	if n == 0 {
		return o.in.Say(why)
	}
	passages := o.in.Plural(n, "passage", "passages")
	if why == "" {
		return passages
	}
	return o.in.Say("%s; %s", passages, o.in.Say(why))
}

func (o overview) sections() {
	if len(o.r.Sections) == 0 {
		return
	}
	o.raw(`<table class="scores"><caption>`)
	o.say("By section")
	o.raw(`</caption><tbody>`)
	for _, s := range o.r.Sections {
		o.raw(`<tr><th scope="row"><bdi>`)
		o.text(s.Name)
		o.raw(`</bdi></th><td class="n">`)
		if s.Checked > 0 {
			o.text(o.in.Percent(s.Share))
		} else {
			o.say("not measured")
		}
		o.raw("</td><td>")
		if s.Excluded {
			o.say("excluded by a rule")
		}
		o.raw("</td></tr>")
	}
	o.raw("</tbody></table>")
}

// legend explains the signs of the kinds of passages.
func (o overview) legend() {
	o.raw(`<ul class="legend"`)
	o.attr("aria-label", o.in.Say("Signs"))
	o.raw(">")
	for _, k := range o.in.Kinds() {
		o.raw(`<li><span class="key k-`, k.Code, `">`, sign(k.Code), `</span> `)
		o.say("%s: %s", k.Name, k.Words)
		o.raw(`</li>`)
	}
	if len(o.r.Leads) > 0 {
		o.raw(`<li><span class="key k-lead">`, leadSign, `</span> `)
		o.say("lead: seems to say the same thing in other words; not evidence")
		o.raw("</li>")
	}
	if report.Disguises(o.r.Flags) > 0 {
		o.raw(`<li><span class="key k-flag">`, flagSign, `</span> `)
		o.say("flag: may hide something from a check or from a reader")
		o.raw("</li>")
	}
	o.raw(`<li><span class="key k-out">`, sign("out"), `</span> `)
	o.say("found, but excluded by a rule")
	o.raw("</li>")
	o.raw(`<li><span class="key k-skip"></span> `)
	o.say("not compared")
	o.raw(`</li></ul><p class="note">`)
	o.say("How close the wording is, in four steps: ")
	for i, k := range o.in.Steps() {
		if i > 0 {
			o.say("; ")
		}
		o.say("%s: %s", k.Name, k.Words)
	}
	o.say(". The similarity of a single sentence is known only to about a tenth, so no percentage is given.")
	o.raw("</p>")
}
