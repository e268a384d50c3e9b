// Package html writes a report as one self-contained page.
//
// [Write] is the whole interface for one file. The page makes no requests, because style and script are inline, and its
// Content-Security-Policy allows only those two, by digest. Without the script, it can still be read and printed; the script adds
// keyboard control, the filter and a comparison panel. All text in a report is escaped, so a title or a passage cannot become markup.
package html

import (
	_ "embed"
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
	overview{d.prose, r, false}.result(d.flags)
	d.mapStrip()
	d.raw(`<div class="columns"><main id="text">`)
	d.document()
	d.raw("</main>")
	d.sources()
	d.raw("</div>")
	d.passages()
	d.leads()
	d.short()
	b := basis{d.prose, r, d.count}
	b.coverage()
	b.method()
	d.foot()
	return d.w.Flush()
}

// doc is the page being written.
type doc struct {
	prose
	r     *report.Report
	full  string // text of the submission
	count *report.Counter
	lang  string                // language of the submission; empty if unknown
	left  int                   // bytes still available for comparisons
	rank  map[concordat.Ref]int // rank of each source in r.Sources
	links Links
	hues  colouring
	axis  axis // of the text

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
	d := &doc{prose: prose{newPage(w), r.Language}, r: r, full: t, count: report.NewCounter(t), lang: language(t),
		left: maxPairs, rank: rank, hues: colouring{r, rank, slot}, axis: axis(len(t))}
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
