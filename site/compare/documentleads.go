package compare

import (
	"cmp"
	"context"
	"slices"

	"concordat"
	"concordat/meaning"
	"concordat/report"
)

// SourceLead is a lead to a document that stands out.
type SourceLead struct {
	Source concordat.Ref
	Span   concordat.Span
	Of     concordat.Span // in the source
	Score  float64
	// Likelihood is the likelihood of the lead, see meaning.Lead, or 0 if it was not measured.
	Likelihood float64
	Many       bool // so many sources say the same that it is not a lead
	Pairs      []meaning.Pair
	By         string // the comparer
}

// SourceLeads returns the leads from which Leads selects, including statements made by many sources. It uses only the table for
// comparison. read returns the sentences of the text and of the candidates.
func (m *Comparer) SourceLeads(ctx context.Context, text *concordat.Document, read ReadText, q *concordat.Query, taken []concordat.Span,
	candidates []*Candidate) ([]SourceLead, error) {
	c, err := m.compareMeaning(ctx, text, read, q, taken, candidates, nil)
	if err != nil {
		return nil, err
	}
	by, err := c.by()
	if err != nil {
		return nil, err
	}
	var out []SourceLead
	for i, leads := range c.leads {
		for _, l := range leads {
			if l.StandsOut() {
				out = append(out, SourceLead{c.candidates[i].Ref, l.Span, l.Source, l.Score, l.Likelihood(), l.Many, l.Pairs, by})
			}
		}
	}
	return out, nil
}

// Told returns a lead in the form used in the findings.
func (l SourceLead) Told(text string, source *concordat.Document) report.Lead {
	out := leadOf(text, source, report.NewCounter(source.Text), &Candidate{Ref: l.Source},
		meaning.Lead{Span: l.Span, Source: l.Of, Pairs: l.Pairs}, l.Likelihood)
	out.Encoder = l.By
	return out
}

// Turned returns a lead as seen from its source, document ref, that is, a lead to the text of document from.
func (l SourceLead) Turned(from concordat.Ref) SourceLead {
	out := l
	out.Source, out.Span, out.Of = from, l.Of, l.Span
	out.Pairs = nil
	for _, p := range l.Pairs {
		out.Pairs = append(out.Pairs, meaning.Pair{Span: p.Source, Source: p.Span, Similarity: p.Similarity})
	}
	slices.SortStableFunc(out.Pairs, func(a, b meaning.Pair) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return out
}
