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

// write is one call of Write that waits.
type write struct {
	open int // its records without an answer
	err  error
	seq  uint64
	done chan struct{}
}

// Write appends the changes and returns when they are acknowledged: on the disk of every copy in sync,
// and visible in this one. It returns the number of the last record. Errors: NotMasterError,
// concordat.ErrUnavailable (some changes may have been made, or be made yet; repeating is safe),
// concordat.ErrDiskFull, concordat.ErrInvalid and concordat.ErrScheme (nothing was changed).
func (c *Copy) Write(ctx context.Context, changes []index.Change) (uint64, error) {
	return c.writeIn(ctx, anyEpoch, changes)
}

// anyEpoch lets writeIn write as long as the copy is master.
const anyEpoch = 0

// writeIn is Write, and refuses if the copy is not master of the given epoch: a message that was long under
// way must not have its way in a later one.
func (c *Copy) writeIn(ctx context.Context, epoch uint64, changes []index.Change) (uint64, error) {
	records, size := make([]wal.Record, len(changes)), 0
	for i := range changes {
		if p := changes[i].Put; p != nil {
			if err := c.Index().Check(p); err != nil {
				return 0, err
			}
		}
		var err error
		if records[i], err = record(&changes[i]); err != nil {
			return 0, err
		}
		size += records[i].Size()
	}
	if len(changes) == 0 {
		return 0, nil
	}
	if err := c.room(size); err != nil {
		return 0, err
	}
	c.gate.RLock()
	defer c.gate.RUnlock()
	w := &write{open: len(changes), done: make(chan struct{})}
	c.mu.Lock()
	if st := c.replica.Status(); epoch != anyEpoch && c.failed == nil && (st.Role != replica.Master || st.Shard.Epoch != epoch) {
		c.mu.Unlock()
		return 0, &NotMasterError{master(st.Shard.State)}
	}
	for i := range changes {
		if c.failed != nil {
			w.answer(0, c.failed)
			continue
		}
		c.nextID++
		c.writes[c.nextID] = w
		c.writing = &changes[i]
		c.stepLocked(replica.Write{ID: c.nextID, Record: records[i]})
		c.writing = nil
	}
	c.mu.Unlock()
	select {
	case <-w.done:
		return w.seq, w.err
	case <-ctx.Done():
		return 0, fmt.Errorf("write: %w", context.Cause(ctx))
	}
}

// room refuses what the log would: a master that cannot log what it took has to give up its office.
func (c *Copy) room(size int) error {
	c.mu.Lock()
	log := c.wal
	c.mu.Unlock()
	return log.Room(size)
}

// answer notes what came of one record; mu is held. Whatever failed first is the answer of all.
func (w *write) answer(seq uint64, err error) {
	w.seq = max(w.seq, seq)
	if w.err == nil {
		w.err = err
	}
	if w.open--; w.open == 0 {
		close(w.done)
	}
}

func (c *Copy) answerWrite(id, seq uint64, err error) {
	if w := c.writes[id]; w != nil {
		delete(c.writes, id)
		w.answer(seq, err)
	}
}

// master returns who is, as far as the state says.
func master(s coord.State) coord.NodeID {
	if s.Leader == "" || len(s.ISR) == 0 {
		return ""
	}
	return s.ISR[0]
}

// NotMasterError says that another copy is the master. It is a concordat.ErrUnavailable.
type NotMasterError struct{ Master coord.NodeID } // empty: nobody knows

func (e *NotMasterError) Error() string {
	return fmt.Sprintf("not the master of the shard; that is %q", string(e.Master))
}

// Unwrap makes errors.Is(e, concordat.ErrUnavailable) true.
func (e *NotMasterError) Unwrap() error { return concordat.ErrUnavailable }

func refusal(a replica.Refuse) error {
	switch a.Why {
	case replica.NotMaster:
		return &NotMasterError{a.Master}
	case replica.ReadOnly:
		return fmt.Errorf("read only while the coordinator is out of reach: %w", concordat.ErrUnavailable)
	case replica.Full:
		return fmt.Errorf("no room for another write: %w", concordat.ErrDiskFull)
	case replica.Busy:
		return fmt.Errorf("too many writes wait: %w", concordat.ErrUnavailable)
	}
	return fmt.Errorf("the master changed; the write may have been made, repeat it: %w", concordat.ErrUnavailable)
}
