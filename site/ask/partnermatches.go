package ask

import (
	"context"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// PartnerMatches lists the documents of partners, and of mirrors of theirs, that are like one text.
type PartnerMatches struct {
	Documents []MatchedDocument
	Consulted []concordat.Consulted
}

// MatchedDocument is a document of a partner that shares wording with the text.
type MatchedDocument struct {
	report.PartnerSource
	// Contained is the share of the text's letters, marks and digits that stand in passages of the
	// document, 0 to 1.
	Contained float64
	// ContainedThere is the share of the document's text, in bytes, that stands in them; valid only if the
	// partner gave Length, the bytes of that text, and it is not 0.
	ContainedThere float64
	Length         int
}

// PartnerMatches asks the partners of o about every sentence of a text, and compares it with the mirrors of o:
// what a check does, without this site's own libraries, and no task is kept. What becomes known at a
// partner is recorded as in Check, and a text that a partner holds in another form is not sent. It fails
// with concordat.ErrInvalid for options that cannot be met; a partner that refuses or does not answer is
// a line of Consulted.
func (s *Asker) PartnerMatches(ctx context.Context, sub site.Submission, o site.CheckOptions) (*PartnerMatches, error) {
	o.Forward = site.ForwardAll
	if err := o.ValidatePartners(); err != nil {
		return nil, err
	}
	shared := compare.Shareable(sub.Text, nil)
	shared.Walls = nil // of a copy of a document all of it is one
	fw, err := s.newForwarding(sub, &o, "", shared)
	if err != nil {
		return nil, err
	}
	fw.everything = true
	all, err := fw.mirrors(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := fw.all(ctx, func(site.Progress) {}, nil)
	if err != nil {
		return nil, err
	}
	out := &PartnerMatches{}
	for _, t := range append(all, asked...) {
		out.Consulted = append(out.Consulted, t.consulted...)
		for _, src := range t.sources {
			out.Documents = append(out.Documents, fw.shares(src, t.passages, t.lengths[src.Ref]))
		}
	}
	return out, nil
}

// shares measures how much of the text and of a partner's document stands in their passages.
func (fw *forwarding) shares(src report.PartnerSource, passages []concordat.Passage, length int) MatchedDocument {
	out := MatchedDocument{PartnerSource: src, Length: max(length, 0)}
	var here, there []concordat.Span
	for _, p := range passages {
		if p.Source == src.Ref {
			here, there = append(here, p.Span), append(there, p.SourceSpan)
		}
	}
	held := 0
	for _, s := range compare.Joined(here) {
		held += fw.count.Characters(s)
	}
	if all := fw.count.Characters(concordat.Span{End: len(fw.sub.Text)}); all > 0 {
		out.Contained = float64(held) / float64(all)
	}
	held = 0
	for _, s := range compare.Joined(there) {
		held += s.End - s.Start
	}
	if out.Length > 0 { // a partner's word: it may be less than the passages
		out.ContainedThere = min(1, float64(held)/float64(out.Length))
	}
	return out
}
