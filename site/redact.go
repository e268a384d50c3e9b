package site

import (
	"context"
	"errors"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// redactHidden removes from findings the data about this site's sources that must not be visible today, and reports which sources have
// been deleted since.
func (s *Site) redactHidden(ctx context.Context, f *report.Findings) (*report.Findings, error) {
	now := s.o.Now()
	hidden := map[concordat.Ref]bool{}
	seen := map[concordat.Ref]bool{}
	var until time.Time
	gone := 0
	members := batchNames{db: s.o.Store, of: map[string]map[concordat.DocumentID]bool{}}
	look := func(r concordat.Ref) error {
		if r.Site != s.o.ID || seen[r] {
			return nil
		}
		seen[r] = true
		if id, ok := r.Library.Batch(); ok {
			there, err := members.has(ctx, id, r.Document)
			if err == nil && !there {
				gone++
			}
			return err
		}
		t, err := s.o.Store.Retention.Term(ctx, r.Library, r.Document)
		switch {
		case errors.Is(err, concordat.ErrNotFound):
			deleted, err := s.wasDeleted(ctx, r)
			if err != nil {
				return err
			}
			if deleted {
				gone++
			}
		case err != nil:
			return err
		case now.Before(t.Hidden):
			hidden[r] = true
			if t.Hidden.After(until) {
				until = t.Hidden
			}
		}
		return nil
	}
	for _, p := range f.Passages {
		if err := look(p.Source); err != nil {
			return nil, err
		}
	}
	for _, w := range f.SharedWorks {
		if err := look(w.Source); err != nil {
			return nil, err
		}
	}
	for _, l := range f.Leads {
		if err := look(l.Source); err != nil {
			return nil, err
		}
	}
	if f.Short != nil {
		for _, m := range f.Short.Matches {
			if err := look(m.Source); err != nil {
				return nil, err
			}
		}
	}
	if len(hidden) > 0 {
		f = report.Flagged(report.Redact(f, func(r concordat.Ref) bool { return hidden[r] }), report.HiddenFlag(len(hidden), until))
	}
	if gone > 0 {
		f = report.Flagged(f, report.DeletedFlag(gone))
	}
	return f, nil
}

// batchNames looks up which documents batches contain. It queries the store once per batch.
type batchNames struct {
	db *store.DB
	of map[string]map[concordat.DocumentID]bool
}

// has reports whether a batch contains a document, and false once the document is deleted.
func (b *batchNames) has(ctx context.Context, id string, d concordat.DocumentID) (bool, error) {
	names, ok := b.of[id]
	if !ok {
		members, err := b.db.Batches.BatchMembers(ctx, id)
		if err != nil {
			return false, err
		}
		names = make(map[concordat.DocumentID]bool, len(members))
		for _, m := range members {
			names[concordat.DocumentID(m.Name)] = true
		}
		b.of[id] = names
	}
	return names[d], nil
}

// wasDeleted reports whether a source missing from the catalogue was deleted, including one whose name was removed from the findings by a
// deletion. Missing documents that were not deleted were never acknowledged.
func (s *Site) wasDeleted(ctx context.Context, r concordat.Ref) (bool, error) {
	if name, ok := strings.CutPrefix(string(r.Document), DeletedPrefix); ok && len(name) == DeletedDigits {
		if was, err := s.o.Store.Catalogue.WasDeletedAs(ctx, name); was || err != nil {
			return was, err
		}
	}
	return s.o.Store.Catalogue.WasDeleted(ctx, r.Library, r.Document)
}

const (
	// DeletedPrefix starts the replacement name of a deleted source in findings; deletedDigits digits of its name in receipts follow.
	DeletedPrefix = "deleted-"
	DeletedDigits = 16
)
