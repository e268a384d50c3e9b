package cluster

import (
	"context"
	"fmt"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
	"concordat/index"
)

// Write appends the changes and returns once they are acknowledged: on the disk of every copy in sync, and visible in this one. It
// returns the number of the last record. Errors: NotMasterError; concordat.ErrUnavailable (some changes may have been made, or may still
// be made; repeating is safe); concordat.ErrDiskFull, concordat.ErrInvalid and concordat.ErrScheme (nothing was changed).
func (c *Copy) Write(ctx context.Context, changes []index.Change) (uint64, error) {
	return c.writeIn(ctx, operation{Epoch: anyEpoch}, changes)
}

// anyEpoch allows writeIn to write whenever the copy is master.
const anyEpoch = 0

// writeIn is like Write, but fails if the copy is not master in the operation's epoch, because a message that was long in transit must
// have no effect in a later epoch. The changes have consecutive revisions starting with op.Rev; 0 means the newest. If it fails with a
// lateError, the changes not listed in the error are acknowledged.
func (c *Copy) writeIn(ctx context.Context, op operation, changes []index.Change) (uint64, error) {
	if len(changes) == 0 {
		return 0, nil
	}
	changes, records, size, err := c.records(changes)
	if err != nil {
		return 0, err
	}
	if err := c.room(size); err != nil {
		return 0, err
	}
	c.gate.RLock()
	defer c.gate.RUnlock()
	w, err := c.begin(op, changes, records)
	if err != nil {
		return 0, err
	}
	return c.await(ctx, w)
}

// begin appends the records of the changes. The gate must be held.
func (c *Copy) begin(op operation, changes []index.Change, records []wal.Record) (*write, error) {
	w := &write{open: len(changes), done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if st := c.replica.Status(); op.Epoch != anyEpoch && c.failed == nil && (st.Role != replica.Master || st.Shard.Epoch != op.Epoch) {
		return nil, &NotMasterError{master(st.Shard.State)}
	}
	w.first = c.writes.last + 1
	rev := op.Rev
	if rev == 0 {
		c.clock.see(c.replica.NewestRevision())
		rev = c.clock.draw(len(changes))
	}
	for i := range changes {
		records[i].Rev = rev + uint64(i)
		if c.failed != nil {
			w.answer(0, c.failed)
			continue
		}
		id := c.writes.add(w)
		c.writing = &changes[i]
		c.stepLocked(replica.Write{ID: id, Record: records[i]})
		c.writing = nil
	}
	return w, nil
}

// await returns the outcome of a write.
func (c *Copy) await(ctx context.Context, w *write) (uint64, error) {
	select {
	case <-w.done:
		if w.err == nil && len(w.late) > 0 {
			return w.seq, &lateError{changes: w.late, newest: c.newestRevision()}
		}
		return w.seq, w.err
	case <-ctx.Done():
		return 0, fmt.Errorf("write: %w", context.Cause(ctx))
	}
}

// records returns the records of the changes, without revisions, and their size in the log in bytes. logged contains the changes as the
// records state them, because every copy must store the same.
func (c *Copy) records(changes []index.Change) (logged []index.Change, records []wal.Record, size int, err error) {
	c.mu.Lock()
	payload := c.payload
	c.mu.Unlock()
	logged, records = make([]index.Change, len(changes)), make([]wal.Record, len(changes))
	err = guard(c.o.Panicked, func() (err error) {
		for i := range changes {
			if p := changes[i].Put; p != nil {
				if err := c.Index().Check(p); err != nil {
					return err
				}
			}
			logged[i] = readable(changes[i], payload)
			if records[i], err = record(&logged[i]); err != nil {
				return err
			}
			size += records[i].Size()
		}
		return nil
	})
	return logged, records, size, err
}

// room returns an error for records that the log would refuse, because a master that cannot log an accepted write must step down.
func (c *Copy) room(size int) error {
	c.mu.Lock()
	log := c.wal
	c.mu.Unlock()
	return log.Room(size)
}

// lateError reports that documents have, or may have had, newer revisions than some changes. It wraps concordat.ErrUnavailable, since the
// changes can succeed with a different revision. For recomputed profiles, it lists the changes whose documents have since changed.
type lateError struct {
	changes []int // changes that were not made
	newest  uint64
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%d documents were changed by other requests; try again", len(e.changes))
}

func (e *lateError) Unwrap() error { return concordat.ErrUnavailable }

// newestRevision returns an upper bound on the revisions known to the copy.
func (c *Copy) newestRevision() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replica.NewestRevision()
}

// master returns the master named in the state.
func master(s coord.State) coord.NodeID {
	if s.Leader == "" || len(s.ISR) == 0 {
		return ""
	}
	return s.ISR[0]
}

// NotMasterError reports that another copy is the master. It wraps concordat.ErrUnavailable.
type NotMasterError struct{ Master coord.NodeID } // empty if unknown

func (e *NotMasterError) Error() string {
	return fmt.Sprintf("this node is not the shard's master; the master is %q", string(e.Master))
}

// Unwrap makes errors.Is(e, concordat.ErrUnavailable) true.
func (e *NotMasterError) Unwrap() error { return concordat.ErrUnavailable }

func refusal(a replica.Refuse) error {
	switch a.Why {
	case replica.NotMaster:
		return &NotMasterError{a.Master}
	case replica.ReadOnly:
		return fmt.Errorf("the shard is read-only while the coordinator is unreachable: %w", concordat.ErrUnavailable)
	case replica.Full:
		return fmt.Errorf("not enough free disk space for another write: %w", concordat.ErrDiskFull)
	case replica.Busy:
		return fmt.Errorf("too many pending writes: %w", concordat.ErrUnavailable)
	}
	return fmt.Errorf("the master changed, and the write may or may not have been made; repeat the write: %w", concordat.ErrUnavailable)
}
