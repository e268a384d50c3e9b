package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"concordat"
)

// CSVOptions configure how a table is written. The zero value produces output for programs.
type CSVOptions struct {
	// BOM starts the file with a byte order mark; without one, spreadsheet programs on Windows assume a local encoding instead of UTF-8.
	BOM bool
}

// csvColumns are the columns of WriteCSV, in order.
var csvColumns = []string{"passage", "start", "end", "kind", "counted", "why_not", "section", "site", "library", "document",
	"title", "source_start", "source_end", "source_kind", "closeness", "similarity", "text", "source_text",
	"characters", "cited", "documents", "source_date", "date_of", "oldest", "later", "place", "shared_words",
	"verdict", "verdict_by", "signed_off", "verdict_stale", "lead", "lead_by", "lead_reason",
	"source_share", "source_share_low", "source_share_high", "source_letter", "also_in", "identifiers", "own_work",
	"kinds", "source_kinds"}

// CSVColumns returns the number of columns of WriteCSV.
func CSVColumns() int { return len(csvColumns) }

// WriteCSV writes a header row, one row for each passage and source, and then one for each lead that r.LeadFilter selects (RFC 4180,
// CRLF). Positions are Unicode code points; source positions are empty if only byte offsets are known. No spreadsheet program interprets
// a cell as a formula; see CSVWriter.
func WriteCSV(w io.Writer, r *Report, o CSVOptions) error {
	if o.BOM {
		if _, err := io.WriteString(w, "\ufeff"); err != nil {
			return err
		}
	}
	in := newWriting(r)
	c := NewCSV(w, csvColumns...)
	for i, e := range r.Evidence {
		for _, s := range e.Sources {
			c.Row(in.sourceRow(i, e, s)...)
		}
	}
	for _, l := range r.Leads {
		if r.ShowsLead(l) {
			c.Row(in.leadRow(l)...)
		}
	}
	return c.End()
}

// leadRow returns the row of a lead. A lead is not a passage and is never counted as one. The last columns contain the decision about it.
func (w writing) leadRow(l RuledLead) []string {
	here, characters, similarity := w.count.Points(l.Span), 0, 0.0
	for _, p := range l.Pairs {
		characters += w.count.Characters(p.Span)
		similarity += p.Similarity / float64(len(l.Pairs))
	}
	row := []string{
		l.Number, strconv.Itoa(here.Start), strconv.Itoa(here.End), string(concordat.KindLead), yes(false), string(concordat.KindLead), "",
		string(l.Source.Site), string(l.Source.Library), string(l.Source.Document), l.Title,
		strconv.Itoa(l.SourcePoints.Start), strconv.Itoa(l.SourcePoints.End), string(l.Kind), "",
		strconv.FormatFloat(round(similarity), 'f', -1, 64), l.Span.In(w.r.Submission.Text), l.Text,
		strconv.Itoa(characters), "", "", "", "", "", "", w.r.Place(l.Source), "",
	}
	own := ""
	if l.Own != nil {
		own = l.Own.By
	}
	return append(append(row, w.decisions()...), string(l.State), w.r.Names.Person(l.Ruling.By), l.Ruling.Comment,
		"", "", "", "", "", "", own, "", "")
}

func (w writing) sourceRow(i int, e concordat.Evidence, s concordat.Source) []string {
	here := w.count.Points(s.Here)
	section, from, to := "", "", ""
	if e.Section >= 0 && e.Section < len(w.r.Sections) {
		section = w.r.Sections[e.Section].Name
	}
	if s.Points.Len() > 0 {
		from, to = strconv.Itoa(s.Points.Start), strconv.Itoa(s.Points.End)
	}
	var wording, shared []string
	for _, p := range s.Parts {
		if words := SharedWords(w.r.Submission.Text, p); words != "" {
			shared = append(shared, words)
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
		w.r.Number(i), strconv.Itoa(here.Start), strconv.Itoa(here.End), string(e.Kind),
		yes(s.Excluded == ""), string(s.Excluded), section,
		string(s.Site), string(s.Library), string(s.Document), s.Title, from, to,
		string(s.Kind), English.ClosenessOf(s.Kind, s.Similarity), strconv.FormatFloat(round(s.Similarity), 'f', -1, 64),
		s.Here.In(w.r.Submission.Text), strings.Join(wording, "\n[…]\n"),
		strconv.Itoa(e.Characters), yes(e.Cited), documents, string(s.Date), string(s.By), yes(s.Oldest), yes(s.Later),
		w.r.Place(s.Ref), strings.Join(shared, "\n[…]\n"),
	}
	return slices.Concat(row, w.decisions(), []string{"", "", ""}, csvShare(w.r, s.Ref), csvWork(w.r, s.Ref),
		[]string{csvKinds(e.Kinds), csvKinds(s.Kinds)})
}

// csvKinds returns kinds with their numbers of characters, or "" if all characters are of one kind.
func csvKinds(kinds []concordat.KindCount) string {
	var out []string
	for _, k := range several(kinds) {
		out = append(out, fmt.Sprintf("%s %d", k.Kind, k.Characters))
	}
	return strings.Join(out, "; ")
}

// csvWork returns the cells that are the same on every row of a source: its letter, other locations and addresses of its work, and the
// reason for proposing that the work is the author's own.
func csvWork(r *Report, ref concordat.Ref) []string {
	i := r.Source(ref)
	if i < 0 {
		return []string{"", "", "", ""}
	}
	s := r.Sources[i]
	also, own := []string{}, ""
	for _, c := range s.AllPlaces() {
		if c != ref {
			also = append(also, r.Place(c))
		}
	}
	if s.Own != nil {
		own = s.Own.By
	}
	return []string{s.Letter(), strings.Join(also, "; "), strings.Join(s.Addresses(), " "), own}
}

// csvShare returns the share of a source, and its bounds if it is an estimate. They are the same on every row of the source.
func csvShare(r *Report, ref concordat.Ref) []string {
	number := func(v float64) string { return strconv.FormatFloat(round(v), 'f', -1, 64) }
	i := r.Source(ref)
	switch {
	case i < 0:
		return []string{"", "", ""}
	case r.Sources[i].Estimate == nil:
		return []string{number(r.Sources[i].Share), "", ""}
	}
	b := r.Sources[i].Estimate
	return []string{number(r.Sources[i].Share), number(b.Low), number(b.High)}
}

// decisions returns people's decisions about the report, which are the same on every row: the verdict, its author, the person who signed
// it off, and whether the rules have changed since. Without a verdict, all cells are empty.
func (w writing) decisions() []string {
	v := w.r.Review
	if v == nil {
		return []string{"", "", "", ""}
	}
	var signed []string
	for _, s := range v.Signed {
		signed = append(signed, w.r.Names.Person(s.By))
	}
	return []string{v.Verdict, w.r.Names.Person(v.By), strings.Join(signed, "; "), yes(v.Stale)}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
