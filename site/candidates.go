package site

import (
	"cmp"
	"context"
	"slices"

	"concordat"
	"concordat/site/compare"
)

// Candidate is a document that might share something with the submission.
type Candidate struct {
	Source       concordat.Ref
	Fingerprints bool // nominated by a sentence
	Text         bool // nominated by words
	// Spans are the source sentences that nominated it, in order without duplicates.
	Spans []concordat.Span
}

// Nominate returns the documents, best first, whose text Check would read and compare with the submission, unless a quick look at the
// text rules them out. It reads no text and stores no task.
func (s *Site) Nominate(ctx context.Context, sub Submission, o CheckOptions) ([]Candidate, error) {
	if err := o.Channel.Check(); err != nil {
		return nil, err
	}
	libraries, err := s.Libraries(ctx, o.Libraries)
	if err != nil {
		return nil, err
	}
	p, err := s.o.Profiler.Profile(concordat.Document{ID: sub.ID, Title: sub.Title, Text: sub.Text}, o.Template)
	if err != nil {
		return nil, err
	}
	own := s.comparer()
	found, err := own.Find(ctx, p, own.Query(p, o.find(), idsOf(libraries)), o.find(), compare.NoProgress)
	if err != nil {
		return nil, err
	}
	out := make([]Candidate, len(found.Candidates))
	for i, c := range found.Candidates {
		out[i] = Candidate{Source: c.Ref, Fingerprints: len(c.Hits) > 0, Text: c.Text}
		for _, h := range c.Hits {
			out[i].Spans = append(out[i].Spans, h.Source)
		}
		slices.SortFunc(out[i].Spans, func(a, b concordat.Span) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
		out[i].Spans = slices.Compact(out[i].Spans)
	}
	return out, nil
}
