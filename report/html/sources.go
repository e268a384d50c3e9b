package html

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/report"
)

// sources lists the source documents, largest share first.
func (d *doc) sources() {
	d.raw(`<aside id="sources" aria-labelledby="sources-h">`)
	d.heading("sources-h", "Sources")
	if len(d.r.Sources) == 0 {
		d.note(d.r.NoSources())
		d.raw("</aside>")
		return
	}
	d.note("Each source with its share of the text that could count. Shares overlap where sources contain the same passage.")
	d.raw(`<p class="filter" hidden><label for="filter">`)
	d.say("Filter by title or place")
	d.raw(`</label><input id="filter" type="search" autocomplete="off" spellcheck="false">`,
		`<span id="filter-n" role="status"></span></p>`)
	listed := func(folded bool) {
		d.raw(`<ol class="ranked">`)
		for i, s := range d.r.Sources {
			if report.Folded(s.Excluded) == folded {
				d.rankedSource(i, s)
			}
		}
		d.raw("</ol>")
	}
	rest := report.UncountedSources(d.r)
	if slices.ContainsFunc(d.r.Sources, func(s report.RankedSource) bool { return !report.Folded(s.Excluded) }) {
		listed(false)
	} else {
		d.note("No source counts.")
	}
	if rest != "" {
		folding(d, rest, func() { listed(true) })
	}
	d.raw("</aside>\n")
}

// folding writes items that do not count, collapsed under a one-line summary.
func folding(d *doc, words string, write func()) {
	d.raw(`<details class="rest"><summary>`)
	d.text(words)
	d.raw("</summary>")
	write()
	d.raw("</details>\n")
}

// uncounted lists links to the collapsed passages, grouped by reason.
func uncounted(d *doc) {
	words := report.UncountedWords(d.r)
	if words == "" {
		return
	}
	folding(d, words, func() {
		d.raw("<ul>")
		for _, u := range report.UncountedPassages(d.r) {
			d.raw("<li>")
			d.text(capital(u.Words))
			d.passageLinks(u.Passages)
			d.raw("</li>")
		}
		d.raw("</ul>")
	})
}

// fewPassages is the number of passage links next to a source before the rest is collapsed.
const fewPassages = 12

func (d *doc) rankedSource(i int, s report.RankedSource) {
	d.raw(fmt.Sprintf(`<li id="s%d" data-s="%d"`, i+1, i))
	if s.Excluded != "" {
		d.raw(` class="off"`)
	}
	d.raw(`><div class="head">`)
	d.chip(s.Ref)
	d.raw(`<h3 dir="auto">`)
	if only := d.links.Choose; only != nil && len(s.Evidence) > 0 {
		d.raw(`<a class="only"`)
		d.attr("href", only(i))
		d.raw(">")
		d.text(name(s.Title, s.Ref))
		d.raw("</a>")
	} else {
		d.text(name(s.Title, s.Ref))
	}
	d.raw(`</h3><span class="share">`)
	d.text(d.in.Percent(s.Share))
	d.raw(`</span></div><p class="place" dir="auto">`)
	d.text(report.SourcePlace(d.r, s.Ref))
	d.mirror(s.Ref)
	d.raw("</p>")
	writeWork(d, s)
	d.strip(s)
	d.raw(`<p class="shares">`)
	if s.Excluded != "" {
		d.say("Not counted: %s. ", d.in.Exclusion(s.Excluded))
	}
	if s.Estimate != nil {
		d.text(capital(d.in.Estimated(s.Estimate)) + d.in.Say("; "))
	}
	d.say("%s, %s word for word", d.in.Plural(s.Characters, "letter", "letters"), d.in.Percent(s.Verbatim))
	if s.Excluded == "" {
		d.say(", %s in no other source", d.in.Percent(s.Alone))
	}
	d.raw("</p>")
	d.passageLinks(s.Evidence)
	if d.links.SourceTools != nil {
		d.raw(string(d.links.SourceTools(i)))
	}
	d.raw("</li>")
}

// mirror marks a document known from a copy of a partner's library.
func (d *doc) mirror(ref concordat.Ref) {
	if !d.r.Mirrored(ref) {
		return
	}
	d.raw(` <strong class="oldest">`)
	if day := d.r.MirrorDate(ref); day.IsZero() {
		d.say("mirror")
	} else {
		d.say("mirror of %s", day.UTC().Format(time.DateOnly))
	}
	d.raw("</strong>")
}

// strip draws the map of a single source.
func (d *doc) strip(s report.RankedSource) {
	var b strings.Builder
	last := -1.0
	for _, span := range s.Held {
		x, w := d.axis.x(span.Start), max(d.axis.x(span.End)-d.axis.x(span.Start), 3)
		if x+w < last+1 {
			continue
		}
		fmt.Fprintf(&b, "M%.0f 0h%.0fv8h-%.0fz", x, w, w)
		last = x + w
	}
	d.raw(`<svg class="strip`, soClass(d.hues.slot[s.Ref]), `" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" width="1000" height="8"/><path d="`, b.String(), `"/></svg>`)
}

func (d *doc) passageLinks(evidence []int) {
	if len(evidence) == 0 {
		return
	}
	d.raw(`<p class="links"><span class="vh">`)
	d.say("Passages: ")
	d.raw("</span>")
	some := evidence[:min(len(evidence), fewPassages)]
	for _, e := range some {
		d.link(e)
	}
	d.raw("</p>")
	if rest := evidence[len(some):]; len(rest) > 0 {
		d.raw(`<details class="links"><summary>`)
		d.say("%d more", len(rest))
		d.raw("</summary><p>")
		for _, e := range rest {
			d.link(e)
		}
		d.raw("</p></details>")
	}
}

func (d *doc) link(e int) {
	d.raw(`<a class="no k-`, class(d.r.Evidence[e].Kind, d.r.Evidence[e].Excluded), `"`)
	d.attr("href", d.mark(e))
	d.raw(` data-e="`, d.r.Number(e), `">`, d.r.Number(e), "</a> ")
}

// name returns a source's title, or its location if it has none.
func name(title string, r concordat.Ref) string {
	if strings.TrimSpace(title) != "" {
		return title
	}
	return string(r.Document)
}
