package site

import (
	"context"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/site/compare"
)

// ShownPlaces are the disclosed places of a partner's document, in text order without overlaps, and their texts.
type ShownPlaces struct {
	Ref    concordat.Ref
	Title  string
	Places []concordat.Span // in bytes of the partner's text
	Texts  []string
}

// CompareShown returns the leads between the disclosed places of a partner's document and the submission in findings, with the same
// margins as for documents of this site, which serve as the background. Source spans are in bytes of the partner's text; code points are
// relative to the places, joined with an empty line in between.
func (s *Site) CompareShown(ctx context.Context, f *report.Findings, shown ShownPlaces) ([]report.Lead, error) {
	own := s.comparer()
	p, err := s.o.Profiler.Profile(concordat.Document{ID: f.Submission.ID, Title: f.Submission.Title, Text: f.Submission.Text}, nil)
	if err != nil {
		return nil, err
	}
	var libraries []concordat.LibraryID
	for _, c := range f.Consulted {
		if c.Site == s.o.ID && !slices.Contains(libraries, c.Library) {
			libraries = append(libraries, c.Library)
		}
	}
	q := own.Query(p, compare.Options{}, libraries)
	found, err := own.Find(ctx, p, q, compare.Options{}, compare.NoProgress)
	if err != nil {
		return nil, err
	}
	var taken []concordat.Span
	for _, x := range f.Passages {
		taken = append(taken, x.Span)
	}
	for _, x := range f.Wording {
		taken = append(taken, x.Span)
	}
	return own.LeadsShown(ctx, f.Submission.Text, q, taken, found.Candidates, shown.document())
}

// document returns the places as one document, with an empty line in between.
func (p *ShownPlaces) document() *compare.Shown {
	out := &compare.Shown{Document: concordat.Document{ID: p.Ref.Document, Title: p.Title}, Ref: p.Ref}
	for i, text := range p.Texts {
		if i > 0 {
			out.Document.Text += "\n\n"
		}
		out.At = append(out.At, len(out.Document.Text))
		out.Document.Text += text
		out.From = append(out.From, p.Places[i].Start)
	}
	return out
}
