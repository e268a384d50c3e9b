package index

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
)

// pulse is the identity of a text without a document; loading ignores it. It creates a second segment, since scorch does not merge a
// single one (mergeplan.Plan).
var pulse = textID(math.MaxUint32)

const (
	purgePoll = 20 * time.Millisecond
	// purgeRound is the interval at which Purge makes the persister look for unused files again.
	purgeRound = time.Second
	// purgeWait is the maximum wait for the old files to disappear, since a stuck reader can keep them.
	purgeWait = 2 * time.Minute
)

// Purge removes the bytes of deleted and replaced documents from the disk; it rewrites every segment, as Merge does, and returns when the
// old files are gone. It fails with concordat.ErrUnavailable if readers keep the files for minutes; calling it again is safe.
func (s *Shard) Purge(ctx context.Context) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	if s.opt.ReadOnly {
		return errReadOnly
	}
	s.merging.Lock()
	defer s.merging.Unlock()
	if s.opt.Logged {
		if err := s.logged.persist(ctx); err != nil {
			return err
		}
	}
	before, err := s.engine.segmentFiles()
	if err != nil {
		return fmt.Errorf("purge %s: %w", s.dir, err)
	}
	var a arena
	beat := bleve.NewBatch()
	beat.Update(a.next(pulse))
	if err := s.engine.batchDurably(ctx, beat); err != nil {
		return diskError("purge", s.dir, err)
	}
	if err := s.engine.merge(ctx); err != nil {
		return diskError("purge", s.dir, err)
	}
	rest := bleve.NewBatch()
	rest.Delete(pulse)
	if err := s.engine.batchDurably(ctx, rest); err != nil {
		return diskError("purge", s.dir, err)
	}
	s.state.consolidate()
	return diskError("purge", s.dir, s.engine.awaitRemoval(ctx, before))
}

// segmentFiles returns the names of the segment files on disk, in order.
func (e *engine) segmentFiles() ([]string, error) {
	entries, err := os.ReadDir(e.dir)
	var names []string
	for _, f := range entries {
		if filepath.Ext(f.Name()) == ".zap" {
			names = append(names, f.Name())
		}
	}
	return names, err
}

// awaitRemoval waits until all the files are gone. After storing a snapshot, scorch's persister removes unused files and then waits for
// the next snapshot. Files released by a reader a moment later would remain until the next write, so an empty batch makes the persister
// look again.
func (e *engine) awaitRemoval(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, purgeWait)
	defer cancel()
	tick := time.NewTicker(purgePoll)
	defer tick.Stop()
	round := time.NewTicker(purgeRound)
	defer round.Stop()
	for {
		names = slices.DeleteFunc(names, func(name string) bool {
			_, err := os.Lstat(filepath.Join(e.dir, name))
			return os.IsNotExist(err)
		})
		if len(names) == 0 {
			return nil
		}
		e.pacer.wake()
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d old segments are still in use: %w", len(names), concordat.ErrUnavailable)
		case <-round.C:
			if err := e.batchDurably(ctx, bleve.NewBatch()); err != nil && ctx.Err() == nil {
				return err
			}
		case <-tick.C:
		}
	}
}
