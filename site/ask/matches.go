package ask

import (
	"context"
	"slices"

	"concordat"
	"concordat/site"
	"concordat/site/compare"
)

// Matched holds every sentence match of a submission at this site, in mirrors and at partners.
type Matched struct {
	// Sentences holds the submission's questions under each site's scheme.
	Sentences map[concordat.SiteID][]concordat.Sentence
	// Matches are within the gates of their sentences, ordered by Sentence, Distance and Source, without duplicates. Sentence is an index
	// into Sentences for the site of Source. If Distance is 0, Documents is the total for all sites.
	Matches   []concordat.Match
	Consulted []concordat.Consulted // only partners and mirrors
}

// Matches returns, for all sites, the sentence matches that a check would start from, without storing a task. It records questions to
// partners as Check does. With ForwardUnmatched, it first compares the submission with this site's documents.
func (s *Asker) Matches(ctx context.Context, sub site.Submission, o site.CheckOptions) (*Matched, error) {
	local, err := s.site.Local(ctx, sub, o)
	if err != nil {
		return nil, err
	}
	out := &Matched{Sentences: map[concordat.SiteID][]concordat.Sentence{s.site.ID(): local.Sentences}, Matches: local.Matches}
	fw, err := s.newForwarding(sub, &o, "", compare.Shareable(sub.Text, compare.TemplateTexts(o.Templates), s.site.Options().Stock))
	if err != nil {
		return nil, err
	}
	fw.matchesOnly = true
	fw.cover(local.Passages)
	all, err := fw.mirrors(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := fw.all(ctx, func(site.Progress) {}, nil)
	if err != nil {
		return nil, err
	}
	out.add(append(all, asked...))
	return out, nil
}

// add merges the answers of partners.
func (m *Matched) add(all []*partnerAnswer) {
	t := tally{}
	enter := func(questions []concordat.Sentence, ms []concordat.Match) {
		for _, x := range ms {
			t.add(x.Source.Site, []compare.Hit{{Span: questions[x.Sentence].Span, Distance: x.Distance, Documents: x.Documents}})
		}
	}
	for site, questions := range m.Sentences {
		enter(questions, slices.DeleteFunc(slices.Clone(m.Matches), func(x concordat.Match) bool { return x.Source.Site != site }))
	}
	for _, x := range all {
		m.Sentences[x.site] = x.questions
		m.Consulted = append(m.Consulted, x.consulted...)
		enter(x.questions, x.matches)
		m.Matches = append(m.Matches, x.matches...)
	}
	for i, x := range m.Matches {
		m.Matches[i].Documents = t.documents(compare.Hit{Span: m.Sentences[x.Source.Site][x.Sentence].Span, Distance: x.Distance,
			Documents: x.Documents})
	}
	slices.SortStableFunc(m.Matches, byMatch)
}
