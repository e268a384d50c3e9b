package pdf

import (
	"slices"
	"strings"

	"concordat/report"
)

// The first two pages summarise the report for a committee: [report.Board]. Their length in lines is bounded, so that the full report
// always begins on page 3.

// Maximum lines for parts of the two pages.
const (
	boardTitle    = 3
	boardHeadline = 5
	boardFact     = 1
	boardRow      = 2
	boardFound    = 2
	boardName     = 2
	boardExcerpt  = 10 // lines on each side of a passage, if the verdict leaves enough space
	boardDecision = 2
)

// writeBoard draws the two pages.
func writeBoard(d *doc) {
	r := *d.r
	if r.Review == nil {
		r.Review = reviewOf(d.o.Notes)
	}
	b := report.NewBoard(&r)
	if d.o.Site != "" {
		b.Facts = slices.DeleteFunc(b.Facts, func(f [2]string) bool { return f[0] == d.in.Say("Site") })
		b.Facts = append([][2]string{{d.in.Say("Site"), d.o.Site}}, b.Facts...)
	}
	boardFirst(d, b)
	d.page()
	boardSecond(d, b)
	d.page()
}

// reviewOf returns a review based on people's notes, for a report without one, or nil if the notes contain no verdict.
func reviewOf(notes []Note) *report.Review {
	var out *report.Review
	for _, n := range notes {
		switch {
		case n.Kind == NoteVerdict:
			out = &report.Review{Verdict: n.Verdict, Reason: n.Text, By: n.By, At: n.At}
		case n.Kind == NoteSignOff && out != nil:
			out.Signed = append(out.Signed, report.SignedOff{By: n.By, At: n.At})
		}
	}
	return out
}

// boardFirst writes whose text was checked, what it was compared with and what counts.
func boardFirst(d *doc, b report.Board) {
	d.bookmark(d.in.Say("Summary"), 0)
	d.para(margin, textWidth, run{"Concordat · " + d.in.Say("similarity report"), textStyle{size: sizeText, grey: true}})
	d.y += 4
	d.as("H1", func() {
		bounded(d, margin, textWidth, boardTitle, run{d.title(), textStyle{size: sizeTitle, bold: true, wording: true}})
	})
	d.y += 4
	big := d.in.Say("not measured")
	if s := d.r.Scores; s.Measured() {
		big = d.in.Percent(s.Covered)
	}
	d.para(margin, textWidth, run{big, textStyle{size: 30, bold: true}})
	d.y += 2
	bounded(d, margin, textWidth, boardHeadline, strong(d.r.Headline()))
	d.y += 2
	bounded(d, margin, textWidth, boardHeadline, run{strings.TrimSpace(d.in.Join([]string{d.r.Reading(), d.r.Conclusion()})),
		textStyle{size: sizeSmall, grey: true}})
	d.heading("Document and author")
	for _, f := range append([][2]string{{d.in.Say("Author"), ""}}, b.Facts...) {
		writeFact(d, f[0], f[1])
	}
	below := countsHeight(d, b)
	d.heading("What was compared")
	for i, s := range b.Compared {
		n := int((bottom - below - d.y) / (sizeText*leading + 2))
		if n < 1 {
			break
		}
		if last := n <= 2 && i < len(b.Compared)-1; last {
			d.item(body(d.in.Say("%s more, in the full report.", d.in.Plural(len(b.Compared)-i, "entry", "entries"))))
			break
		}
		boundedItem(d, min(n-1, boardDecision), body(s))
	}
	d.heading("What counts")
	writeCounts(d, b)
}

// writeFact writes a name and a value; an empty value becomes a line to write on.
func writeFact(d *doc, name, value string) {
	li := d.at.last("L").child("LI")
	const x = margin + 110
	d.columns(sizeText, []float64{margin, x}, [][][]piece{
		lines(d.pieces([]run{{name, textStyle{size: sizeText, grey: true}}}), 104),
		fit(d, textWidth-110, boardFact, wording([]run{body(value)}))}, []*element{li.child("Lbl"), li.child("LBody")})
	if value == "" {
		d.rule(0.4, x, d.y-2, pageWidth-margin, d.y-2)
	}
}

// countsHeight returns the height in points of the output of writeCounts with its heading.
func countsHeight(d *doc, b report.Board) float64 {
	h := 12 + sizeHeading*leading + 7.0
	for _, c := range b.Counts {
		n := 1
		for i, w := range countWidths {
			n = max(n, len(fit(d, w*textWidth-6, boardRow, []run{{c[i], textStyle{size: sizeSmall}}})))
		}
		h += float64(n)*sizeSmall*leading + 4
	}
	for _, s := range b.Found {
		h += float64(len(fit(d, textWidth-14, boardFound, []run{body(s)})))*sizeText*leading + 2
	}
	return h + 4
}

// countWidths are the column widths of the table of counts, as shares of the total.
var countWidths = []float64{0.5, 0.5}

func writeCounts(d *doc, b report.Board) {
	if len(b.Counts) == 0 {
		bounded(d, margin, textWidth, 1, body(d.in.Say("Nothing was compared. This report says nothing about the text.")))
	}
	var rows [][]string
	for _, c := range b.Counts {
		row := make([]string, len(c))
		for i, w := range countWidths {
			row[i] = cutTo(d, w*textWidth-6, boardRow, c[i], textStyle{size: sizeSmall})
		}
		rows = append(rows, row)
	}
	if rows != nil {
		d.table("", countWidths, nil, rows)
	}
	for _, s := range b.Found {
		boundedItem(d, boardFound, body(s))
	}
}

// boardSecond writes the largest passages, the verdict and the space for signatures.
func boardSecond(d *doc, b report.Board) {
	d.heading(b.PassagesTitle())
	if len(b.Passages) == 0 {
		d.text(b.None)
	}
	w := (textWidth - gutter) / 2
	small := textStyle{size: sizeSmall}
	excerpt := excerptLines(d, b)
	for _, p := range b.Passages {
		d.y += 3
		d.as("H3", func() {
			bounded(d, margin, textWidth, 1, strong(d.in.Say("%s. %s", p.Number, capital(p.Kind))), faint("  "+p.Size))
		})
		source := []run{{p.Source, textStyle{size: sizeSmall, bold: true, wording: true}}}
		if p.Place != "" {
			source = append(source, faint("  "+p.Place))
		}
		bounded(d, margin, textWidth, boardName, source...)
		table := d.at.child("Table")
		heads, sides := table.child("TR"), table.child("TR")
		xs := []float64{margin, margin + w + gutter}
		d.columns(sizeSmall, xs, [][][]piece{lines(d.pieces([]run{faint(d.in.Say("Checked text"))}), w),
			lines(d.pieces([]run{faint(d.in.Say("Source"))}), w)}, []*element{heads.child("TH"), heads.child("TH")})
		here, there := small, small
		here.wording, there.wording, there.grey = true, p.Shown, !p.Shown
		d.columns(sizeSmall, xs, [][][]piece{fit(d, w, excerpt, []run{{p.Here, here}}), fit(d, w, excerpt, []run{{p.There, there}})},
			[]*element{sides.child("TD"), sides.child("TD")})
		d.y += 3
	}
	d.heading("Verdict")
	for _, s := range b.Decided {
		boundedItem(d, boardDecision, wording([]run{body(s)})...)
	}
	if len(b.Decided) == 0 {
		d.text(d.in.Say("No verdict is recorded in this file."))
		writeTicks(d, b.Verdicts)
	}
	d.heading("Signed by")
	writeSignatures(d)
	if d.o.Signing == "" {
		d.note("This file is not signed.")
	} else {
		d.note("Every byte of this file is signed by the site; its last page says how to verify that.")
	}
	d.note("The full report begins on page 3.")
}

// excerptLines returns how many lines of each side of a passage fit on the second page.
func excerptLines(d *doc, b report.Board) int {
	const heading = 12 + sizeHeading*leading + 7
	left := bottom - d.y - 2*heading - signatureHeight - 2*(sizeSmall*leading+3) - (sizeText*leading + 2)
	for _, s := range b.Decided {
		left -= float64(len(fit(d, textWidth-14, boardDecision, []run{body(s)})))*sizeText*leading + 2
	}
	each := left/float64(max(len(b.Passages), 1)) - 6 - sizeText*leading - (boardName+1)*sizeSmall*leading
	return min(max(int(each/(sizeSmall*leading)), 1), boardExcerpt)
}

// writeTicks draws each of the words after a tick box.
func writeTicks(d *doc, words []string) {
	const side = 8
	x := float64(margin)
	d.y += 2
	h := sizeText * leading
	p := d.at.child("P")
	for _, s := range words {
		line := lines(d.pieces([]run{body(s)}), textWidth)[0]
		d.artifact("/Type /Layout", func() {
			d.f.SetLineWidth(0.6)
			d.f.Rect(x, d.y+(h-side)/2, side, side, "D")
		})
		d.mark(p, func() { d.draw(line, x+side+5, d.y, h) })
		for _, l := range line {
			x += l.width
		}
		x += side + 23
	}
	d.y += h
}

// The number of rows in the table of signatures, and the heights of a row and of the table in points.
const (
	signatureRows   = report.BoardSignatures
	signatureRow    = 25
	signatureHeight = sizeSmall*leading + signatureRows*signatureRow + 6
)

// writeSignatures draws a table for handwritten signatures.
func writeSignatures(d *doc) {
	shares := []float64{0.28, 0.24, 0.16, 0.32}
	cols, xs, at := make([][][]piece, len(shares)), make([]float64, len(shares)), make([]*element, len(shares))
	table := d.at.child("Table")
	tr := table.child("TR")
	x := float64(margin)
	for i, name := range report.BoardColumns() {
		xs[i] = x + 2
		cols[i], at[i] = lines(d.pieces([]run{faint(d.in.Say(name))}), shares[i]*textWidth-6), tr.child("TH")
		x += shares[i] * textWidth
	}
	d.columns(sizeSmall, xs, cols, at)
	d.rule(0.6, margin, d.y+1, pageWidth-margin, d.y+1)
	for range signatureRows {
		tr := table.child("TR")
		for range shares {
			tr.child("TD") // blank for handwriting
		}
		d.y += signatureRow
		d.rule(0.4, margin, d.y, pageWidth-margin, d.y)
	}
	d.y += 6
}

// bounded is like para, limited to n lines.
func bounded(d *doc, x, w float64, n int, runs ...run) { d.para(x, w, trim(d, w, n, runs)...) }

// boundedItem is like item, limited to n lines.
func boundedItem(d *doc, n int, runs ...run) { d.item(trim(d, textWidth-14, n, runs)...) }

// fit breaks runs into at most n lines of width w.
func fit(d *doc, w float64, n int, runs []run) [][]piece {
	return lines(d.pieces(trim(d, w, n, runs)), w)
}

// cutTo returns the part of text that fits on n lines of width w.
func cutTo(d *doc, w float64, n int, text string, style textStyle) string {
	out := ""
	for _, r := range trim(d, w, n, []run{{text, style}}) {
		out += r.text
	}
	return out
}

// trim returns the part of runs that fits on n lines of width w, with an ellipsis if anything is omitted.
func trim(d *doc, w float64, n int, runs []run) []run {
	escaped := d.escaped // count only the characters actually drawn
	defer func() { d.escaped = escaped }()
	if len(lines(d.pieces(runs), w)) <= n {
		return runs
	}
	total := 0
	for _, r := range runs {
		total += len([]rune(r.text))
	}
	total = min(total, n*int(w)) // almost no letter is narrower than one point
	low, high := 0, total        // low characters always fit, and high+1 never do
	for high-low > 1 {
		k := (low + high) / 2
		if len(lines(d.pieces(firstRunes(runs, k)), w)) <= n {
			low = k
		} else {
			high = k
		}
	}
	return firstRunes(runs, low)
}

// firstRunes returns the first n code points of runs, followed by an ellipsis.
func firstRunes(runs []run, n int) []run {
	var out []run
	for _, r := range runs {
		letters := []rune(r.text)
		if len(letters) >= n {
			r.text = string(letters[:n]) + "…"
			return append(out, r)
		}
		out = append(out, r)
		n -= len(letters)
	}
	return out
}
