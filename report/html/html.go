// Package html writes a report as one self-contained page.
//
// [Write] is the whole interface for one file. The page makes no requests, because style and script are inline, and its
// Content-Security-Policy allows only those two, by digest. Without the script, it can still be read and printed; the script adds
// keyboard control, the filter and a comparison panel. All text in a report is escaped, so a title or a passage cannot become markup.
package html

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"sync"

	"concordat"
	"concordat/report"
)

var (
	//go:embed style.css
	pageStyle string
	style     = Style + pageStyle
	//go:embed script.js
	pageScript string
	script     = pageScript + LinesScript
)

// Write writes r to w as one HTML file in UTF-8. The same report always produces the same bytes. The cost is linear in the text and the
// passages. In a report with very many sources, the wording of the less similar ones is omitted, and the page says so.
func Write(w io.Writer, r *report.Report) error {
	d := newDoc(w, r)
	d.head()
	d.result()
	d.mapStrip()
	d.raw(`<div class="columns"><main id="text">`)
	d.document()
	d.raw("</main>")
	d.sources()
	d.raw("</div>")
	d.passages()
	d.leads()
	d.short()
	d.coverage()
	d.method()
	d.foot()
	return d.w.Flush()
}

// doc is the page being written.
type doc struct {
	*page
	r     *report.Report
	full  string // text of the submission
	count *report.Counter
	lang  string                // language of the submission; empty if unknown
	in    report.Language       // language of the page's own text
	left  int                   // bytes still available for comparisons
	rank  map[concordat.Ref]int // rank of each source in r.Sources
	links Links
	slot  map[concordat.Ref]int // colour of each source, from 1; see colours

	textured bool // the patterns are defined elsewhere on the page

	leadMarks    []leadMark // in text order, without overlaps
	marksOfFlags []flagMark
	apart        bool // the flags are listed elsewhere on the page
	around       int  // bytes of text around a place in a comparison
	placed       bool // each place in a comparison has a separate colour
}

// maxPairs is the maximum number of bytes of wording in comparisons. It suffices for every source of a thesis with thousands of passages,
// and keeps the page small enough for a browser even if each passage has 100 sources.
const maxPairs = 12 << 20

func newDoc(w io.Writer, r *report.Report) *doc {
	t := r.Submission.Text
	rank := make(map[concordat.Ref]int, len(r.Sources))
	slot := make(map[concordat.Ref]int, len(r.Sources))
	for i, s := range r.Sources {
		for _, ref := range s.AllPlaces() {
			rank[ref], slot[ref] = i, min(s.Ordinal, colours+1)
		}
	}
	d := &doc{page: newPage(w), r: r, full: t, count: report.NewCounter(t), lang: language(t), in: r.Language,
		left: maxPairs, rank: rank, slot: slot}
	d.links.number = r.Number
	d.leadMarks = leadMarks(r)
	d.marksOfFlags = flagMarks(d)
	return d
}

// Policy returns the Content-Security-Policy of a page, which allows only the page's own style and script, by digest. The page contains
// the policy; the server also sends it as a header, with a frame rule that a page cannot set.
var Policy = sync.OnceValue(func() string {
	return "default-src 'none'; style-src " + digest(style) + "; script-src " + digest(script) + "; base-uri 'none'; form-action 'none'"
})

func (d *doc) head() {
	d.raw("<!DOCTYPE html>\n<html lang=\"", d.in.Tag(), "\">\n<head>\n<meta charset=\"utf-8\">\n",
		`<meta http-equiv="Content-Security-Policy" content="`, Policy(), "\">\n",
		`<meta name="viewport" content="width=device-width, initial-scale=1">`, "\n",
		`<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">`, "\n<title>")
	d.text(d.title())
	d.text(" – " + d.in.Say("similarity report"))
	d.raw("</title>\n<style>", style, "</style>\n</head>\n<body>\n", `<a class="skiplink" href="#text">`)
	d.say("Go to the text")
	d.raw("</a>")
	writeBoard(d)
	d.raw(`<header class="top"><p class="brand">Concordat <span>`)
	d.say("similarity report")
	d.raw(`</span></p><h1 dir="auto">`)
	d.text(d.title())
	d.raw("</h1><dl class=\"meta\">")
	d.fact(d.in.Say("Document"), string(d.r.Submission.ID))
	if authors := report.AuthorWords(d.r.Authors); authors != "" {
		d.fact(d.in.Say("Authors"), authors)
	}
	made := ""
	if !d.r.Made.IsZero() {
		made = d.r.Made.UTC().Format(d.in.TimeLayout())
	}
	d.fact(d.in.Say("Made"), made)
	if d.r.Dated != "" {
		d.fact(d.in.Say("Document dated"), string(d.r.Dated))
	}
	d.fact(d.in.Say("Length"), d.in.Plural(d.r.Scores.Characters, "letter or digit", "letters and digits"))
	d.fact(d.in.Say("Passages"), d.r.Count(len(d.r.Evidence)))
	d.fact(d.in.Say("Sources"), d.r.Count(len(d.r.Sources)))
	d.raw(`</dl><nav`)
	d.attr("aria-label", d.in.Say("Parts of this report"))
	d.raw(">")
	for _, part := range [][2]string{{"result", d.in.Say("Result")}, {"text", d.in.Say("Text")}, {"sources", d.in.Say("Sources")},
		{"passages", d.in.Say("Passages")}, {"leads", d.in.Say("Leads")}, {"short", d.in.Say("Short texts")},
		{"coverage", d.in.Say("What was checked")}, {"method", d.in.Say("Method and rules")}} {
		if part[0] == "short" && d.r.Short == nil || part[0] == "leads" && d.r.Leads == nil {
			continue
		}
		d.raw(`<a href="#`, part[0], `">`)
		d.text(part[1])
		d.raw("</a>")
	}
	d.raw("</nav></header>\n")
}

// title returns the display name of the submission.
func (d *doc) title() string {
	for _, s := range []string{d.r.Submission.Title, string(d.r.Submission.ID)} {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return d.in.Say("Untitled document")
}

func (d *doc) fact(name, value string) {
	if value == "" {
		value = "–"
	}
	d.raw("<div>")
	d.tag("dt", name)
	d.raw("<dd dir=\"auto\">")
	d.text(value)
	d.raw("</dd></div>")
}

// result writes the scores, one figure in large type, and all of them as a bar and a table.
func (d *doc) result() {
	s := d.r.Scores
	d.raw(`<section id="result" class="result" aria-labelledby="result-h">`)
	d.heading("result-h", "Result")
	d.raw(`<div class="figure"><p class="big">`)
	if s.Measured() {
		d.text(d.in.Percent(s.Covered))
	} else {
		d.raw(`<span class="blank">`)
		d.say("not measured")
		d.raw("</span>")
	}
	d.raw(`</p><div><p class="headline">`)
	d.text(d.r.Headline())
	d.raw(`</p><p class="note">`)
	d.text(d.r.Reading())
	d.raw("</p></div></div>")
	if c := d.r.Conclusion(); c != "" {
		d.raw(`<p class="conclusion">`)
		d.text(c)
		d.raw(` <a href="#meaning">`)
		d.say("What the share means")
		d.raw("</a></p>")
	}
	if found := d.in.FlagsFound(report.FlagKinds(d.r)); found != "" && !d.apart {
		d.raw(`<p><a href="#flags">`)
		d.text(found)
		d.raw("</a></p>")
	}
	if len(d.r.Leads) > 0 {
		d.raw(`<p><a href="#leads">`)
		d.text(d.r.LeadsFound())
		d.raw("</a></p>")
	}
	d.said("Verdict", d.r.ReviewWords())
	d.said("Found since then", d.r.LaterWords())
	if s.Measured() {
		d.bar()
		d.scoreTable()
	}
	d.sections()
	if !d.apart {
		d.flags()
	}
	d.raw("</section>\n")
}

// said writes a heading and a list of sentences about the report, for example people's decisions.
func (d *doc) said(heading string, words []string) {
	if len(words) == 0 {
		return
	}
	d.raw(`<div class="decided" role="note"><h3>`)
	d.say(heading)
	d.raw("</h3><ul>")
	for _, s := range words {
		d.raw(`<li dir="auto">`)
		d.text(s)
		d.raw("</li>")
	}
	d.raw("</ul></div>")
}

// bar draws the text as one bar, split into matches and the rest.
func (d *doc) bar() {
	s := d.r.Scores
	exact := 0.0 // relative to all compared text, like the rest of the bar
	if s.Covered > 0 {
		exact = s.Verbatim / s.Covered * s.Whole
	}
	d.raw(`<svg class="bar" viewBox="0 0 1000 26" preserveAspectRatio="none" role="img" aria-label="`)
	label := d.in.Say("Word for word %s, changed %s, common wording %s, excluded by rules %s, not found %s",
		d.in.Percent(exact), d.in.Percent(s.Whole-exact), d.in.Percent(s.Common), d.in.Percent(s.ByRules()), d.in.Percent(1-s.Found))
	if s.Undecided > 0 {
		label = d.in.Say("%s, %s", d.in.Say("To be decided %s", d.in.Percent(s.Undecided)), label)
	}
	d.text(label)
	d.raw(`">`)
	if !d.textured {
		d.raw(patterns)
	}
	at := 0.0
	for _, x := range []struct {
		share float64
		class string
	}{{exact, "verbatim"}, {max(s.Whole-exact, 0), "near"}, {s.Common, "common"},
		{s.Undecided, "undecided"}, {s.ByRules(), "out"}, {max(1-s.Found, 0), "none"}} {
		d.raw(fmt.Sprintf(`<rect class="f-%s" x="%.1f" y="0" width="%.1f" height="26"/>`, x.class, at*1000, x.share*1000))
		at += x.share
	}
	d.raw("</svg>")
}

func (d *doc) scoreTable() {
	s := d.r.Scores
	d.raw(`<table class="scores"><caption>`)
	d.text(s.OfWhat(d.in))
	d.raw(`</caption><tbody>`)
	row := func(class, name, value, note string) {
		d.raw(`<tr><th scope="row">`)
		if class != "" {
			d.raw(`<span class="key k-`, class, `" aria-hidden="true"></span>`)
		}
		d.say(name)
		d.raw(`</th><td class="n">`)
		d.text(value)
		d.raw("</td><td>")
		d.say(note)
		d.raw("</td></tr>")
	}
	row("", "Found in other documents, counted", d.in.Percent(s.Covered), "each letter once, however many sources contain it")
	row("verbatim", "of this, word for word", d.in.Percent(s.Verbatim), "")
	row("near", "of this, changed", s.ChangedWords(d.in), "edited, reworded or condensed")
	for _, g := range report.ShownGroups(d.r) {
		row("", report.GroupTitle(d.in, g.Group), report.GroupFigure(d.in, g), "")
	}
	if s.Countable < s.Checked {
		row("", "of the whole text", d.in.Percent(s.Whole), "including forms, references and the like")
	}
	row("", "Largest single source", d.in.Percent(s.Largest), "")
	if s.Estimate != nil {
		row("", "estimate", d.in.Say("%s to %s", d.in.Percent(s.Estimate.Low), d.in.Percent(s.Estimate.High)), "only partners hold the texts")
	}
	if s.Undecided > 0 {
		row("undecided", "To be decided", d.in.Percent(s.Undecided),
			d.in.Say("a form, or copied? If it counts, the share is %s", d.in.Percent(s.IfCounted)))
	}
	if s.Covered > 0 {
		row("", "How close the wording is", d.in.Closeness(s.Alike()), "average over what was found: how close it is, not how much there is")
	}
	row("", "Found within quotations", d.in.Percent(s.Quoted), s.QuotedWords(d.in, d.r.Rules))
	row("common", "Common wording", d.in.Percent(s.Common), d.withoutScore(concordat.ExcludedCommon,
		"shared by many documents, not counted"))
	row("out", "Excluded by rules", d.in.Percent(s.ByRules()), "found, not counted")
	if s.Template > 0 || len(d.r.Templates) > 0 {
		row("template", "of this, template wording", d.in.Percent(s.Template),
			d.withoutScore(concordat.ExcludedTemplate, "from a form that was handed out, not counted"))
	}
	if s.Form > 0 {
		row("form", "of this, wording that reads like a form", d.in.Percent(s.Form),
			d.withoutScore(concordat.ExcludedForm, "no template for it was given; not counted"))
	}
	if d.withoutScore(concordat.ExcludedSentence, "") != "" {
		row("sentence", "Isolated sentences", "", d.withoutScore(concordat.ExcludedSentence, "not counted"))
	}
	if s.Leads > 0 {
		row("lead", "In leads counted by a person", d.in.Percent(s.Leads), "in addition to the share of evidence, not part of it")
	}
	d.raw("</tbody></table>")
}

// withoutScore describes how many passages an exclusion affects, and why.
func (d *doc) withoutScore(e concordat.Exclusion, why string) string {
	n := 0
	for _, x := range d.r.Evidence {
		if x.Excluded == e {
			n++
		}
	}
	if n == 0 {
		return d.in.Say(why)
	}
	passages := d.in.Plural(n, "passage", "passages")
	if why == "" {
		return passages
	}
	return d.in.Say("%s; %s", passages, d.in.Say(why))
}

func (d *doc) sections() {
	if len(d.r.Sections) == 0 {
		return
	}
	d.raw(`<table class="scores"><caption>`)
	d.say("By section")
	d.raw(`</caption><tbody>`)
	for _, s := range d.r.Sections {
		d.raw(`<tr><th scope="row"><bdi>`)
		d.text(s.Name)
		d.raw(`</bdi></th><td class="n">`)
		if s.Checked > 0 {
			d.text(d.in.Percent(s.Share))
		} else {
			d.say("not measured")
		}
		d.raw("</td><td>")
		if s.Excluded {
			d.say("excluded by a rule")
		}
		d.raw("</td></tr>")
	}
	d.raw("</tbody></table>")
}

func (d *doc) foot() {
	d.raw(`<footer><p>`)
	d.say("Made by Concordat. This file contains the whole report and loads nothing from the network.")
	d.raw(`</p></footer><aside id="dock"`)
	for _, a := range [][2]string{{"aria-label", "Comparison"}, {"data-previous", "Previous"}, {"data-next", "Next"}, {"data-close", "Close"},
		{"data-only", "Only its passages"}, {"data-keyboard", "Keyboard: ?"}, {"data-where", "Passage {e} of {n}"},
		{"data-among", "Passage {e}, {k} of {n} of this source"}, {"data-filtered", "{k} of {n} sources"}} {
		d.attr(a[0], d.in.Say(a[1]))
	}
	d.raw(` hidden></aside><dialog id="help" aria-labelledby="help-h">`)
	d.heading("help-h", "Keyboard")
	d.raw("<dl>")
	for _, k := range [][2]string{{"<kbd>n</kbd> <kbd>p</kbd>", "next and previous passage that counts"},
		{"<kbd>s</kbd>", "filter the sources"},
		{"<kbd>Esc</kbd>", "close the comparison, clear the filter"}, {"<kbd>?</kbd>", "this help"}} {
		d.raw("<dt>", k[0], "</dt><dd>")
		d.say(k[1])
		d.raw("</dd>")
	}
	d.raw(`</dl><p><label><input type="checkbox" id="keys" checked> `)
	d.say("Single-key commands")
	d.raw(`</label></p><form method="dialog"><button>`)
	d.say("Close")
	d.raw("</button></form></dialog>\n<script>", script, "</script>\n</body>\n</html>\n")
}

// say writes one of the page's own texts in the page's language.
func (d *doc) say(english string, args ...any) { d.text(d.in.Say(english, args...)) }

// heading writes the heading of a part of the page.
func (d *doc) heading(id, english string) {
	d.raw(`<h2 id="`, id, `">`)
	d.say(english)
	d.raw("</h2>")
}

// caption begins a table in a wide box, with its caption and column heads.
func (d *doc) caption(english string, columns ...string) {
	d.raw(`<div class="wide" tabindex="0" role="region"`)
	d.attr("aria-label", d.in.Say(english))
	d.raw(`><table class="consulted"><caption>`)
	d.say(english)
	d.raw("</caption><thead><tr>")
	for _, c := range columns {
		d.raw(`<th scope="col">`)
		d.say(c)
		d.raw("</th>")
	}
	d.raw("</tr></thead><tbody>")
}
