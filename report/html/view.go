package html

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"concordat"
	"concordat/report"
)

// Style is the style sheet for the parts returned by a View. It must follow the page's own style, which sets --ink, --soft, --paper,
// --accent, --panel, --rule, --sans and --serif.
//
//go:embed parts.css
var Style string

// Links provides addresses for parts of a report that are not all on one page, and additional markup. A nil function means that the
// target is on the page itself, or that there is no markup.
type Links struct {
	Page    func(page int) string    // page of the text
	Passage func(passage int) string // one passage next to its sources
	Source  func(source int) string  // the whole text next to one source
	// PassageTools and SourceTools return markup appended to a passage or a source.
	PassageTools, SourceTools func(index int) template.HTML
	// LeadTools returns markup appended to a lead.
	LeadTools func(lead int) template.HTML
	// LeadFilter is placed above the leads, and LeadShown reports whether a lead is displayed; if LeadShown is nil, all leads are.
	LeadFilter template.HTML
	LeadShown  func(lead int) bool
	// LeadPlace returns the address of a lead that is not displayed.
	LeadPlace func(lead int) string
	// PartnerLeadTools is the counterpart of LeadTools for a partner's document that might say the same.
	PartnerLeadTools func(lead int) template.HTML
	// Choose returns the address of the text with only one source's passages; nil if there is no such page.
	Choose func(source int) string
	// Mark returns the address of a passage's mark; if nil, the mark is in the text.
	Mark func(passage int) string
	// Flag returns the address of a flag's mark, or "" if the mark is in the text; if nil, all are.
	Flag func(flag int) string
	// Only is the ordinal of the one source whose passages are marked in the text; 0 marks the passages of all sources.
	Only int
	// NoText means that the text is not on the page, so nothing links to it.
	NoText bool
	page   func(at int) int // page of a byte of the text
	number func(i int) string
}

// place returns the address of the text page that contains byte at, without a fragment.
func (l *Links) place(at int) string {
	if l.Page == nil {
		return ""
	}
	return l.Page(l.page(at))
}

func (l *Links) showsLead(i int) bool { return l.LeadShown == nil || l.LeadShown(i) }

func (l *Links) passage(i int) string {
	if l.Passage == nil {
		return "#p" + l.number(i)
	}
	return l.Passage(i)
}

func (l *Links) source(i int) string {
	if l.Source == nil {
		return fmt.Sprintf("#s%d", i+1)
	}
	return l.Source(i)
}

// mark returns the address of evidence i in the text, or on its page.
func (d *doc) mark(i int) string {
	if d.links.Mark != nil {
		return d.links.Mark(i)
	}
	return d.links.place(d.r.Evidence[i].Span.Start) + "#m" + d.r.Number(i)
}

// View is a report prepared for display in parts, on pages that load on demand; [Write] writes the same parts as one file. Text is
// escaped as in [Write]. It is safe for concurrent use as long as the report does not change.
type View struct {
	base    doc
	all     []concordat.Span // all paragraphs
	cutting []int
	pages   []textPage
}

// textPage is a run of paragraphs; span also includes the text before them.
type textPage struct {
	span  concordat.Span
	first int // index of its first paragraph
	last  int // index after its last paragraph
}

// pageBytes is the approximate size of a text page: about three sheets of paper, so that a thesis has about 100 pages and each renders
// within a millisecond.
const pageBytes = 8 << 10

// NewView prepares r for display in its language. The cost is linear in the text and the passages.
func NewView(r *report.Report) *View {
	v := &View{base: *newDoc(nil, r)}
	v.base.page = nil
	for _, p := range paragraphs(v.base.full) {
		v.all = append(v.all, pieces(v.base.full, p)...)
	}
	v.cutting = v.base.cuts()
	v.paginate()
	return v
}

// pieces splits a very long paragraph between words; a text without blank lines is a single paragraph.
func pieces(text string, p concordat.Span) []concordat.Span {
	var out []concordat.Span
	for p.Len() > 2*pageBytes {
		at := p.Start + pageBytes
		if i := strings.LastIndexAny(text[p.Start:at], " \n"); i > pageBytes/2 {
			at = p.Start + i + 1
		}
		for at > p.Start && !utf8.RuneStart(text[at]) {
			at--
		}
		out = append(out, concordat.Span{Start: p.Start, End: at})
		p.Start = at
	}
	return append(out, p)
}

func (v *View) paginate() {
	at := 0
	for i := 0; i < len(v.all); {
		j := i
		for j < len(v.all) && (j == i || v.all[j].End-v.all[i].Start <= pageBytes) {
			j++
		}
		end := v.all[j-1].End
		if j == len(v.all) {
			end = len(v.base.full)
		}
		v.pages = append(v.pages, textPage{concordat.Span{Start: at, End: end}, i, j})
		i, at = j, end
	}
	if len(v.pages) == 0 {
		v.pages = []textPage{{}}
	}
}

// Pages returns the number of pages of the text, at least 1.
func (v *View) Pages() int { return len(v.pages) }

// PageOf returns the page of the text on which passage e begins.
func (v *View) PageOf(e int) int { return v.pageAt(v.base.r.Evidence[e].Span.Start) }

func (v *View) pageAt(at int) int {
	i, _ := slices.BinarySearchFunc(v.pages, at, func(p textPage, at int) int {
		if p.span.End <= at {
			return -1
		}
		return 1
	})
	return min(i, len(v.pages)-1)
}

// FirstOn returns the first passage that begins on the given page of the text or later, or the number of passages if there is none.
func (v *View) FirstOn(page int) int {
	start := v.pages[page].span.Start
	i, _ := slices.BinarySearchFunc(v.base.r.Evidence, start, func(e concordat.Evidence, at int) int {
		return cmp.Or(cmp.Compare(e.Span.Start, at), 1)
	})
	if start == 0 {
		return 0
	}
	return i
}

// part returns the markup that write produces.
func (v *View) part(l Links, write func(d *doc)) template.HTML {
	var b bytes.Buffer
	d := v.base
	d.page = &page{bufio.NewWriterSize(&b, 1<<12)}
	d.links = l
	d.links.page, d.links.number = v.pageAt, d.r.Number
	write(&d)
	_ = d.w.Flush() // writing to a buffer cannot fail
	return template.HTML(b.String())
}

// Result returns the scores and the sections, for a page that also has the Map and the Flags.
func (v *View) Result(l Links) template.HTML {
	return v.part(l, func(d *doc) {
		overview{d.prose, d.r, true}.result(nil)
	})
}

// Flags returns the flags for possible concealment and the notes about the file, or nothing if there are none.
func (v *View) Flags(l Links) template.HTML {
	return v.part(l, func(d *doc) {
		d.apart = true
		d.flags()
	})
}

// Legend explains the signs of the kinds of passages.
func (v *View) Legend() template.HTML {
	return v.part(Links{}, func(d *doc) { overview{d.prose, d.r, true}.legend() })
}

// Coverage returns a plain account of what was and was not checked.
func (v *View) Coverage() template.HTML {
	return v.part(Links{}, func(d *doc) { basis{d.prose, d.r, d.count}.coverage() })
}

// Method describes how the report was made, with its rules.
func (v *View) Method() template.HTML {
	return v.part(Links{}, func(d *doc) { basis{d.prose, d.r, d.count}.method() })
}

// Short returns the findings about short texts, or nothing if they were not requested.
func (v *View) Short() template.HTML { return v.part(Links{}, (*doc).short) }

// Leads returns the leads, or nothing if there are none.
func (v *View) Leads(l Links) template.HTML { return v.part(l, (*doc).leads) }

// Uncounted returns one line about the collapsed passages, with links to them below it, or nothing if there are none.
func (v *View) Uncounted(l Links) template.HTML { return v.part(l, uncounted) }

// Map returns the whole text as a strip with passages at their positions.
func (v *View) Map(l Links) template.HTML { return v.part(l, (*doc).smallMap) }

// Text returns page n of the text, 0 to Pages()-1, with its passages marked.
func (v *View) Text(n int, l Links) template.HTML {
	p := v.pages[n]
	return v.part(l, func(d *doc) {
		if strings.TrimSpace(d.full) == "" {
			d.note("The document contains no text.")
			return
		}
		d.raw(`<div class="body"`)
		if d.lang != "" {
			d.attr("lang", d.lang)
		}
		d.raw(">")
		m := v.marker(d, p.span.Start)
		for _, s := range v.all[p.first:p.last] {
			m.paragraph(s)
		}
		d.raw("</div>")
	})
}

// marker returns a marker in the state that it has after everything before byte at is written.
func (v *View) marker(d *doc, at int) marker {
	ends := func(s concordat.Span, at int) int { return cmp.Or(cmp.Compare(s.End, at), -1) }
	begins := func(s concordat.Span, at int) int { return cmp.Or(cmp.Compare(s.Start, at), 1) }
	m := marker{doc: d, cuts: v.cutting, flags: d.marksOfFlags, leads: d.leadMarks}
	m.cut, _ = slices.BinarySearch(m.cuts, at)
	m.evidence, _ = slices.BinarySearchFunc(d.r.Evidence, at, func(e concordat.Evidence, at int) int { return ends(e.Span, at) })
	m.numbered, _ = slices.BinarySearchFunc(d.r.Evidence, at, func(e concordat.Evidence, at int) int { return begins(e.Span, at) })
	m.covered, _ = slices.BinarySearchFunc(d.r.Covered, at, func(s report.Stretch, at int) int { return ends(s.Span, at) })
	m.lead, _ = slices.BinarySearchFunc(m.leads, at, func(l leadMark, at int) int { return ends(l.Span, at) })
	m.skip, _ = slices.BinarySearchFunc(d.r.Skipped, at, func(s concordat.Skipped, at int) int { return ends(s.Span, at) })
	m.flag, _ = slices.BinarySearchFunc(m.flags, at, func(f flagMark, at int) int { return ends(f.Span, at) })
	if m.begun = m.flag; m.flag < len(m.flags) && m.flags[m.flag].Start < at {
		m.begun++
	}
	return m
}

// Sources returns at most n ranked sources, starting with from, as list items.
func (v *View) Sources(from, n int, l Links) template.HTML {
	return v.part(l, func(d *doc) {
		for i := from; i < len(d.r.Sources) && i < from+n; i++ {
			d.rankedSource(i, d.r.Sources[i])
		}
	})
}

// passageBytes is the maximum number of bytes of source wording for one passage.
const passageBytes = 1 << 20

// Passage returns one passage next to each of its sources.
func (v *View) Passage(e int, l Links) template.HTML {
	return v.part(l, func(d *doc) {
		d.left = passageBytes
		d.evidence(e)
	})
}

// mapCells is the number of links in a small map.
const mapCells = 200

// smallMap draws the same map as mapStrip, in a size that does not depend on the number of passages.
func (d *doc) smallMap() {
	d.raw(`<svg viewBox="0 0 1000 34" preserveAspectRatio="none" role="group"`)
	d.attr("aria-label", d.in.Say("The document from beginning to end with %s", d.in.Plural(len(d.r.Evidence), "passage", "passages")))
	d.raw(">", patterns, `<rect class="ground" x="0" y="0" width="1000" height="30"/>`)
	d.skipStrip()
	by := map[string]*strings.Builder{}
	last := map[string]float64{}
	add := func(s concordat.Span, kind, colour string) {
		class := cmp.Or(colour, kind)
		x, w := d.axis.x(s.Start), max(d.axis.x(s.End)-d.axis.x(s.Start), 1.2)
		if by[class] == nil {
			by[class] = &strings.Builder{}
		} else if x+w < last[class]+0.3 { // it would not be visible next to its neighbour
			return
		}
		fmt.Fprintf(by[class], "M%.1f %dh%.1fv%dh-%.1fz", x, 30-level(kind), w, level(kind), w)
		last[class] = x + w
	}
	for _, e := range d.r.Evidence {
		if e.Excluded != "" {
			add(e.Span, class(e.Kind, e.Excluded), "")
		}
	}
	covered := d.r.Covered
	for i, e := range d.r.Evidence {
		for ; len(covered) > 0 && covered[0].Start < e.Span.End; covered = covered[1:] {
			add(covered[0].Span, class(covered[0].Kind, ""), d.hues.colour(i))
		}
	}
	for _, l := range d.leadMarks {
		add(l.Span, "lead", "")
	}
	for _, c := range drawn {
		if by[c] != nil {
			d.raw(`<path class="f-`, c, `" d="`, by[c].String(), `"/>`)
		}
	}
	flagStrip(d)
	d.mapLinks()
	d.raw("</svg>")
}

// mapLinks overlays a small map with links, each to the passages that begin in its cell.
func (d *doc) mapLinks() {
	for i := 0; i < len(d.r.Evidence); {
		cell := int(d.axis.x(d.r.Evidence[i].Span.Start)) * mapCells / 1000
		j, end := i, 0.0
		for ; j < len(d.r.Evidence) && int(d.axis.x(d.r.Evidence[j].Span.Start))*mapCells/1000 == cell; j++ {
			end = d.axis.x(d.r.Evidence[j].Span.End)
		}
		d.raw("<a")
		d.attr("href", d.mark(i))
		d.raw(` tabindex="-1"><title>`)
		if j == i+1 {
			d.text(d.label(i))
		} else {
			d.say("Passages %s to %s", d.r.Number(i), d.r.Number(j-1))
		}
		at := d.axis.x(d.r.Evidence[i].Span.Start)
		d.raw(fmt.Sprintf(`</title><rect class="cell" x="%.1f" y="0" width="%.1f" height="34"/></a>`, at, max(end-at, 3)))
		i = j
	}
}
