package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
)

// The position up to which each shard's records were acknowledged is also recorded outside the nodes, alongside the catalogue. A folder
// that went back in time, for example because a snapshot of a running machine was restored, records the same start as the lost one. Its
// log, however, ends before the acknowledged record, which reveals the problem.

// Position identifies a record in a shard's log. All records of a later epoch follow those of an earlier one.
type Position struct {
	Epoch uint64 `json:"epoch"`
	Seq   uint64 `json:"record"`
}

// Compare returns -1, 0 or 1 if p is before, equal to or after q.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Epoch, q.Epoch), cmp.Compare(p.Seq, q.Seq))
}

// Acknowledged records the last acknowledged record of each shard outside the nodes of a cluster.
type Acknowledged interface {
	// Note durably records that the shards' records were acknowledged up to the given positions. Recorded positions never go back.
	Note(ctx context.Context, cluster string, at map[concordat.ShardID]Position) error
	// Noted returns the recorded positions of the cluster's shards, omitting shards without one.
	Noted(ctx context.Context, cluster string) (map[concordat.ShardID]Position, error)
}

// noteTime is the time limit for one call of Acknowledged. noteTries is how often it is called for a write that is done and whose caller
// still waits, because writes take turns at the catalogue.
const (
	noteTime  = 10 * time.Second
	noteTries = 3
)

// notes records positions outside the nodes, combining the positions of many writes.
type notes struct {
	kept    Acknowledged
	cluster string
	ctx     context.Context
	wg      *sync.WaitGroup

	mu      sync.Mutex // protects the following fields
	pending map[concordat.ShardID]Position
	waiting []noting
	running bool
}

// noting is a caller that waits for its position to be recorded.
type noting struct {
	gone  <-chan struct{} // closed when it no longer waits
	done  chan error
	tries int
}

func (w *noting) waits() bool {
	select {
	case <-w.gone:
		return false
	default:
		return true
	}
}

// note durably records outside the nodes that the shard's records were acknowledged up to at.
func (s *notes) note(ctx context.Context, id concordat.ShardID, at Position) error {
	if s.kept == nil {
		return nil
	}
	done := make(chan error, 1)
	s.mu.Lock()
	s.addLocked(id, at)
	s.waiting = append(s.waiting, noting{gone: ctx.Done(), done: done})
	if !s.running {
		s.running = true
		s.wg.Go(s.run)
	}
	s.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: the change was written but not recorded in the catalogue; repeat it: %w", concordat.ErrUnavailable, context.Cause(ctx))
	}
}

// addLocked adds a position to the positions to record. mu must be held.
func (s *notes) addLocked(id concordat.ShardID, at Position) {
	if s.pending == nil {
		s.pending = map[concordat.ShardID]Position{}
	}
	if at.Compare(s.pending[id]) > 0 {
		s.pending[id] = at
	}
}

// run records pending positions until none are left.
func (s *notes) run() {
	for {
		s.mu.Lock()
		at, waiting := s.pending, s.waiting
		s.pending, s.waiting = nil, nil
		if s.running = len(waiting) > 0; !s.running {
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(s.ctx, noteTime)
		err := s.kept.Note(ctx, s.cluster, at)
		cancel()
		late := errors.Is(err, context.DeadlineExceeded)
		if err != nil {
			err = fmt.Errorf("%w: the change was written but not recorded in the catalogue; repeat it: %w", concordat.ErrUnavailable, err)
		}
		again := false // some callers still wait for the positions that were not recorded
		s.mu.Lock()
		for _, w := range waiting {
			if w.tries++; late && w.tries < noteTries && w.waits() && s.ctx.Err() == nil {
				s.waiting = append(s.waiting, w)
				again = true
			} else {
				w.done <- err
			}
		}
		if again {
			for id, p := range at {
				s.addLocked(id, p)
			}
		}
		s.mu.Unlock()
	}
}

// noteTenures records the start of each epoch that a copy of this node leads, once it is committed; that position then applies even to a
// shard that was forced to accept a shorter log.
func noteTenures(n *Node) {
	if n.o.Acknowledged == nil {
		return
	}
	n.mu.Lock()
	var led []*hosted
	for _, h := range n.hosting.copies {
		if h.copy != nil {
			led = append(led, h)
		}
	}
	n.mu.Unlock()
	for _, h := range led {
		st, err := h.copy.Status()
		if err != nil || st.Role != replica.Master || st.Commit < st.Start || h.tenure == st.Shard.Epoch {
			continue
		}
		ctx, cancel := context.WithTimeout(n.ctx, noteTime)
		err = n.notes.note(ctx, h.copy.o.Index.Shard, Position{Epoch: st.Shard.Epoch, Seq: st.Start})
		cancel()
		if err != nil {
			n.log.Warn("cannot record the epoch", "shard", h.copy.o.Index.Shard, "error", err)
			return // retry soon
		}
		h.tenure = st.Shard.Epoch
	}
}

// compareAcknowledged determines, before the node announces itself, which of its copies lack acknowledged records, and puts them on hold
// until they have caught up with a master. It reports whether all copies were compared.
func compareAcknowledged(n *Node, me coord.Incarnation) bool {
	var open []*hosted
	n.mu.Lock()
	for _, h := range n.hosting.copies {
		if h.copy != nil && h.compared != me {
			open = append(open, h)
		}
	}
	n.mu.Unlock()
	if n.o.Acknowledged == nil || len(open) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(n.ctx, noteTime)
	defer cancel()
	noted, err := n.o.Acknowledged.Noted(ctx, n.layout.Cluster)
	if err != nil {
		n.log.Warn("cannot read from the catalogue which records were acknowledged; this node's copies do not count until this succeeds", "error", err)
		return false
	}
	all := true
	for _, h := range open {
		h.compared = me
		want, ok := noted[h.copy.o.Index.Shard]
		if !ok {
			continue
		}
		have, lacks := h.copy.lacks(want)
		if !lacks {
			continue
		}
		n.log.Error("the copy lacks acknowledged records: its folder was reset to an older state, or its disk lost the records; the copy does not count until it has caught up",
			"shard", h.copy.o.Index.Shard, "has", have, "acknowledged", want)
		n.mu.Lock()
		h.ready = "" // Ready follows again when others can rely on the copy
		n.mu.Unlock()
		h.copy.step(replica.Behind{})
		all = false
	}
	return all
}

// lacks returns the end of the copy's log, and whether the log lacks the record at p. A copy that is not in sync is allowed to lack it.
func (c *Copy) lacks(p Position) (have Position, lacks bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.wal.Extent()
	have = Position{Epoch: x.EpochAt(x.End), Seq: x.End}
	return have, c.replica.Status().InSync && !holds(&x, p)
}

// holds reports whether the record is in the log or in the part trimmed from it.
func holds(x *wal.Extent, p Position) bool {
	switch {
	case p.Seq > x.End:
		return false
	case p.Seq > x.Base:
		return x.EpochAt(p.Seq) == p.Epoch
	}
	return x.BaseEpoch >= p.Epoch
}
