package answer

import (
	"context"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/site/compare"
)

// A partner gets no answers about wording that a library hands out, because everyone who received it has it. The owner recognises it by
// fingerprinting the sentences of its templates with the epoch's key, since questions come in that form.

// askedTemplates returns the asked sentences that are template wording of the library, or almost the same as it.
func (s *Answerer) askedTemplates(ctx context.Context, q *question, g *grant) (map[int]bool, error) {
	texts, err := s.templates(ctx, g.library.ID)
	if err != nil {
		return nil, err
	}
	var given []concordat.Fingerprint
	for _, text := range texts {
		p, err := q.set.Profiler.Profile(concordat.Document{Text: text}, nil)
		if err != nil {
			return nil, err
		}
		for _, x := range slices.Concat(p.Indexed, p.Questions()) {
			given = append(given, x.Fingerprint)
		}
	}
	out := map[int]bool{}
	if len(given) == 0 {
		return out, nil
	}
	for i, x := range q.ask.Sentences {
		most := min(x.Gate, compare.FairDistance)
		out[i] = slices.ContainsFunc(given, func(f concordat.Fingerprint) bool { return f.Distance(x.Fingerprint) <= most })
	}
	return out, nil
}

// unshown returns the parts of a library's text that are never disclosed to partners, in text order without overlaps: template wording of
// the library, and reference lists. Neither is evidence.
func (s *Answerer) unshown(ctx context.Context, lib concordat.LibraryID, text string) ([]concordat.Span, error) {
	texts, err := s.templates(ctx, lib)
	if err != nil {
		return nil, err
	}
	return compare.Joined(slices.Concat(report.References(text), report.Given(text, texts))), nil
}
