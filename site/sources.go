package site

import (
	"context"
	"errors"
	"maps"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// describeSources adds the catalogue's data on every source of this site to the findings: its age, its work, and which sources are texts
// of one work.
func (s *Site) describeSources(ctx context.Context, f *report.Findings) error {
	rows := map[concordat.Ref]store.DocumentRow{}
	var order []concordat.Ref
	add := func(ref concordat.Ref) error {
		if _, seen := rows[ref]; seen || ref.Site != s.o.ID {
			return nil
		}
		row, err := s.o.Store.Catalogue.DocumentRow(ctx, ref.Library, ref.Document)
		if errors.Is(err, concordat.ErrNotFound) {
			return nil // deleted in the meantime
		}
		rows[ref], order = row, append(order, ref)
		return err
	}
	var dated int
	for i, refs := range [][]concordat.Ref{datedSources(f), undatedSources(f)} {
		for _, ref := range refs {
			if err := add(ref); err != nil {
				return err
			}
		}
		if i == 0 {
			dated = len(order)
		}
	}
	works, err := s.works(ctx, order)
	if err != nil {
		return err
	}
	for i, ref := range order {
		row := rows[ref]
		if i < dated {
			f.Dates = append(f.Dates, report.SourceDate{Source: ref, Date: row.Dated, By: row.DatedBy, Added: row.Added})
		}
		w := report.SourceWork{Source: ref, Work: works[ref], Text: row.Hash}
		if len(w.Work.Creators) == 0 {
			w.Authors = concordat.ParseCreators(row.Author)
		}
		f.Works = append(f.Works, w)
	}
	report.JoinWorks(f)
	return nil
}

// datedSources returns the sources of passages, short texts and leads.
func datedSources(f *report.Findings) (out []concordat.Ref) {
	for _, p := range f.Passages {
		out = append(out, p.Source)
	}
	if f.Short != nil {
		for _, m := range f.Short.Matches {
			out = append(out, m.Source)
		}
	}
	for _, l := range f.Leads {
		out = append(out, l.Source)
	}
	return out
}

// undatedSources returns the sources of works cited by both texts.
func undatedSources(f *report.Findings) (out []concordat.Ref) {
	for _, w := range f.SharedWorks {
		out = append(out, w.Source)
	}
	return out
}

// works returns the known works of this site's documents.
func (s *Site) works(ctx context.Context, refs []concordat.Ref) (map[concordat.Ref]concordat.Work, error) {
	of := map[concordat.LibraryID][]concordat.DocumentID{}
	for _, ref := range refs {
		of[ref.Library] = append(of[ref.Library], ref.Document)
	}
	out := map[concordat.Ref]concordat.Work{}
	for _, lib := range slices.Sorted(maps.Keys(of)) {
		for ids := range slices.Chunk(of[lib], store.MaxPage) {
			works, err := s.o.Store.Harvest.Works(ctx, lib, ids)
			if err != nil {
				return nil, err
			}
			for id, w := range works {
				out[s.Ref(lib, id)] = w
			}
		}
	}
	return out, nil
}
