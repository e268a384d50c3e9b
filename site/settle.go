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

// A document enters the index and then the catalogue, and leaves them in the same order. An interruption between the two is settled before
// this site answers: the intake in the store names the documents to examine. Until then, and during additions by other processes,
// candidates missing from the catalogue are left out.

// Settled counts reconciled documents.
type Settled struct {
	Removed   int // never acknowledged, and removed from the index
	Completed int // replacements of documents whose former text is no longer in the index
	Retaken   int // lost by the catalogue, and restored from the index
}

// Settle reconciles index and catalogue for additions that a process with the given name has begun and no longer works on. A process that
// still works on them finds its intake removed, and reports failure to its caller.
func (s *Site) Settle(ctx context.Context, worker string) (Settled, error) {
	open, err := s.o.Store.Catalogue.Intakes(ctx, worker)
	if err != nil {
		return Settled{}, err
	}
	return s.settleAll(ctx, open)
}

// SettleBefore does the work of Settle for everything begun before the given time, including by processes that have ended.
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
			err = nil // another process settles it
		}
	}
	if err != nil {
		return sum, fmt.Errorf("finish interrupted work: %w", err)
	}
	return sum, nil
}

// settle settles one intake. It fails with store.ErrLease if that has ended or belongs to another process.
func (s *Site) settle(ctx context.Context, one store.Intake, sum *Settled) error {
	s.taking.Lock()
	defer s.taking.Unlock()
	claimed, err := s.o.Store.Catalogue.ClaimIntake(ctx, one.ID) // from here on no other process ends it
	if err != nil {
		return err
	}
	var complete []store.DocumentRow
	remove := map[concordat.LibraryID][]concordat.Ref{}
	for _, row := range one.Rows {
		d, err := s.o.Index.Document(ctx, s.Ref(row.Library, row.ID))
		if errors.Is(err, concordat.ErrNotFound) {
			continue // the addition did not reach this document
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
		// The index comes first, so that an interrupted call finds the documents again.
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

// forget removes never-acknowledged documents from the alerts of standing checks.
func (s *Site) forget(ctx context.Context, lib concordat.LibraryID, refs []concordat.Ref) error {
	ids := make([]concordat.DocumentID, len(refs))
	for i, r := range refs {
		ids[i] = r.Document
	}
	_, _, err := s.o.Store.Retention.EraseTraces(ctx, s.o.ID, lib, ids)
	return err
}

// catalogued leaves out candidates that the catalogue lacks: they are being added, or were never added.
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

// inCatalogue reports whether a source belongs in the catalogue: it is neither another site's document nor a batch's.
func (s *Site) inCatalogue(r concordat.Ref) bool {
	_, batch := r.Library.Batch()
	return r.Site == s.o.ID && !batch
}
