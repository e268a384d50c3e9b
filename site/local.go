package site

import (
	"context"
	"fmt"
	"slices"

	"concordat"
	"concordat/site/compare"
)

// Local holds the matches of a submission with this site's own documents.
type Local struct {
	Sentences []concordat.Sentence // sentences of the submission to look up
	Matches   []concordat.Match    // within the gates of their sentences; Sentence is an index into Sentences
	Passages  []concordat.Passage  // only with ForwardUnmatched: passages that a check would find here
}

// Local returns the sentence matches at this site that Check would start from, without storing a task.
func (s *Site) Local(ctx context.Context, sub Submission, o CheckOptions) (*Local, error) {
	if err := o.ValidatePartners(); err != nil {
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
	out := &Local{Sentences: p.Questions()}
	own := s.comparer()
	q := own.Query(p, o.find(), idsOf(libraries))
	q.Limit = 0
	if len(q.Libraries) > 0 && len(q.Fingerprints) > 0 {
		a, err := s.o.Index.Match(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("match: %w", err)
		}
		out.Matches = slices.DeleteFunc(a.Matches, func(m concordat.Match) bool {
			return s.o.Profiler.Nearness(out.Sentences[m.Sentence], m) <= 0
		})
	}
	if o.Forwarded() != ForwardUnmatched {
		return out, nil
	}
	found, err := own.Find(ctx, p, q, o.find(), compare.NoProgress)
	if err != nil {
		return nil, err
	}
	shared := compare.Shareable(sub.Text, compare.TemplateTexts(o.Templates), s.o.Stock)
	out.Passages, err = own.Align(ctx, shared, q, out.Sentences, found.Candidates, documentsOf(libraries)+1, compare.NoProgress)
	return out, err
}
