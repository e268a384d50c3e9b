package ask

import (
	"slices"

	"concordat"
	"concordat/report"
)

// Revealable lists the passages at a place in a report that partners can be asked to disclose.
type Revealable struct {
	// Passages are indices into Findings.Passages by partner, excluding passages already disclosed or awaiting a decision.
	Passages map[concordat.SiteID][]int
	Placed   bool // a partner's document has a known position there, disclosed or not
	Mirrored bool // a document known only from a mirror has a known position there, and its owner was not asked
}

// Revealable returns the passages that partners can be asked to disclose at a level, among those that overlap a span of the submission.
func (s *Asker) Revealable(f *report.Findings, at concordat.Span, level concordat.Show) Revealable {
	out := Revealable{Passages: map[concordat.SiteID][]int{}}
	for i := range f.Passages {
		p := &f.Passages[i]
		if p.Source.Site == s.site.ID() || !p.Span.Overlaps(at) {
			continue
		}
		src := slices.IndexFunc(f.Partners, func(x report.PartnerSource) bool { return x.Ref == p.Source })
		if src < 0 || f.Partners[src].Job == "" {
			out.Mirrored = true
			continue
		}
		if p.SourceSpan.Len() <= 0 {
			continue // the partner named the document but not the position
		}
		out.Placed = true
		if !revealed(f, p, level) {
			out.Passages[p.Source.Site] = append(out.Passages[p.Source.Site], i)
		}
	}
	return out
}

// revealed reports whether a partner has disclosed a passage at the level, or has not decided yet.
func revealed(f *report.Findings, p *concordat.Passage, level concordat.Show) bool {
	if p.Text != "" || level == concordat.ShowOverlap && p.Shared != nil {
		return true
	}
	return slices.ContainsFunc(f.Disclosures, func(d report.Disclosure) bool {
		return d.Source == p.Source && d.Level == level && d.State == concordat.DisclosurePending &&
			slices.Contains(d.Passages, concordat.SpanPair{Span: p.Span, Source: p.SourceSpan})
	})
}
