package compare

import (
	"cmp"
	"context"
	"slices"

	"concordat"
	"concordat/meaning"
	"concordat/profile"
	"concordat/report"
)

// Parameters for finding and reporting leads (doc/evaluation/meaning.md).
const (
	// leadCandidates is the maximum number of documents that words nominate for comparison by meaning.
	leadCandidates = 40
	// condensed is the minimum ratio of lengths between a condensed passage and its summary.
	condensed = 2
)

// Leads are passages that seem to restate candidates in other words.
type Leads struct {
	Leads   []report.Lead // not nil
	Flags   []concordat.Flag
	Encoded int // number of sentences sent to an encoder
	Search  report.LeadSearch
}

// EachLead is called with a place in a document that stands out.
type EachLead func(concordat.Ref, meaning.Lead)

// Leads returns passages that seem to restate documents in other words or another language. It leaves out taken, the text that is
// evidence or legitimately shared. It compares the candidates nominated by their words, and documents in the query's libraries with
// sentences in nearby cells.
func (m *Comparer) Leads(ctx context.Context, text string, q *concordat.Query, taken []concordat.Span,
	candidates []*Candidate) (*Leads, error) {
	out, err := m.leads(ctx, text, q, taken, candidates, nil)
	if err == nil {
		out.Flags = append(out.Flags, languageFlags(text)...)
	}
	return out, err
}

// leads is like Leads, but includes a partner's disclosed document, if any.
func (m *Comparer) leads(ctx context.Context, text string, q *concordat.Query, taken []concordat.Span, candidates []*Candidate,
	shown *Shown) (*Leads, error) {
	table, err := meaning.Default()
	if err != nil {
		return nil, err
	}
	c, err := m.compareMeaning(ctx, &concordat.Document{Text: text}, ReadMeaning(table), q, taken, candidates, shown)
	if err != nil {
		return nil, err
	}
	out := &Leads{Leads: []report.Lead{}, Encoded: c.count,
		Search: report.LeadSearch{Compared: len(c.candidates), Index: m.Profiler.Meaning(), Vectors: c.vectors, NotIndexed: c.missing,
			Language: profile.LanguageOf(text)},
		Flags: slices.Concat(notMeant(c.missing), notRead(c.rest), longSources(c.long), c.flags)}
	by, err := c.by()
	if err != nil {
		return nil, err
	}
	out.Search.By = by
	for i, leads := range c.leads {
		var points *report.Counter
		for _, l := range leads {
			if m.EachLead != nil && !l.Many {
				m.EachLead(c.candidates[i].Ref, l)
			}
			if !l.WorthReading() {
				continue
			}
			if points == nil {
				points = report.NewCounter(c.documents[i].Text)
			}
			lead := leadOf(text, c.documents[i], points, c.candidates[i], l, l.Likelihood())
			lead.Encoder = by
			out.Leads = append(out.Leads, lead)
		}
	}
	return out, nil
}

// ReadText returns the sentences of a document. Callers must not modify them.
type ReadText func(d *concordat.Document) *meaning.Text

// ReadMeaning splits a document, without its references, into sentences and encodes them with the embedded table.
func ReadMeaning(table *meaning.Table) ReadText {
	return func(d *concordat.Document) *meaning.Text {
		t := table.Read(d.Text, profile.LanguageOf(d.Text))
		t.Leave(report.References(d.Text))
		return t
	}
}

// byMeaning is the comparison of a text with candidates by meaning.
type byMeaning struct {
	candidates []*Candidate
	documents  []*concordat.Document // candidates' documents; empty if a document is gone
	missing    int                   // documents with unknown cells
	vectors    bool                  // the encoder's vectors nominated candidates too
	rest       int                   // number of unread sentences in the text
	long       int                   // number of documents read only in part
	verified
}

// by returns the name of the comparer.
func (c *byMeaning) by() (string, error) {
	if c.name != "" {
		return c.name, nil
	}
	table, err := meaning.Default()
	if err != nil {
		return "", err
	}
	return "table@" + table.Digest(), nil
}

// compareMeaning compares a text, apart from taken, with the candidates nominated by words and by cells.
func (m *Comparer) compareMeaning(ctx context.Context, text *concordat.Document, read ReadText, q *concordat.Query, taken []concordat.Span,
	candidates []*Candidate, shown *Shown) (*byMeaning, error) {
	submission := read(text).Without(slices.Concat(taken, report.References(text.Text)))
	found, err := m.nominateMeaning(ctx, submission, text.Text, q)
	if err != nil {
		return nil, err
	}
	out := &byMeaning{candidates: joinCandidates(candidates, found.near), missing: found.missing, vectors: found.vectors,
		rest: submission.Rest}
	if found.sent > 0 {
		out.flags = m.Encoder.sentFlag(found.sent)
	}
	if shown != nil {
		out.candidates = append(out.candidates, &Candidate{Ref: shown.Ref, Title: shown.Document.Title})
	}
	if len(out.candidates) == 0 {
		return out, nil
	}
	out.documents = make([]*concordat.Document, len(out.candidates))
	texts := make([]*meaning.Text, len(out.candidates))
	err = m.each(ctx, "meaning", out.candidates, NoProgress, func(ctx context.Context, i int) error {
		var d *concordat.Document
		var err error
		if shown != nil && i == len(out.candidates)-1 {
			d = &shown.Document
		} else {
			d, err = m.source(ctx, out.candidates[i])
		}
		if err != nil || d == nil {
			out.documents[i], texts[i] = &concordat.Document{}, &meaning.Text{}
			return err
		}
		out.documents[i], texts[i] = d, read(d)
		return nil
	})
	for _, t := range texts {
		if t != nil && t.Rest > 0 {
			out.long++
		}
	}
	if err == nil {
		out.verified, err = m.verified(ctx, meaning.Compare(submission, texts), text.Text, out.documents, out.candidates, shown, found.sent)
	}
	return out, err
}

// verified returns the leads of a comparison, verified by the encoder if there is one.
func (m *Comparer) verified(ctx context.Context, c *meaning.Comparison, text string, documents []*concordat.Document,
	candidates []*Candidate, shown *Shown, sent int) (verified, error) {
	leads := c.Leads()
	if m.Encoder == nil {
		return verified{leads: leads}, nil
	}
	q := question{compared: c, leads: leads, here: text, task: m.Task, sent: sent}
	if shown != nil {
		q.foreign = shown.Ref
	}
	for i, d := range documents {
		q.there, q.refs = append(q.there, d.Text), append(q.refs, candidates[i].Ref)
		q.nearby = append(q.nearby, candidates[i].sentencesIn(d.Text))
	}
	return m.Encoder.verify(ctx, q)
}

// sentencesIn returns the places where vectors stand out, by the indexes of sentences of the document's text.
func (c *Candidate) sentencesIn(text string) []meaning.Nearby {
	if len(c.nearby) == 0 {
		return nil
	}
	prose := meaning.Cut(text).Prose()
	var out []meaning.Nearby
	for _, x := range c.nearby {
		if x.There >= 0 && x.There < len(prose) { // otherwise the text has been replaced since
			out = append(out, meaning.Nearby{Here: x.Here, There: prose[x.There]})
		}
	}
	return out
}

// leadOf returns a lead in the form of findings. A lead between languages that were not measured has no likelihood.
func leadOf(text string, d *concordat.Document, points *report.Counter, c *Candidate, l meaning.Lead,
	likelihood float64) report.Lead {
	there := l.Source.In(d.Text)
	out := report.Lead{Span: l.Span, Source: c.Ref, Title: cmp.Or(d.Title, c.Title), SourceSpan: l.Source,
		SourcePoints: points.Points(l.Source), Kind: report.LeadRewording, Text: there, Likelihood: likelihood,
		Languages: [2]string{profile.LanguageOf(l.Span.In(text)), profile.LanguageOf(there)}}
	if !measuredBetween(cmp.Or(out.Languages[0], profile.LanguageOf(text)), cmp.Or(out.Languages[1], profile.LanguageOf(d.Text))) {
		out.Likelihood = 0
	}
	if a, b := out.Languages[0], out.Languages[1]; a != b && a != "" && b != "" {
		out.Kind = report.LeadTranslation
	} else if meaning.Letters(there) >= condensed*meaning.Letters(l.Span.In(text)) {
		out.Kind = report.LeadSummary
	}
	for _, p := range l.Pairs {
		out.Pairs = append(out.Pairs, report.LeadPair{Span: p.Span, SourceSpan: p.Source, SourcePoints: points.Points(p.Source),
			Similarity: p.Similarity, Text: p.Source.In(d.Text)})
	}
	return out
}
