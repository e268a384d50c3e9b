package answer

import (
	"context"
	"fmt"

	"concordat"
	"concordat/store"
)

// If several processes serve one site, one of them maintains the fingerprint sets for partners. It decides their content and numbers the
// changes in the store. The others apply these changes to their own indexes, so that any process can answer; a process that lags behind
// reports a smaller set to partners.

// Followed stores, for one set, the last change in each library that this process has applied to its index. It is safe for concurrent
// use.
type Followed interface {
	Position(lib concordat.LibraryID) (int64, error)
	// SetPosition returns once the number is durable.
	SetPosition(lib concordat.LibraryID, seq int64) error
}

// Follow updates every set in use from the store once.
func (s *Sets) Follow(ctx context.Context) error {
	s.epochs.fill.Lock()
	defer s.epochs.fill.Unlock()
	for _, e := range s.epochSets() {
		if e.retired(s.o.Now()) {
			continue
		}
		e.forgetStanding()
		if err := s.followSet(ctx, e); err != nil {
			return fmt.Errorf("update fingerprint set for epoch %s: %w", e.Epoch, err)
		}
	}
	return nil
}

// keepShared implements CatchUp for the process that maintains a shared set. It first applies the changes of earlier maintainers.
func (s *Sets) keepShared(ctx context.Context, e *epochSet) error {
	if e.Followed == nil {
		return s.catchUp(ctx, e)
	}
	if err := s.followSet(ctx, e); err != nil {
		return err
	}
	if err := s.catchUp(ctx, e); err != nil {
		return err
	}
	libraries, err := s.o.Store.Answers.EpochEver(ctx, e.Epoch)
	for _, lib := range libraries {
		if err != nil || ctx.Err() != nil { // another process may have taken over
			break
		}
		err = s.skipOwn(ctx, e, lib)
	}
	return err
}

// skipOwn records that the index already has the changes made by this process.
func (s *Sets) skipOwn(ctx context.Context, e *epochSet, lib concordat.LibraryID) error {
	at, err := e.Followed.Position(lib)
	if err != nil {
		return err
	}
	was := at
	for {
		changes, err := s.o.Store.Answers.EpochChanges(ctx, e.Epoch, lib, at, store.MaxPage)
		if err != nil {
			return err
		}
		if len(changes) > 0 {
			at = changes[len(changes)-1].Seq
		}
		if len(changes) < store.MaxPage {
			break
		}
	}
	if at == was {
		return nil
	}
	return e.Followed.SetPosition(lib, at)
}

func (s *Sets) followSet(ctx context.Context, e *epochSet) error {
	if e.Followed == nil {
		return nil
	}
	libraries, err := s.o.Store.Answers.EpochEver(ctx, e.Epoch)
	if err != nil {
		return err
	}
	for _, lib := range libraries {
		if err := s.followLibrary(ctx, e, lib); err != nil {
			return fmt.Errorf("library %s: %w", lib, err)
		}
	}
	return nil
}

// followLibrary applies the changes in a library, page by page.
func (s *Sets) followLibrary(ctx context.Context, e *epochSet, lib concordat.LibraryID) error {
	for s.inUse(e) {
		at, err := e.Followed.Position(lib)
		if err != nil {
			return err
		}
		changes, err := s.o.Store.Answers.EpochChanges(ctx, e.Epoch, lib, at, pageDocuments)
		if err != nil || len(changes) == 0 {
			return err
		}
		if err := s.followChanges(ctx, e, lib, changes); err != nil {
			return err
		}
		e.unready(lib)
		if err := e.Followed.SetPosition(lib, changes[len(changes)-1].Seq); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sets) followChanges(ctx context.Context, e *epochSet, lib concordat.LibraryID, changes []store.EpochDocument) error {
	var gone []concordat.Ref
	var rows []store.DocumentRow
	for _, c := range changes {
		if c.Removed {
			gone = append(gone, s.ref(lib, c.ID))
		} else {
			rows = append(rows, store.DocumentRow{Library: lib, ID: c.ID})
		}
	}
	profiles, _, missing, err := s.keyedProfiles(ctx, e, lib, rows)
	if err != nil {
		return err
	}
	for _, id := range missing { // deleted in the meantime; that change follows later
		gone = append(gone, s.ref(lib, id))
	}
	if len(profiles) > 0 {
		if err := e.Index.Put(ctx, profiles...); err != nil {
			return fmt.Errorf("put %d documents: %w", len(profiles), err)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	if err := e.Index.Delete(ctx, gone...); err != nil {
		return fmt.Errorf("remove %d documents: %w", len(gone), err)
	}
	// A node counts the bytes as gone once its own index no longer has them.
	_, err = PurgeIndex(ctx, e.Index)
	return err
}

// behind returns the number of documents of a library that another process's set has and this one lacks.
func (s *Sets) behind(ctx context.Context, e *epochSet, lib concordat.LibraryID) (int, error) {
	if e.Followed == nil {
		return 0, nil
	}
	at, err := e.Followed.Position(lib)
	if err != nil {
		return 0, err
	}
	return s.o.Store.Answers.EpochBehind(ctx, e.Epoch, lib, at)
}
