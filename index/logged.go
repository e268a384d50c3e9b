package index

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
)

// logged records how far a Shard has followed its log, in memory and on disk. open must be called first.
type logged struct {
	engine *engine // set by open

	mu        sync.Mutex // guards the fields below
	changed   *sync.Cond // uses mu
	applied   Applied    // record of the newest batch
	persisted Applied    // record of the newest batch known to be on disk
	batches   int        // batches not on disk yet
	bytes     int        // size of those batches
	err       error      // permanent, because a batch failed and might have been applied
}

// open reads which record was applied last from e, the engine that stores the batches.
func (l *logged) open(e *engine) error {
	l.engine, l.changed = e, sync.NewCond(&l.mu)
	wake := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	}
	e.onFail.Store(&wake)
	snapshot, err := e.snapshot()
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
		l.applied = Applied{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
		l.persisted = l.applied
	default:
		return corrupt(e.dir, "the number of the last change is not valid")
	}
	return nil
}

// awaitPersister waits while too much data exists only in memory.
func (l *logged) awaitPersister(ctx context.Context) error {
	defer l.wakeAtEnd(ctx)()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.batches >= hurryBatches || l.bytes >= hurryBytes {
		l.engine.pacer.wake()
	}
	for (l.batches >= 2*hurryBatches || l.bytes >= 2*hurryBytes) && l.err == nil {
		if err := errors.Join(l.engine.err(), context.Cause(ctx)); err != nil {
			return err
		}
		l.engine.pacer.wake()
		l.changed.Wait()
	}
	return l.err
}

// wakeAtEnd wakes everything waiting on changed when ctx ends; the returned function cancels this.
func (l *logged) wakeAtEnd(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})
}

// persist waits until all applied changes are on disk. Callers call use of the shard first, and only once, because a second call could
// wait for a Close that waits for the first.
func (l *logged) persist(ctx context.Context) error {
	defer l.wakeAtEnd(ctx)()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.persisted != l.applied && l.err == nil {
		if err := errors.Join(l.engine.err(), context.Cause(ctx)); err != nil {
			return err
		}
		l.engine.pacer.wake()
		l.changed.Wait()
	}
	return l.err
}

// begin counts a batch of that many bytes, which is about to be stored.
func (l *logged) begin(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches++
	l.bytes += bytes
}

// fail records that a batch failed with err, and wakes everything waiting.
func (l *logged) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	l.changed.Broadcast()
}

// appliedTo records that the newest batch ends with that record.
func (l *logged) appliedTo(at Applied) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applied = at
}

// persistedTo records that a batch is on disk; Bleve calls it.
func (l *logged) persistedTo(at Applied, bytes int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches--
	l.bytes -= bytes
	if err == nil && at.Seq > l.persisted.Seq {
		l.persisted = at
	}
	l.changed.Broadcast()
}

// settled reports whether all applied changes are on disk.
func (l *logged) settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil && l.persisted == l.applied
}

// is reports whether b, the value of internalApplied, belongs to the newest batch.
func (l *logged) is(b [16]byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.applied == Applied{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}
