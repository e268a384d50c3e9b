package compare

import (
	"context"
	"slices"

	"concordat"
	"concordat/report"
)

// Shown is a document of which a partner has shown places.
type Shown struct {
	Document concordat.Document // its text are the places
	Ref      concordat.Ref
	At, From []int // where each place begins: in the text, and in the whole text that the partner has
}

// LeadsShown returns the leads of Leads that are of a document that a partner has shown, which is compared together with the documents
// here. Source spans are those of the whole text.
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
		l.SourcePoints = moved(l.SourcePoints, shown.From[0])
		for k := range l.Pairs {
			l.Pairs[k].SourceSpan = shown.whole(l.Pairs[k].SourceSpan)
			l.Pairs[k].SourcePoints = moved(l.Pairs[k].SourcePoints, shown.From[0])
		}
	}
	return of, nil
}

// whole returns a span of the places as one of the whole text.
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

func moved(s concordat.Span, by int) concordat.Span {
	return concordat.Span{Start: s.Start + by, End: s.End + by}
}
