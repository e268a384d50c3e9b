package site

import (
	"context"
	"fmt"
	"strings"

	"concordat"
)

// countCommon counts, for every passage none of whose sentences was matched, the documents that hold
// the source's wording exactly. Words find such passages, and without a count the rule of common
// wording would never see them.
func (s *Site) countCommon(ctx context.Context, q *concordat.Query, passages []concordat.Passage) error {
	type sentence struct {
		passage int
		print   concordat.Fingerprint
	}
	var all []sentence
	for i, p := range passages {
		if p.Documents > 0 || p.Text == "" || p.Source.Site != s.o.ID {
			continue
		}
		prints, err := s.sentencesOf(p)
		if err != nil {
			return err
		}
		for _, f := range prints {
			all = append(all, sentence{i, f})
		}
	}
	if len(all) == 0 {
		return nil
	}
	ask := &concordat.Query{Scheme: q.Scheme, Libraries: q.Libraries, Limit: 1}
	for _, x := range all {
		ask.Fingerprints = append(ask.Fingerprints, x.print)
	}
	a, err := s.o.Index.Match(ctx, ask)
	if err != nil {
		return fmt.Errorf("count common wording: %w", err)
	}
	// A passage is as common as its rarest sentence; one that no document holds exactly, since the
	// source has it in other company, counts for nothing.
	for _, m := range a.Matches {
		p := &passages[all[m.Sentence].passage]
		if p.Documents == 0 || m.Documents < p.Documents {
			p.Documents = m.Documents
		}
	}
	return nil
}

// sentencesOf returns the fingerprints of the source's sentences of which at least half lies within
// the passage. A sentence depends on its paragraph alone, so that the passage with what is kept
// around it is enough. Where the paragraph begins farther off, so that its blocks are not known, those
// that begin at each sentence hold the indexed ones.
func (s *Site) sentencesOf(p concordat.Passage) ([]concordat.Fingerprint, error) {
	before, after := p.Before, p.After
	if i := strings.LastIndex(before, "\n\n"); i >= 0 {
		before = before[i:]
	}
	if i := strings.Index(after, "\n\n"); i >= 0 {
		after = after[:i]
	}
	profile, err := s.o.Profiler.Profile(concordat.Document{Text: before + p.Text + after}, nil)
	if err != nil {
		return nil, err
	}
	within := concordat.Span{Start: len(before), End: len(before) + len(p.Text)}
	var out []concordat.Fingerprint
	for _, x := range profile.Questions() {
		if n := min(x.Span.End, within.End) - max(x.Span.Start, within.Start); 2*n >= x.Span.Len() {
			out = append(out, x.Fingerprint)
		}
	}
	return out, nil
}
