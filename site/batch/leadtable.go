package batch

import (
	"io"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/report"
)

// LeadLine is a lead between two documents of a batch, in machine-readable form. Spans are in code points.
type LeadLine struct {
	Type       string           `json:"type"` // "lead"
	A          string           `json:"a"`    // restates or summarises b
	B          string           `json:"b"`
	NumberA    int              `json:"number_a"` // members' numbers, from 1
	NumberB    int              `json:"number_b"`
	Span       concordat.Span   `json:"span"`        // in a
	SourceSpan concordat.Span   `json:"source_span"` // in b
	Kind       report.LeadKind  `json:"kind"`
	Languages  [2]string        `json:"languages"`  // language codes of a and b; empty if unknown
	Encoder    string           `json:"encoder"`    // the comparer
	Likelihood *float64         `json:"likelihood"` // as in reports; null if not measured
	Pairs      []LeadPair       `json:"pairs"`
	Reason     string           `json:"reason,omitempty"` // why the two documents are not a pair: author, group or draft
	State      report.LeadState `json:"state"`
	Comment    string           `json:"comment,omitempty"`
	By         string           `json:"by,omitempty"` // who decided
	At         time.Time        `json:"at,omitzero"`
}

// ManyLine lists three or more documents of a batch that say the same, in machine-readable form. It is not a lead.
type ManyLine struct {
	Type      string   `json:"type"` // "many"
	Documents []string `json:"documents"`
	Held      int      `json:"held"` // number of documents
}

// LeadLines returns leads in their order.
func (v *View) LeadLines(l *ViewedLeads) []LeadLine {
	out := make([]LeadLine, len(l.Leads))
	for i, x := range l.Leads {
		a, b := &v.Members[x.A], &v.Members[x.B]
		out[i] = LeadLine{Type: "lead", A: a.Name, B: b.Name, NumberA: a.Number + 1, NumberB: b.Number + 1, Span: x.Points,
			SourceSpan: x.SourcePoints, Kind: x.Kind, Languages: x.Languages, Encoder: x.Encoder, Pairs: append([]LeadPair{}, x.Pairs...),
			Reason: x.Lineage, State: x.State, Comment: x.Ruling.Comment, By: x.Ruling.By, At: x.Ruling.At}
		out[i].Likelihood = x.Lead().Likely()
	}
	return out
}

// ManyLines returns the places where many documents say the same, in their order.
func (v *View) ManyLines(l *ViewedLeads) []ManyLine {
	out := make([]ManyLine, len(l.Many))
	for i, x := range l.Many {
		out[i] = ManyLine{Type: "many", Documents: []string{}}
		for _, m := range x.Documents() {
			out[i].Documents = append(out[i].Documents, v.Members[m].Name)
		}
		out[i].Held = len(out[i].Documents)
	}
	return out
}

// WriteLeads writes leads as CSV. Positions are in code points.
func (v *View) WriteLeads(w io.Writer, l *ViewedLeads) error {
	c := report.NewCSV(w, "a", "title_a", "b", "title_b", "start_a", "end_a", "start_b", "end_b", "kind", "languages", "sentences", "reason",
		"lead", "lead_by", "lead_reason")
	for i, x := range v.LeadLines(l) {
		c.Row(x.A, v.Members[l.Leads[i].A].Title, x.B, v.Members[l.Leads[i].B].Title, strconv.Itoa(x.Span.Start), strconv.Itoa(x.Span.End),
			strconv.Itoa(x.SourceSpan.Start), strconv.Itoa(x.SourceSpan.End), string(x.Kind), strings.Join(x.Languages[:], " "),
			strconv.Itoa(len(x.Pairs)), x.Reason, string(x.State), x.By, x.Comment)
	}
	return c.End()
}
