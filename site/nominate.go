package site

import (
	"context"

	"concordat"
)

// Candidate is a document that a check would compare with the submission.
type Candidate struct {
	Source       concordat.Ref
	Fingerprints bool // nominated by a sentence
	Text         bool // nominated by words
}

// Nominate returns the documents whose text Check would compare with the submission, best first,
// and nothing else: no text is compared, and no task is kept.
func (s *Site) Nominate(ctx context.Context, sub Submission, o CheckOptions) ([]Candidate, error) {
	if err := o.Channel.check(); err != nil {
		return nil, err
	}
	libraries, err := s.libraries(ctx, o.Libraries)
	if err != nil {
		return nil, err
	}
	p, err := s.o.Profiler.Profile(concordat.Document{ID: sub.ID, Title: sub.Title, Text: sub.Text}, o.Template)
	if err != nil {
		return nil, err
	}
	found, err := s.ask(ctx, p, s.query(p, o, libraries), o, func(Progress) {})
	if err != nil {
		return nil, err
	}
	out := make([]Candidate, len(found.candidates))
	for i, c := range found.candidates {
		out[i] = Candidate{Source: c.ref, Fingerprints: len(c.hits) > 0, Text: c.text}
	}
	return out, nil
}
