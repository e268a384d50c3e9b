// Package pdf writes reports as PDF files, and signs and reads such files.
//
// [Write] produces the pages: a two-page summary for a committee, then the full report. [Seal] attaches files, above all the report in
// JSON, and adds a signature over every byte; [Open] reads both back. The package neither signs nor verifies; it passes the bytes to the
// caller, who holds the keys.
//
// Pages contain the full wording of passages and sources. A character that is invisible or missing from both embedded fonts appears as
// its code point in a box, for example [U+3400]; none is omitted. The file is tagged for screen readers, as PDF/UA-1 requires.
package pdf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"

	"concordat"
	"concordat/report"
)

// Options specify the contents of the file in addition to the report. The zero value adds nothing.
type Options struct {
	Site    string // display name of the site that made the report
	Program string // name and version of the program that made the report
	Notes   []Note // people's comments on the check, oldest first
	// Signing tells readers what signs the file, for example with the fingerprint of a certificate. If it is empty, the pages state that
	// the file is not signed.
	Signing string
}

// NoteKind is the kind of a Note.
type NoteKind string

// The kinds of notes.
const (
	NoteComment NoteKind = "comment"
	NoteVerdict NoteKind = "verdict"
	NoteSignOff NoteKind = "signoff" // another officer agreed with the latest verdict
)

// Note is a person's comment on a check.
type Note struct {
	At      time.Time
	By      string
	Kind    NoteKind
	Verdict string // code of a verdict: clear, discuss or suspected
	Text    string
	Place   concordat.Span // place in the submission; empty if the comment is about all of it
}

// A4, in points.
const (
	pageWidth  = 595.28
	pageHeight = 841.89
	margin     = 48
	top        = 58
	bottom     = pageHeight - 52
	textWidth  = pageWidth - 2*margin
)

// Type sizes, in points.
const (
	sizeTitle   = 17
	sizeHeading = 13
	sizeText    = 9.5
	sizeSmall   = 8
)

// doc is the file being written.
type doc struct {
	f       *fpdf.Fpdf
	faces   []*face
	r       *report.Report
	o       Options
	full    string // text of the submission
	count   *report.Counter
	in      report.Language
	y       float64 // top of the next line
	level   int     // grey level of the text
	escaped int     // number of characters displayed as code points
	left    int     // bytes still available for wording
	rank    map[concordat.Ref]int
	parted  bool        // whether a heading has started a part
	root    *element    // root of the structure
	at      *element    // element that receives the next line
	marks   map[int]int // number of marked contents on each page so far
	links   []*link     // external links, in order of position
}

// maxWording is the maximum number of bytes of wording on the pages; if a report has more, the pages say so, and the JSON has all of it.
const maxWording = 12 << 20

// Write returns the pages of a report as a PDF file. The same report and options always produce the same bytes. The cost is linear in the
// number of passages and sources.
func Write(r *report.Report, o Options) ([]byte, error) {
	fs, err := faces()
	if err != nil {
		return nil, err
	}
	d := &doc{f: fpdf.New("P", "pt", "A4", ""), faces: fs, r: r, o: o, full: r.Submission.Text, count: report.NewCounter(r.Submission.Text),
		in: r.Language, left: maxWording, rank: make(map[concordat.Ref]int, len(r.Sources)), root: &element{kind: "Document"},
		marks: map[int]int{}}
	d.at = d.root
	for i, s := range r.Sources {
		for _, ref := range s.AllPlaces() {
			d.rank[ref] = i
		}
	}
	d.begin()
	d.page()
	writeBoard(d)
	d.front()
	d.result()
	d.later()
	d.notes()
	d.coverage()
	d.sources()
	writeWorks(d)
	d.passages()
	d.leads()
	d.short()
	d.method()
	d.verifying()
	d.feet()
	var b bytes.Buffer
	if err := d.f.Output(&b); err != nil {
		return nil, fmt.Errorf("write pdf: %w", err)
	}
	out, err := d.tagged(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("write pdf: structure: %w", err)
	}
	return out, nil
}

// begin sets the properties of the file.
func (d *doc) begin() {
	f := d.f
	for _, x := range d.faces {
		f.AddUTF8FontFromBytes(x.name, "", x.bytes)
	}
	f.SetAutoPageBreak(false, 0)
	f.SetMargins(margin, top, margin)
	f.SetCatalogSort(true)
	made := d.r.Made.UTC()
	if d.r.Made.IsZero() {
		made = time.Unix(0, 0).UTC()
	}
	f.SetCreationDate(made)
	f.SetModificationDate(made)
	f.SetTitle(plain(d.title()+" – "+d.in.Say("similarity report")), true)
	f.SetSubject(plain(d.r.Headline()), true)
	f.SetAuthor(plain(d.o.Site), true)
	f.SetCreator(plain(strings.TrimSpace("Concordat "+d.o.Program)), true)
	f.SetProducer("Concordat", true)
	f.SetLang(d.in.Tag())
	f.SetDisplayMode("fullwidth", "continuous")
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

func (d *doc) page() {
	d.f.AddPage()
	d.y = top
}

// room starts a new page if less than h is left on the current one.
func (d *doc) room(h float64) {
	if d.y+h > bottom && d.y > top {
		d.page()
	}
}

// columns draws texts side by side, each in a column of its given width, and continues all of them on the next page if they do not fit.
// On each page, every column is written in full before the next one, so that programs read the page column by column. Column i becomes
// content of element at[i], or of no element if at[i] is nil.
func (d *doc) columns(size float64, xs []float64, cols [][][]piece, at []*element) {
	h, most := size*leading, 0
	for _, c := range cols {
		most = max(most, len(c))
	}
	for from := 0; from < most; {
		n := min(int((bottom-d.y)/h), most-from)
		if n < 1 {
			if d.y <= top {
				n = 1
			} else {
				d.page()
				continue
			}
		}
		for i, c := range cols {
			if !drawnLines(c[min(from, len(c)):min(from+n, len(c))]) {
				continue
			}
			d.mark(at[i], func() {
				for k := from; k < min(from+n, len(c)); k++ {
					d.draw(c[k], xs[i], d.y+float64(k-from)*h, h)
				}
			})
		}
		d.y += float64(n) * h
		from += n
	}
}

// drawnLines reports whether the lines draw anything.
func drawnLines(ls [][]piece) bool {
	return slices.ContainsFunc(ls, func(l []piece) bool { return slices.ContainsFunc(l, func(p piece) bool { return !p.newRow }) })
}

// para writes runs as a paragraph, or as content of the current heading, item or cell.
func (d *doc) para(x, w float64, runs ...run) {
	e := d.at
	if !e.leaf() {
		e = e.child("P")
	}
	size := 0.0
	for _, r := range runs {
		size = max(size, r.size)
	}
	d.columns(size, []float64{x}, [][][]piece{lines(d.pieces(runs), w)}, []*element{e})
}

// text writes a paragraph in the normal style.
func (d *doc) text(s string) { d.para(margin, textWidth, run{s, textStyle{size: sizeText}}) }

// note writes a remark of the report itself.
func (d *doc) note(english string) {
	d.para(margin, textWidth, run{d.in.Say(english), textStyle{size: sizeSmall, grey: true}})
	d.y += 3
}

// item writes one line of a list.
func (d *doc) item(runs ...run) {
	d.room(sizeText * leading)
	li := d.at.last("L").child("LI")
	d.mark(li.child("Lbl"), func() {
		d.draw(lines(d.pieces([]run{{"•", textStyle{size: sizeText}}}), 20)[0], margin+2, d.y, sizeText*leading)
	})
	d.within(li.child("LBody"), func() { d.para(margin+14, textWidth-14, runs...) })
	d.y += 2
}

func body(s string) run   { return run{s, textStyle{size: sizeText}} }
func strong(s string) run { return run{s, textStyle{size: sizeText, bold: true}} }
func faint(s string) run  { return run{s, textStyle{size: sizeSmall, grey: true}} }

// heading starts a part of the report, with a bookmark.
func (d *doc) heading(english string) {
	s := d.in.Say(english)
	d.room(70)
	if d.y > top {
		d.y += 12
	}
	d.bookmark(s, 0)
	d.parted = true
	d.as("H2", func() { d.para(margin, textWidth, run{s, textStyle{size: sizeHeading, bold: true}}) })
	d.rule(0.6, margin, d.y+1, pageWidth-margin, d.y+1)
	d.y += 7
}

// sub starts a subsection of a part.
func (d *doc) sub(s string) {
	d.room(44)
	d.y += 6
	level := "H3"
	if !d.parted {
		level = "H2" // directly below the title
	}
	d.as(level, func() { d.para(margin, textWidth, run{s, textStyle{size: sizeText + 1, bold: true}}) })
	d.y += 2
}

func (d *doc) bookmark(s string, level int) {
	d.f.SetFont(d.faces[0].name, "", sizeText) // fpdf encodes a bookmark as the current font requires
	d.f.Bookmark(shorten(plain(s), 90), level, d.y)
}

// table writes rows of cells under a caption. shares are the column widths as fractions of the total.
func (d *doc) table(caption string, shares []float64, head []string, rows [][]string) {
	if caption != "" {
		d.sub(caption)
	}
	xs, ws := make([]float64, len(shares)), make([]float64, len(shares))
	x := float64(margin)
	for i, s := range shares {
		xs[i], ws[i] = x+2, s*textWidth-6
		x += s * textWidth
	}
	table := d.at.child("Table")
	// A table head repeated on a later page is not part of the table's text.
	row := func(cells []string, bold, repeated bool) {
		cols, at := make([][][]piece, len(cells)), make([]*element, len(cells))
		kind, tr := "TD", table
		if bold {
			kind = "TH"
		}
		if !repeated {
			tr = table.child("TR")
		}
		for i, c := range cells {
			cols[i] = lines(d.pieces([]run{{c, textStyle{size: sizeSmall, bold: bold}}}), ws[i])
			if !repeated {
				at[i] = tr.child(kind)
			}
		}
		d.room(sizeSmall * leading * 2)
		d.y += 2
		d.columns(sizeSmall, xs, cols, at)
		d.rule(0.3, margin, d.y+1.5, pageWidth-margin, d.y+1.5)
		d.y += 2
	}
	if head != nil {
		for i := range head {
			head[i] = d.in.Say(head[i])
		}
		row(head, true, false)
	}
	for _, r := range rows {
		if head != nil && d.y+3*sizeSmall*leading > bottom {
			d.page()
			row(head, true, true)
		}
		row(r, false, false)
	}
	d.y += 4
}

// feet writes the page number and the title of the report on every page.
func (d *doc) feet() {
	n := d.f.PageCount()
	title := shorten(d.title(), 60)
	for i := 1; i <= n; i++ {
		d.f.SetPage(i)
		// Each page has its own state, so setting an unused size makes fpdf write font and size again.
		d.f.SetFont(d.faces[0].name, "", 1)
		d.level = -1
		number := lines(d.pieces([]run{faint(d.in.Say("Page %d of %d", i, n))}), textWidth)[0]
		w := 0.0
		for _, p := range number {
			w += p.width
		}
		left := lines(d.pieces([]run{faint(title + " · " + d.in.Say("similarity report") + siteOf(d.o.Site))}), textWidth-w-20)[0]
		d.artifact("/Type /Pagination /Subtype /Footer", func() {
			d.draw(left, margin, bottom+16, sizeSmall*leading)
			d.draw(number, pageWidth-margin-w, bottom+16, sizeSmall*leading)
		})
	}
}

func siteOf(s string) string {
	if s == "" {
		return ""
	}
	return " · " + shorten(s, 40)
}
