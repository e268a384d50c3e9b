package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
)

// A shard opened with Options.Logged is a view of a write-ahead log that its caller keeps. Apply adds the
// log's changes, together with the number of the last one, in a single Bleve batch, and does not wait for the
// disk. After a crash the shard is exactly as it was at some earlier number, and the caller applies the later
// changes again.

// Applied names the last record of its log that a shard has applied.
type Applied struct{ Seq, Epoch uint64 }

// Change puts a profile or, if Put is nil, deletes the document of a Ref.
type Change struct {
	Put    *concordat.Profile
	Delete concordat.Ref
}

// internalApplied is the key under which each batch stores its Applied.
var internalApplied = []byte("concordat.applied")

// logged is the part of a Shard that a log needs.
type logged struct {
	mu        sync.Mutex // guards all below
	changed   *sync.Cond // on mu
	applied   Applied    // of the newest batch
	persisted Applied    // of the newest batch that is certainly on disk
	batches   int        // batches not on disk yet
	bytes     int        // of them
	err       error      // permanent; from a batch that may or may not have been applied
}

// loadApplied reads how many records the shard has applied; it is called before anything else happens.
func (s *Shard) loadApplied() error {
	s.logged.changed = sync.NewCond(&s.logged.mu)
	wake := func() {
		s.logged.mu.Lock()
		defer s.logged.mu.Unlock()
		s.logged.changed.Broadcast()
	}
	s.engine.onFail.Store(&wake)
	snapshot, err := s.engine.snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	b, err := snapshot.GetInternal(internalApplied)
	if err != nil {
		return err
	}
	switch len(b) {
	case 0:
	case 16:
		s.logged.applied = Applied{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
		s.logged.persisted = s.logged.applied
	default:
		return corrupt(s.engine.dir, "number of the last change")
	}
	return nil
}

// Applied returns the number of the last record whose changes Match sees, or zero if nothing from a log was ever
// applied.
func (s *Shard) Applied() Applied {
	s.logged.mu.Lock()
	defer s.logged.mu.Unlock()
	return s.logged.applied
}

// Persisted returns the lowest number that the shard can have after a crash of the process or the
// machine: records up to it are no longer needed.
func (s *Shard) Persisted() Applied {
	s.logged.mu.Lock()
	defer s.logged.mu.Unlock()
	return s.logged.persisted
}

// Check returns the error with which Put and Apply would refuse the profile, or nil if they would accept it.
func (s *Shard) Check(p *concordat.Profile) error { return s.checkProfile(p) }

// Apply makes the changes visible all at once; of several changes of one document, the last one counts. at is
// the number of the log's record with the last of them and must not fall. The changes are not yet on disk on
// return: Persisted shows when they are. They should be about the size of a batch of Put, 2,000 sentences.
// Only one call may run at a time. After an error, the shard may or may not have the changes, and accepts no
// others: close it, open it, and apply again the records after Applied. The exception is ErrDiskFull, after
// which nothing has changed.
func (s *Shard) Apply(ctx context.Context, changes []Change, at Applied) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	if !s.opt.Logged {
		return fmt.Errorf("apply to %s: opened without a log: %w", s.dir, concordat.ErrInvalid)
	}
	if err := s.awaitPersister(ctx); err != nil {
		return err
	}
	if old := s.Applied(); at.Seq < old.Seq {
		return fmt.Errorf("apply %d to %s, which has %d: %w", at.Seq, s.dir, old.Seq, concordat.ErrInvalid)
	}
	if err := s.apply(ctx, changes, at); err != nil {
		return s.diskError("apply to", err)
	}
	return nil
}

// awaitPersister waits while too much data is only in memory.
func (s *Shard) awaitPersister(ctx context.Context) error {
	l := &s.logged
	defer l.wakeAtEnd(ctx)()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.batches >= hurryBatches || l.bytes >= hurryBytes {
		s.engine.pacer.wake()
	}
	for (l.batches >= 2*hurryBatches || l.bytes >= 2*hurryBytes) && l.err == nil {
		if err := errors.Join(s.engine.err(), context.Cause(ctx)); err != nil {
			return err
		}
		s.engine.pacer.wake()
		l.changed.Wait()
	}
	return l.err
}

// wakeAtEnd wakes everything that waits for changed when ctx ends, until the returned function is called.
func (l *logged) wakeAtEnd(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})
}

// Persist waits until all that was applied is on disk.
func (s *Shard) Persist(ctx context.Context) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	return s.persist(ctx)
}

// persist is like Persist, for a caller that already keeps the shard open: keeping it open a second time
// could wait for a Close that waits for the first.
func (s *Shard) persist(ctx context.Context) error {
	l := &s.logged
	defer l.wakeAtEnd(ctx)()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.persisted != l.applied && l.err == nil {
		if err := errors.Join(s.engine.err(), context.Cause(ctx)); err != nil {
			return err
		}
		s.engine.pacer.wake()
		l.changed.Wait()
	}
	return l.err
}

func (s *Shard) apply(ctx context.Context, changes []Change, at Applied) error {
	var keys []key
	last := make(map[key]*concordat.Profile, len(changes))
	for _, c := range changes {
		k := key{c.Delete.Library, c.Delete.Document}
		if c.Put != nil {
			if err := s.checkProfile(c.Put); err != nil {
				return err
			}
			k = key{c.Put.Document.Library, c.Put.Document.ID}
		}
		if _, again := last[k]; !again {
			keys = append(keys, k)
		}
		last[k] = c.Put
	}
	// Readers that come between a change on disk and the same change in memory wait for the release of these
	// keys.
	if err := s.acquire(ctx, keys); err != nil {
		return err
	}
	defer s.release(keys)
	batch := bleve.NewBatch()
	a := arenas.Get().(*arena)
	a.reset()
	var docs []*document
	var fps []concordat.Fingerprint
	for _, k := range keys {
		s.forget(batch, s.find(k))
		p := last[k]
		if p == nil {
			continue
		}
		n, err := s.number()
		if err != nil {
			return err
		}
		docs = append(docs, s.addProfile(a, n, p))
		for j := range p.Indexed {
			fps = append(fps, p.Indexed[j].Fingerprint)
		}
	}
	for _, e := range a.entries[:a.used] {
		batch.Update(e)
	}
	if err := errors.Join(s.room(a.bytes), context.Cause(ctx)); err != nil {
		return err
	}
	batch.SetInternal(internalApplied, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, at.Seq), at.Epoch))
	bytes := a.bytes
	batch.SetPersistedCallback(func(err error) { s.persistedTo(at, bytes, err) })
	s.logged.mu.Lock()
	s.logged.batches++
	s.logged.bytes += bytes
	s.logged.mu.Unlock()
	if err := s.engine.batch(batch); err != nil {
		err = fmt.Errorf("changes up to %d may or may not be there: %w: %w", at.Seq, concordat.ErrUnavailable, err)
		s.logged.mu.Lock()
		s.logged.err = err
		s.logged.changed.Broadcast()
		s.logged.mu.Unlock()
		return err
	}
	arenas.Put(a)
	s.logged.mu.Lock()
	s.logged.applied = at
	s.logged.mu.Unlock()
	s.commit(keys, docs, fps)
	return nil
}

// persistedTo records that a batch is on disk; Bleve calls it.
func (s *Shard) persistedTo(at Applied, bytes int, err error) {
	s.logged.mu.Lock()
	defer s.logged.mu.Unlock()
	s.logged.batches--
	s.logged.bytes -= bytes
	if err == nil && at.Seq > s.logged.persisted.Seq {
		s.logged.persisted = at
	}
	s.logged.changed.Broadcast()
}

// ID returns the shard's name.
func (s *Shard) ID() concordat.ShardID { return s.opt.Shard }

// Site returns the site whose documents the shard holds.
func (s *Shard) Site() concordat.SiteID { return s.opt.Site }
