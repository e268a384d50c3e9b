package compare

import (
	"context"
	"slices"

	"concordat"
	"concordat/report"
)

// Shown is a document made of places disclosed by a partner.
type Shown struct {
	Document concordat.Document // its text consists of the places
	Ref      concordat.Ref
	At, From []int // where each place begins, in this text and in the partner's full text
}

// LeadsShown is like Leads for a document that a partner has disclosed; it compares it along with the documents held here. Source
// spans are in bytes of the full text. Their code points count only the places, as in Shown.Document, because the number of code points
// outside them is unknown here.
func (m *Comparer) LeadsShown(ctx context.Context, text string, q *concordat.Query, taken []concordat.Span, candidates []*Candidate,
	shown *Shown) ([]report.Lead, error) {
	found, err := m.leads(ctx, text, q, taken, candidates, shown)
	if err != nil {
		return nil, err
	}
	of := slices.DeleteFunc(found.Leads, func(l report.Lead) bool { return l.Source != shown.Ref })
	for i := range of {
		l := &of[i]
		l.SourceSpan = shown.whole(l.SourceSpan)
		for k := range l.Pairs {
			l.Pairs[k].SourceSpan = shown.whole(l.Pairs[k].SourceSpan)
		}
	}
	return of, nil
}

// whole converts a span of the places to a span of the full text.
func (s *Shown) whole(x concordat.Span) concordat.Span {
	return concordat.Span{Start: s.there(x.Start), End: s.there(x.End-1) + 1}
}

func (s *Shown) there(at int) int {
	i := len(s.At) - 1
	for i > 0 && s.At[i] > at {
		i--
	}
	return s.From[i] + at - s.At[i]
}
