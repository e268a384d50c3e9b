package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"concordat"
	"concordat/site/compare"
	"concordat/store"
)

// A document is added to the index and then to the catalogue, and removed in the same order. An interruption in between is settled before
// this site answers. An intake in the store lists the documents to examine. Until then, and while other processes add documents,
// candidates missing from the catalogue are ignored.

// Settled counts reconciled documents.
type Settled struct {
	Removed   int // never acknowledged; removed from the index
	Completed int // replacements of documents whose previous text is no longer in the index
	Retaken   int // missing from the catalogue; restored from the index
}

// Settle reconciles index and catalogue for additions that the named process started and is no longer working on. If a process is in fact
// still working on them, its intake is gone, and it reports failure to its caller.
func (s *Site) Settle(ctx context.Context, worker string) (Settled, error) {
	open, err := s.o.Store.Catalogue.Intakes(ctx, worker)
	if err != nil {
		return Settled{}, err
	}
	return s.settleAll(ctx, open)
}

// SettleBefore is like Settle, for everything that any process, even one that has ended, started before the given time.
func (s *Site) SettleBefore(ctx context.Context, before time.Time) (Settled, error) {
	open, err := s.o.Store.Catalogue.IntakesBefore(ctx, before)
	if err != nil {
		return Settled{}, err
	}
	return s.settleAll(ctx, open)
}

func (s *Site) settleAll(ctx context.Context, open []store.Intake) (sum Settled, err error) {
	for _, one := range open {
		if err != nil {
			break
		}
		err = s.settle(ctx, one, &sum)
		if errors.Is(err, store.ErrLease) {
			err = nil // another process is settling it
		}
	}
	if err != nil {
		return sum, fmt.Errorf("finish interrupted work: %w", err)
	}
	return sum, nil
}

// settle settles one intake. If the intake has ended or belongs to another process, it fails with store.ErrLease.
func (s *Site) settle(ctx context.Context, one store.Intake, sum *Settled) error {
	s.taking.Lock()
	defer s.taking.Unlock()
	claimed, err := s.o.Store.Catalogue.ClaimIntake(ctx, one.ID) // after this, no other process can end it
	if err != nil {
		return err
	}
	var complete []store.DocumentRow
	remove := map[concordat.LibraryID][]concordat.Ref{}
	for _, row := range one.Rows {
		d, err := s.o.Index.Document(ctx, s.Ref(row.Library, row.ID))
		if errors.Is(err, concordat.ErrNotFound) {
			continue // the addition never reached this document
		}
		if err != nil {
			return err
		}
		held, err := s.o.Store.Catalogue.DocumentRow(ctx, row.Library, row.ID)
		switch {
		case errors.Is(err, concordat.ErrNotFound):
			remove[row.Library] = append(remove[row.Library], s.Ref(row.Library, row.ID))
		case err != nil:
			return err
		case store.TextHash(d.Text) == row.Hash && (d.Title == row.Title || held.Hash != row.Hash):
			complete = append(complete, row)
		}
	}
	for lib, refs := range remove {
		// The index comes first, so that the documents can be found again after an interruption.
		if err := s.o.Index.Delete(ctx, refs...); err != nil {
			return err
		}
		if err := s.forget(ctx, lib, refs); err != nil {
			return err
		}
		sum.Removed += len(refs)
	}
	sum.Completed += len(complete)
	return s.o.Store.Catalogue.FinishIntake(ctx, claimed, complete)
}

// forget removes documents that were never acknowledged from the alerts of standing checks.
func (s *Site) forget(ctx context.Context, lib concordat.LibraryID, refs []concordat.Ref) error {
	ids := make([]concordat.DocumentID, len(refs))
	for i, r := range refs {
		ids[i] = r.Document
	}
	_, _, err := s.o.Store.Retention.EraseTraces(ctx, s.o.ID, lib, ids)
	return err
}

// catalogued removes candidates missing from the catalogue, which are still being added or were never acknowledged.
func (s *Site) catalogued(ctx context.Context, cs []*compare.Candidate) ([]*compare.Candidate, error) {
	by := map[concordat.LibraryID][]concordat.DocumentID{}
	for _, c := range cs {
		if s.inCatalogue(c.Ref) {
			by[c.Ref.Library] = append(by[c.Ref.Library], c.Ref.Document)
		}
	}
	known := map[concordat.Ref]bool{}
	for lib, ids := range by {
		held, err := s.o.Store.Catalogue.Catalogued(ctx, lib, ids)
		if err != nil {
			return nil, err
		}
		for id := range held {
			known[s.Ref(lib, id)] = true
		}
	}
	return slices.DeleteFunc(cs, func(c *compare.Candidate) bool { return s.inCatalogue(c.Ref) && !known[c.Ref] }), nil
}

// inCatalogue reports whether a source belongs in the catalogue, that is, comes from neither another site nor a batch.
func (s *Site) inCatalogue(r concordat.Ref) bool {
	_, batch := r.Library.Batch()
	return r.Site == s.o.ID && !batch
}
