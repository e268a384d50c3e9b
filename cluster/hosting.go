package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
)

// hosting opens, reopens, abandons and removes the copies on a node, and answers from them.
type hosting struct {
	o       *NodeOptions
	log     *slog.Logger
	fan     *fan
	peers   *HTTPPeers
	ctx     context.Context // context of the node
	changed chan struct{}   // Node.changed
	opened  atomic.Uint64   // number of copies opened since the start

	mu     *sync.Mutex // the node's mu; protects copies and each hosted in it; Node.run reads without it what nothing else changes
	copies map[concordat.ShardID]*hosted
}

// hosted is a copy on this node.
type hosted struct {
	copy  *Copy // nil while it cannot be opened
	views *fanned
	ready coord.Incarnation // incarnation under which the copy allows the node to announce itself
	again time.Time         // when to retry opening
	err   error             // why it is not open
	// Only run uses these two: the incarnation under which the copy was compared with the acknowledged records, and the epoch recorded
	// then.
	compared coord.Incarnation
	tenure   uint64
}

func copyDir(root string, id concordat.ShardID) string { return filepath.Join(root, string(id)) }

// get returns this node's copy of a shard.
func (hs *hosting) get(id concordat.ShardID) (*Copy, bool) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.copies[id]
	if h == nil || h.copy == nil {
		return nil, false
	}
	return h.copy, true
}

// host opens the copy if it is not open, or reopens it after it failed (R12).
func (hs *hosting) host(id concordat.ShardID, s coord.Shard) {
	hs.mu.Lock()
	h := hs.copies[id]
	if h == nil {
		h = &hosted{}
		hs.copies[id] = h
	}
	hs.mu.Unlock()
	if h.copy != nil {
		if _, err := h.copy.Status(); err == nil {
			return
		}
		hs.mu.Lock()
		failed := *h
		h.copy, h.views = nil, nil
		hs.mu.Unlock()
		hs.close(&failed)
	}
	if time.Now().Before(h.again) {
		return
	}
	views := hs.fan.join()
	c, err := hs.openCopy(id, s, views)
	hs.mu.Lock()
	h.copy, h.views, h.err, h.again = c, views, err, time.Now().Add(5*lookAgain)
	hs.mu.Unlock()
	if err != nil {
		hs.log.Error("cannot open the copy", "shard", id, "error", err)
		hs.mu.Lock()
		h.copy, h.views = nil, nil
		hs.mu.Unlock()
		hs.fan.leave(views)
		hs.relinquish(id)
	}
}

// fetchBits is the number of bits that number the fetches of one copy, enough for 1,000 per second over 30 years.
const fetchBits = 40

// openCopy opens the copy. If it is too damaged for cutting to repair it and other nodes have the shard, the copy is put aside and
// replaced with an empty one, which counts after it has caught up.
func (hs *hosting) openCopy(id concordat.ShardID, s coord.Shard, views *fanned) (*Copy, error) {
	o := hs.o.Copy
	o.Index, o.Node, o.Coordinator, o.Peers, o.Restored = hs.o.Index, hs.o.Node.ID, views, hs.peers, false
	o.Index.Shard, o.payload = id, hs.o.Node.Payload
	o.Ready = func(i coord.Incarnation) { hs.readyFor(id, i) }
	o.Replica.FirstFetch = hs.opened.Add(1) << fetchBits
	dir := copyDir(hs.o.Dir, id)
	// If a member of ISR has an empty copy, it must have lost its records; empty copies are legitimate only in epoch 0.
	mine := slices.Contains(s.ISR, hs.o.Node.ID) && s.Epoch > 0
	o.Lost = mine && !exists(dir)
	others := slices.ContainsFunc(s.ISR, func(m coord.NodeID) bool { return m != hs.o.Node.ID })
	if m, err := readMeta(dir); err == nil && m.Aside != "" && others {
		if err := putAside(hs.log, hs.o.Dir, id, m.Aside); err != nil {
			return nil, err
		}
		o.Lost = true
	}
	c, err := OpenCopy(dir, o)
	if err == nil || !errors.Is(err, concordat.ErrCorrupt) {
		return c, err
	}
	if !others {
		return nil, fmt.Errorf("this node has the shard's only copy in sync: restore the copy, or force another node to take over the shard: %w", err)
	}
	if rerr := putAside(hs.log, hs.o.Dir, id, err.Error()); rerr != nil {
		return nil, errors.Join(err, rerr)
	}
	o.Lost = true
	return OpenCopy(dir, o)
}

// relinquish gives up the leadership and candidacy of a copy that cannot be opened. The node can then announce itself for the sake of its
// other copies.
func (hs *hosting) relinquish(id concordat.ShardID) {
	ctx, cancel := context.WithTimeout(hs.ctx, 5*time.Second)
	defer cancel()
	s, err := hs.o.Session.Read(ctx, id)
	if err != nil {
		return // retry soon
	}
	next, me := s.Clone(), hs.o.Node.ID
	if slices.Contains(next.ISR, me) && !slices.Contains(next.Hold, me) {
		next.Hold = append(next.Hold, me)
		if next.ISR[0] == me {
			next.Leader = ""
		}
		if _, err := hs.o.Session.CAS(ctx, id, s.Version, next, ""); err != nil {
			return
		}
	}
	v, _ := hs.fan.now()
	hs.readyFor(id, v.Me)
}

// drop closes a copy and removes its folder, after the coordinator confirms that the copy is no longer wanted.
func (hs *hosting) drop(id concordat.ShardID) {
	dir := copyDir(hs.o.Dir, id)
	hs.mu.Lock()
	h := hs.copies[id]
	hs.mu.Unlock()
	if h == nil && !exists(dir) {
		return
	}
	ctx, cancel := context.WithTimeout(hs.ctx, 5*time.Second)
	defer cancel()
	s, err := hs.o.Session.Read(ctx, id)
	if err != nil || slices.Contains(s.ISR, hs.o.Node.ID) || slices.Contains(s.Replicas, hs.o.Node.ID) {
		return
	}
	hs.mu.Lock()
	delete(hs.copies, id)
	hs.mu.Unlock()
	if h != nil {
		hs.close(h)
	}
	if m, err := readMeta(dir); err == nil && m.Aside != "" {
		if err := putAside(hs.log, hs.o.Dir, id, m.Aside); err != nil {
			hs.log.Warn("cannot put the copy aside", "shard", id, "error", err)
		}
		return
	}
	hs.log.Info("copy removed", "shard", id)
	gone := dir + ".removed"
	if err := errors.Join(os.RemoveAll(gone), os.Rename(dir, gone), os.RemoveAll(gone)); err != nil {
		hs.log.Warn("remove copy", "shard", id, "error", err)
	}
}

// handOverTime is how long Close waits for other nodes to take over.
const handOverTime = 2 * time.Second

// handOver hands leadership to other copies, if any.
func (hs *hosting) handOver(ctx context.Context) {
	var copies []*Copy
	hs.mu.Lock()
	for _, h := range hs.copies {
		if h.copy != nil {
			copies = append(copies, h.copy)
		}
	}
	hs.mu.Unlock()
	v, _ := hs.fan.now()
	heir := func(s replica.Status) bool {
		return s.Role == replica.Master && slices.ContainsFunc(s.Shard.ISR, func(m coord.NodeID) bool {
			_, live := v.Live[m]
			return live && m != hs.o.Node.ID
		})
	}
	for _, c := range copies {
		if st, err := c.Status(); err == nil && heir(st) {
			c.StepDown()
		}
	}
	for _, c := range copies {
		// If no node takes over, leadership ends when the copy is closed.
		_ = c.Await(ctx, func(s replica.Status) bool { return !heir(s) })
	}
}

func (hs *hosting) close(h *hosted) {
	if h.copy != nil {
		if err := h.copy.Close(); err != nil {
			hs.log.Warn("close copy", "error", err)
		}
	}
	if h.views != nil {
		hs.fan.leave(h.views)
	}
}

// readyFor records that the copy allows the node to announce itself under the incarnation.
func (hs *hosting) readyFor(id concordat.ShardID, i coord.Incarnation) {
	hs.mu.Lock()
	if h := hs.copies[id]; h != nil {
		h.ready = i
	}
	hs.mu.Unlock()
	wake(hs.changed)
}
