package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"concordat"
)

// CSVOptions say how a table is written. The zero value suits programs.
type CSVOptions struct {
	// BOM begins the file with a byte order mark, without which spreadsheet programs on Windows
	// take UTF-8 for a local encoding.
	BOM bool
}

// csvColumns are the columns of WriteCSV, in order.
var csvColumns = []string{"passage", "start", "end", "kind", "counted", "why_not", "section", "site", "library", "document",
	"title", "source_start", "source_end", "source_kind", "closeness", "similarity", "text", "source_text",
	"characters", "cited", "documents", "source_date", "date_of", "oldest", "later", "place", "shared_words",
	"verdict", "verdict_by", "signed_off", "verdict_stale", "lead", "lead_by", "lead_reason"}

// CSVColumns is the number of columns of WriteCSV.
func CSVColumns() int { return len(csvColumns) }

// WriteCSV writes one row for each passage and source, and then one for each lead of r.LeadFilter (RFC 4180, CRLF), under a row of
// column names. Positions are Unicode code points; those of a source are empty where only its bytes are
// known. A cell that a spreadsheet would take for a formula begins with an apostrophe.
func WriteCSV(w io.Writer, r *Report, o CSVOptions) error {
	if o.BOM {
		if _, err := io.WriteString(w, "\ufeff"); err != nil {
			return err
		}
	}
	count := NewCounter(r.Submission.Text)
	c := csv.NewWriter(w)
	c.UseCRLF = true
	if err := c.Write(csvColumns); err != nil {
		return err
	}
	for i, e := range r.Evidence {
		for _, s := range e.Sources {
			if err := c.Write(r.csvRow(count, i, e, s)); err != nil {
				return err
			}
		}
	}
	for _, l := range r.Leads {
		if !r.ShowsLead(l) {
			continue
		}
		if err := c.Write(r.csvLead(count, l)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// csvLead is the row of a lead, which is no passage: it is never counted as one, and its last columns say what somebody decided.
func (r *Report) csvLead(count *Counter, l RuledLead) []string {
	here, characters, similarity := count.Points(l.Span), 0, 0.0
	for _, p := range l.Pairs {
		characters += count.Characters(p.Span)
		similarity += p.Similarity / float64(len(l.Pairs))
	}
	row := []string{
		l.Number, strconv.Itoa(here.Start), strconv.Itoa(here.End), string(concordat.KindLead), yes(false), string(concordat.KindLead), "",
		Cell(string(l.Source.Site)), Cell(string(l.Source.Library)), Cell(string(l.Source.Document)), Cell(l.Title),
		strconv.Itoa(l.SourcePoints.Start), strconv.Itoa(l.SourcePoints.End), Cell(string(l.Kind)), "",
		strconv.FormatFloat(round(similarity), 'f', -1, 64), Cell(l.Span.In(r.Submission.Text)), Cell(l.Text),
		strconv.Itoa(characters), "", "", "", "", "", "", Cell(r.Place(l.Source)), "",
	}
	return append(append(row, r.csvReview()...), string(l.State), Cell(l.Ruling.By), Cell(l.Ruling.Comment))
}

func (r *Report) csvRow(count *Counter, i int, e concordat.Evidence, s concordat.Source) []string {
	here := count.Points(s.Here)
	section, from, to := "", "", ""
	if e.Section >= 0 && e.Section < len(r.Sections) {
		section = r.Sections[e.Section].Name
	}
	if s.Points.Len() > 0 {
		from, to = strconv.Itoa(s.Points.Start), strconv.Itoa(s.Points.End)
	}
	var wording, shared []string
	for _, p := range s.Parts {
		if w := SharedWords(r.Submission.Text, p); w != "" {
			shared = append(shared, w)
		}
		if p.Text != "" {
			wording = append(wording, p.Text)
		}
	}
	documents := ""
	if n := s.Documents(); n > 0 {
		documents = strconv.Itoa(n)
	}
	row := []string{
		r.Number(i), strconv.Itoa(here.Start), strconv.Itoa(here.End), Cell(string(e.Kind)),
		yes(s.Excluded == ""), Cell(string(s.Excluded)), Cell(section),
		Cell(string(s.Site)), Cell(string(s.Library)), Cell(string(s.Document)), Cell(s.Title), from, to,
		Cell(string(s.Kind)), Closeness(s.Similarity), strconv.FormatFloat(round(s.Similarity), 'f', -1, 64),
		Cell(s.Here.In(r.Submission.Text)), Cell(strings.Join(wording, "\n[…]\n")),
		strconv.Itoa(e.Characters), yes(e.Cited), documents, Cell(string(s.Date)), Cell(string(s.By)), yes(s.Oldest), yes(s.Later),
		Cell(r.Place(s.Ref)), Cell(strings.Join(shared, "\n[…]\n")),
	}
	return append(append(row, r.csvReview()...), "", "", "")
}

// csvReview has the decisions of people about the report, the same on each row: the verdict, who gave it, who signed it off,
// and whether the rules have changed since. Without a verdict all are empty.
func (r *Report) csvReview() []string {
	v := r.Review
	if v == nil {
		return []string{"", "", "", ""}
	}
	var signed []string
	for _, s := range v.Signed {
		signed = append(signed, s.By)
	}
	return []string{v.Verdict, Cell(v.By), Cell(strings.Join(signed, "; ")), yes(v.Stale)}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// formulaStarts begin a formula or its argument in some spreadsheet program; the full-width forms
// are folded to the plain ones by programs set to Japanese or Chinese.
const formulaStarts = "=+-@\t\r＝＋－＠"

// Cell makes s a text in every spreadsheet program (OWASP, CSV injection). The check looks behind
// white space, which some programs strip, and control characters are dropped.
func Cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	if strings.HasPrefix(s, "\t") || strings.IndexAny(strings.TrimLeft(s, " \n\t\u00a0\u3000\ufeff"), formulaStarts) == 0 {
		return "'" + s
	}
	return s
}
