package html

import (
	"bytes"
	"html/template"

	"concordat/report"
)

// Board returns the summary of a report for a committee, on two pages. It appears only in print, before the rest of the report.
func Board(r *report.Report) template.HTML {
	var b bytes.Buffer
	d := &doc{prose: prose{newPage(&b), r.Language}, r: r}
	writeBoard(d)
	_ = d.w.Flush() // writing to a buffer cannot fail
	return template.HTML(b.String())
}

// writeBoard writes the two-page summary from [report.Board].
func writeBoard(d *doc) {
	b := report.NewBoard(d.r)
	d.raw(`<section class="board"`)
	d.attr("aria-label", d.in.Say("Summary"))
	d.raw(`><div class="boardpage"><p class="brandline">Concordat · `)
	d.say("similarity report")
	d.raw(`</p><p class="subject" dir="auto">`)
	d.text(shorten(d.title(), 240))
	d.raw(`</p><p class="share-of-all">`)
	if s := d.r.Scores; s.Measured() {
		d.text(d.in.Percent(s.Covered))
	} else {
		d.say("not measured")
	}
	d.raw("</p><p><strong>")
	d.text(d.r.Headline())
	d.raw(`</strong></p><p class="note">`)
	d.text(d.r.Reading())
	d.raw(`</p><p class="note">`)
	d.text(d.r.Conclusion())
	d.raw("</p>")
	boardHeading(d, "Document and author")
	d.raw("<dl>")
	for _, f := range append([][2]string{{d.in.Say("Author"), ""}}, b.Facts...) {
		d.tag("dt", f[0])
		if f[1] == "" {
			d.raw(`<dd class="towrite"></dd>`)
			continue
		}
		d.raw(`<dd dir="auto">`)
		d.text(f[1])
		d.raw("</dd>")
	}
	d.raw("</dl>")
	boardHeading(d, "What was compared")
	boardList(d, b.Compared)
	boardHeading(d, "What counts")
	if len(b.Counts) == 0 {
		d.raw("<p>")
		d.say("Nothing was compared. This report says nothing about the text.")
		d.raw("</p>")
	} else {
		d.raw(`<table class="counts"><tbody>`)
		for _, c := range b.Counts {
			d.raw(`<tr><th scope="row">`)
			d.text(c[0])
			d.raw(`</th><td><bdi>`)
			d.text(c[1])
			d.raw("</bdi></td></tr>")
		}
		d.raw("</tbody></table>")
	}
	boardList(d, b.Found)
	d.raw(`</div><div class="boardpage">`)
	boardPassages(d, b)
	boardVerdict(d, b)
	d.raw("</div></section>\n")
}

func boardHeading(d *doc, english string) {
	d.raw("<h2>")
	d.say(english)
	d.raw("</h2>")
}

// boardList lists sentences, if any.
func boardList(d *doc, sentences []string) {
	if len(sentences) == 0 {
		return
	}
	d.raw("<ul>")
	for _, s := range sentences {
		d.raw(`<li dir="auto">`)
		d.text(s)
		d.raw("</li>")
	}
	d.raw("</ul>")
}

func boardPassages(d *doc, b report.Board) {
	boardHeading(d, b.PassagesTitle())
	if len(b.Passages) == 0 {
		d.tag("p", b.None)
	}
	for _, p := range b.Passages {
		d.raw("<h3>")
		d.say("%s. %s", p.Number, capital(p.Kind))
		d.raw(" <small>")
		d.text(p.Size)
		d.raw(`</small></h3><p class="from"><bdi><strong>`)
		d.text(p.Source)
		d.raw(`</strong></bdi> <bdi>`)
		d.text(p.Place)
		d.raw(`</bdi></p><div class="both">`)
		for _, side := range [][2]string{{"Checked text", p.Here}, {"Source", p.There}} {
			d.raw(`<div><p class="from">`)
			d.say(side[0])
			d.raw(`</p><p class="excerpt" dir="auto">`)
			d.text(side[1])
			d.raw("</p></div>")
		}
		d.raw("</div>")
	}
}

func boardVerdict(d *doc, b report.Board) {
	boardHeading(d, "Verdict")
	boardList(d, b.Decided)
	if len(b.Decided) == 0 {
		d.raw("<p>")
		d.say("No verdict is recorded in this file.")
		d.raw(`</p><p class="ticks">`)
		for _, s := range b.Verdicts {
			d.raw("<span>")
			d.text(s)
			d.raw("</span>")
		}
		d.raw("</p>")
	}
	boardHeading(d, "Signed by")
	d.raw(`<table class="signs"><thead><tr>`)
	columns := report.BoardColumns()
	for _, name := range columns {
		d.raw(`<th scope="col">`)
		d.say(name)
		d.raw("</th>")
	}
	d.raw("</tr></thead><tbody>")
	for range report.BoardSignatures {
		d.raw("<tr>")
		for range columns {
			d.raw("<td></td>")
		}
		d.raw("</tr>")
	}
	d.raw(`</tbody></table><p class="note">`)
	d.say("The full report follows.")
	d.raw("</p>")
}
