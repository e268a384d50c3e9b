package answer

import (
	"context"
	"fmt"

	"concordat"
	"concordat/store"
)

// purger is an index that can erase deleted documents from disk.
type purger interface {
	Purge(ctx context.Context) error
}

// PurgeIndex erases an index's deleted documents from disk. state is "purged", or "left" if the index cannot do so.
func PurgeIndex(ctx context.Context, x concordat.Index) (state string, err error) {
	p, ok := x.(purger)
	if !ok {
		return "left", nil
	}
	return "purged", p.Purge(ctx)
}

// Trimmed is the number of documents removed from the set of one epoch.
type Trimmed struct {
	Epoch     concordat.Epoch
	Documents int
}

// Trim removes from the sets in use the documents of a library that are missing from the catalogue, and returns the number removed from
// each set, in the order of the sets.
func (s *Sets) Trim(ctx context.Context, lib concordat.LibraryID) ([]Trimmed, error) {
	s.epochs.fill.Lock()
	defer s.epochs.fill.Unlock()
	var out []Trimmed
	for _, set := range s.epochSets() {
		left, err := s.o.Store.Answers.Leftover(ctx, set.Epoch, lib, false, store.MaxPage)
		if err != nil {
			return out, err
		}
		if len(left) == 0 {
			continue
		}
		if err := s.trim(ctx, set, lib, false); err != nil {
			return out, err
		}
		out = append(out, Trimmed{set.Epoch, len(left)})
	}
	return out, nil
}

// Purged is the outcome of [Sets.Purge] for one epoch's set.
type Purged struct {
	Epoch concordat.Epoch
	Left  map[concordat.LibraryID]int // documents it still contains
	State string                      // as returned by PurgeIndex; "" if the set was not reached
}

// Purge removes documents missing from the catalogue from all sets. It also erases deleted documents from disk in sets that contained any
// or that touched selects. If a set contains some and is not open in this process, Purge fails with concordat.ErrUnavailable, and returns
// the outcome so far with the error.
func (s *Sets) Purge(ctx context.Context, libraries []concordat.LibraryID,
	touched func(concordat.Epoch) bool) ([]Purged, error) {
	s.epochs.fill.Lock()
	defer s.epochs.fill.Unlock()
	rows, err := s.o.Store.Answers.Epochs(ctx)
	if err != nil {
		return nil, err
	}
	var out []Purged
	for _, row := range rows {
		if !row.Replaced.IsZero() && !s.o.Now().Before(row.Replaced.Add(EpochGrace)) {
			continue // retired; its whole index is deleted
		}
		p := Purged{Epoch: row.Epoch, Left: map[concordat.LibraryID]int{}}
		err := s.purge(ctx, &p, libraries, touched(row.Epoch))
		out = append(out, p)
		if err != nil {
			return out, fmt.Errorf("purge fingerprint set for epoch %s: %w", row.Epoch, err)
		}
	}
	return out, nil
}

// purge implements Purge for the set of one epoch.
func (s *Sets) purge(ctx context.Context, p *Purged, libraries []concordat.LibraryID, touched bool) error {
	set := s.epoch(p.Epoch)
	for _, lib := range libraries {
		left, err := s.o.Store.Answers.Leftover(ctx, p.Epoch, lib, false, store.MaxPage)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			continue
		}
		p.Left[lib] = len(left)
		if set != nil {
			if err := s.trim(ctx, set, lib, false); err != nil {
				return err
			}
		}
	}
	if len(p.Left) == 0 && !touched {
		return nil
	}
	if set == nil {
		return fmt.Errorf("%w: the fingerprint set is open only in the serving process", concordat.ErrUnavailable)
	}
	var err error
	p.State, err = PurgeIndex(ctx, set.Index)
	return err
}
