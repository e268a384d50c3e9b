package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
)

// A shard opened with Options.Logged mirrors a write-ahead log that its caller maintains. Apply applies the log's changes and records the
// number of the last one in the same Bleve batch, without waiting for the disk. After a crash, the shard is in the state of some earlier
// record, and the caller applies the later records again.

// Applied identifies the last log record that a shard has applied.
type Applied struct{ Seq, Epoch uint64 }

// Change stores the profile Put or, if Put is nil, deletes the document Delete.
type Change struct {
	Put    *concordat.Profile
	Delete concordat.Ref
}

// internalApplied is the key under which each batch stores its Applied.
var internalApplied = []byte("concordat.applied")

// Applied returns the last record whose changes Match sees, or zero if no record was ever applied.
func (s *Shard) Applied() Applied {
	s.logged.mu.Lock()
	defer s.logged.mu.Unlock()
	return s.logged.applied
}

// Persisted returns the last record that is certain to survive a crash; the log no longer needs records up to it.
func (s *Shard) Persisted() Applied {
	s.logged.mu.Lock()
	defer s.logged.mu.Unlock()
	return s.logged.persisted
}

// Check returns the error that Put and Apply would return for the profile, or nil if they would accept it.
func (s *Shard) Check(p *concordat.Profile) error { return checkProfile(p, s.opt.Scheme) }

// Apply makes all changes visible at once; if a document changes several times, the last change counts. at identifies the log record of
// the last change and must not decrease. The changes are not yet on disk when Apply returns; Persisted shows when they are. A call should
// be about as large as a batch of Put, 2,000 sentences. Only one call may run at a time. After an error, the changes might have been
// applied, and the shard refuses further ones; close it, reopen it, and apply the records after Applied again. ErrDiskFull is the
// exception: nothing has changed.
func (s *Shard) Apply(ctx context.Context, changes []Change, at Applied) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	if !s.opt.Logged {
		return fmt.Errorf("apply changes to %s: the shard was opened without a log: %w", s.dir, concordat.ErrInvalid)
	}
	if err := s.logged.awaitPersister(ctx); err != nil {
		return err
	}
	if old := s.Applied(); at.Seq < old.Seq {
		return fmt.Errorf("cannot apply change %d to %s, which already contains change %d: %w", at.Seq, s.dir, old.Seq, concordat.ErrInvalid)
	}
	if err := s.apply(ctx, changes, at); err != nil {
		return diskError("apply to", s.dir, err)
	}
	return nil
}

// Persist waits until all applied changes are on disk.
func (s *Shard) Persist(ctx context.Context) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	return s.logged.persist(ctx)
}

func (s *Shard) apply(ctx context.Context, changes []Change, at Applied) error {
	var keys []key
	last := make(map[key]*concordat.Profile, len(changes))
	for _, c := range changes {
		k := key{c.Delete.Library, c.Delete.Document}
		if c.Put != nil {
			if err := checkProfile(c.Put, s.opt.Scheme); err != nil {
				return err
			}
			k = key{c.Put.Document.Library, c.Put.Document.ID}
		}
		if _, again := last[k]; !again {
			keys = append(keys, k)
		}
		last[k] = c.Put
	}
	// Readers that find a change on disk before it is in memory wait until these keys are released.
	if err := s.state.acquire(ctx, keys); err != nil {
		return err
	}
	defer s.state.release(keys)
	batch := bleve.NewBatch()
	a := arenas.Get().(*arena)
	a.reset()
	var docs []*document
	var fps []concordat.Fingerprint
	for _, k := range keys {
		forget(batch, s.state.find(k))
		p := last[k]
		if p == nil {
			continue
		}
		n, err := s.state.number()
		if err != nil {
			return err
		}
		docs = append(docs, a.add(n, p, s.state.counters))
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
	batch.SetPersistedCallback(func(err error) { s.logged.persistedTo(at, bytes, err) })
	s.logged.begin(bytes)
	if err := s.engine.batch(batch); err != nil {
		err = fmt.Errorf("the changes up to number %d may or may not have been saved: %w: %w", at.Seq, concordat.ErrUnavailable, err)
		s.logged.fail(err)
		return err
	}
	arenas.Put(a)
	s.logged.appliedTo(at)
	s.state.commit(keys, docs, fps)
	return nil
}

// ID returns the shard's name.
func (s *Shard) ID() concordat.ShardID { return s.opt.Shard }

// Site returns the site whose documents the shard stores.
func (s *Shard) Site() concordat.SiteID { return s.opt.Site }
