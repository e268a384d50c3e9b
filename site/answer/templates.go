package answer

import (
	"context"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/site/compare"
)

// A partner gets no answers about wording that a library hands out, since everyone who was given it has it. The owner recognises it by the
// fingerprints of its templates' sentences under the key of the epoch, since questions have this form.

// askedTemplates returns which of the asked sentences are wording of a template of the library, or nearly so.
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

// unshown returns the parts of a library's text that partners are not shown, in order and disjoint: the wording of the library's templates,
// and lists of references. Neither is evidence.
func (s *Answerer) unshown(ctx context.Context, lib concordat.LibraryID, text string) ([]concordat.Span, error) {
	texts, err := s.templates(ctx, lib)
	if err != nil {
		return nil, err
	}
	return compare.Joined(slices.Concat(report.References(text), report.Given(text, texts))), nil
}
