package site

import (
	"context"
	"errors"

	"concordat"
	"concordat/report"
)

// ages returns what the catalogue knows about the age of every source of this site in the findings, in the order in which they
// first occur.
func (s *Site) ages(ctx context.Context, f *report.Findings) ([]report.SourceDate, error) {
	var out []report.SourceDate
	seen := map[concordat.Ref]bool{}
	add := func(ref concordat.Ref) error {
		if seen[ref] || ref.Site != s.o.ID {
			return nil
		}
		seen[ref] = true
		row, err := s.o.Store.Catalogue.DocumentRow(ctx, ref.Library, ref.Document)
		if errors.Is(err, concordat.ErrNotFound) {
			return nil // deleted meanwhile
		}
		if err == nil {
			out = append(out, report.SourceDate{Source: ref, Date: row.Dated, By: row.DatedBy, Added: row.Added})
		}
		return err
	}
	for _, p := range f.Passages {
		if err := add(p.Source); err != nil {
			return nil, err
		}
	}
	if f.Short != nil {
		for _, m := range f.Short.Matches {
			if err := add(m.Source); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
