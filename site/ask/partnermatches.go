package ask

import (
	"context"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// PartnerMatches lists the documents at partners and in mirrors that resemble a text.
type PartnerMatches struct {
	Documents []MatchedDocument
	Consulted []concordat.Consulted
}

// MatchedDocument is a partner's document that shares wording with the text.
type MatchedDocument struct {
	report.PartnerSource
	// Share is the share of the text that counts as found in the document, computed as in a check. It is an estimate within the bounds
	// Estimate.
	Share    float64
	Estimate report.Bounds
	// ContainedThere is the share of the document's text, in bytes, in counting passages. It is valid only if the partner sent a nonzero
	// Length, the size of that text in bytes. How much of the document could count is unknown here.
	ContainedThere float64
	Length         int
}

// PartnerMatches asks the partners of o about every sentence of a text and compares it with the mirrors of o, like a check without this
// site's own libraries; it stores no task. What partners learn is recorded as in Check, and a text that a partner has in another form is
// not sent. It fails with concordat.ErrInvalid for invalid options; a partner that refuses or does not answer is reported in Consulted.
func (s *Asker) PartnerMatches(ctx context.Context, sub site.Submission, o site.CheckOptions, rules report.Rules) (*PartnerMatches, error) {
	o.Forward = site.ForwardAll
	if err := o.ValidatePartners(); err != nil {
		return nil, err
	}
	alone := o
	alone.Partners, alone.Mirrors, alone.Leads, alone.Short, alone.Standing, alone.NoStore = nil, nil, false, false, false, true
	f, err := s.site.CompareAll(ctx, "", sub, alone, nil, nil)
	if err != nil {
		return nil, err
	}
	fw, err := s.newForwarding(sub, &o, "", compare.Shareable(sub.Text, compare.TemplateTexts(f.Templates), s.site.Options().Stock))
	if err != nil {
		return nil, err
	}
	all, err := fw.mirrors(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := fw.all(ctx, func(site.Progress) {}, nil)
	if err != nil {
		return nil, err
	}
	all = append(all, asked...)
	add(f, all)
	recount(s.site.ID(), f, nil, all)
	f.Forward = o.Forward
	return matchesOf(f, all, rules), nil
}

// matchesOf returns the counting parts of the findings by document.
func matchesOf(f *report.Findings, all []*partnerAnswer, rules report.Rules) *PartnerMatches {
	out := &PartnerMatches{Consulted: f.Consulted}
	lengths := map[concordat.Ref]int{}
	for _, t := range all {
		for ref, n := range t.lengths {
			lengths[ref] = n
		}
	}
	rep := report.Build(f, rules)
	for _, src := range f.Partners {
		i := rep.Source(src.Ref)
		if i < 0 || rep.Sources[i].Excluded != "" || rep.Sources[i].Estimate == nil {
			continue
		}
		d := MatchedDocument{PartnerSource: src, Share: rep.Sources[i].Share, Estimate: *rep.Sources[i].Estimate,
			Length: max(lengths[src.Ref], 0)}
		held := 0
		for _, s := range compare.Joined(there(rep, i)) {
			held += s.Len()
		}
		if d.Length > 0 { // the length comes from the partner and can be less than the passages' length
			d.ContainedThere = min(1, float64(held)/float64(d.Length))
		}
		out.Documents = append(out.Documents, d)
	}
	return out
}

// there returns the positions of counting text in the text of source i.
func there(rep *report.Report, i int) []concordat.Span {
	var out []concordat.Span
	for _, e := range rep.Sources[i].Evidence {
		for _, s := range rep.Evidence[e].Sources {
			if s.Ref != rep.Sources[i].Ref || s.Excluded != "" {
				continue
			}
			for _, p := range s.Parts {
				out = append(out, p.SourceSpan)
			}
		}
	}
	return out
}
