package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
)

// This file determines how a Node opens, reopens, abandons and removes its copies.

// host opens the copy if it is not open, or reopens it after it failed (R12).
func (n *Node) host(id concordat.ShardID, s coord.Shard) {
	n.mu.Lock()
	h := n.copies[id]
	if h == nil {
		h = &hosted{}
		n.copies[id] = h
	}
	n.mu.Unlock()
	if h.copy != nil {
		if _, err := h.copy.Status(); err == nil {
			return
		}
		n.mu.Lock()
		failed := *h
		h.copy, h.views = nil, nil
		n.mu.Unlock()
		n.close(&failed)
	}
	if time.Now().Before(h.again) {
		return
	}
	views := n.fan.join()
	c, err := n.openCopy(id, s, views)
	n.mu.Lock()
	h.copy, h.views, h.err, h.again = c, views, err, time.Now().Add(5*lookAgain)
	n.mu.Unlock()
	if err != nil {
		n.log.Error("cannot open the copy", "shard", id, "error", err)
		n.mu.Lock()
		h.copy, h.views = nil, nil
		n.mu.Unlock()
		n.fan.leave(views)
		n.relinquish(id)
	}
}

// fetchBits is the number of bits that number the fetches of one copy, enough for 1,000 per second over 30 years.
const fetchBits = 40

// openCopy opens the copy. If it is too damaged for cutting to repair it and other nodes have the shard, the copy is put aside and
// replaced with an empty one, which counts after it has caught up.
func (n *Node) openCopy(id concordat.ShardID, s coord.Shard, views *fanned) (*Copy, error) {
	o := n.o.Copy
	o.Index, o.Node, o.Coordinator, o.Peers, o.Restored = n.o.Index, n.o.Node.ID, views, n.peers, false
	o.Index.Shard = id
	o.Ready = func(i coord.Incarnation) { n.readyFor(id, i) }
	o.Replica.FirstFetch = n.opened.Add(1) << fetchBits
	dir := copyDir(n.o.Dir, id)
	// If a member of ISR has an empty copy, it must have lost its records; empty copies are legitimate only in epoch 0.
	mine := slices.Contains(s.ISR, n.o.Node.ID) && s.Epoch > 0
	o.Lost = mine && !exists(dir)
	others := slices.ContainsFunc(s.ISR, func(m coord.NodeID) bool { return m != n.o.Node.ID })
	if m, err := readMeta(dir); err == nil && m.Aside != "" && others {
		if err := putAside(n.log, n.o.Dir, id, m.Aside); err != nil {
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
	if rerr := putAside(n.log, n.o.Dir, id, err.Error()); rerr != nil {
		return nil, errors.Join(err, rerr)
	}
	o.Lost = true
	return OpenCopy(dir, o)
}

// relinquish gives up the leadership and candidacy of a copy that cannot be opened. The node can then announce itself for the sake of its
// other copies.
func (n *Node) relinquish(id concordat.ShardID) {
	ctx, cancel := context.WithTimeout(n.ctx, 5*time.Second)
	defer cancel()
	s, err := n.o.Session.Read(ctx, id)
	if err != nil {
		return // retry soon
	}
	next, me := s.Clone(), n.o.Node.ID
	if slices.Contains(next.ISR, me) && !slices.Contains(next.Hold, me) {
		next.Hold = append(next.Hold, me)
		if next.ISR[0] == me {
			next.Leader = ""
		}
		if _, err := n.o.Session.CAS(ctx, id, s.Version, next, ""); err != nil {
			return
		}
	}
	v, _ := n.fan.now()
	n.readyFor(id, v.Me)
}

// drop closes a copy and removes its folder, after the coordinator confirms that the copy is no longer wanted.
func (n *Node) drop(id concordat.ShardID) {
	dir := copyDir(n.o.Dir, id)
	n.mu.Lock()
	h := n.copies[id]
	n.mu.Unlock()
	if h == nil && !exists(dir) {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, 5*time.Second)
	defer cancel()
	s, err := n.o.Session.Read(ctx, id)
	if err != nil || slices.Contains(s.ISR, n.o.Node.ID) || slices.Contains(s.Replicas, n.o.Node.ID) {
		return
	}
	n.mu.Lock()
	delete(n.copies, id)
	n.mu.Unlock()
	if h != nil {
		n.close(h)
	}
	if m, err := readMeta(dir); err == nil && m.Aside != "" {
		if err := putAside(n.log, n.o.Dir, id, m.Aside); err != nil {
			n.log.Warn("cannot put the copy aside", "shard", id, "error", err)
		}
		return
	}
	n.log.Info("copy removed", "shard", id)
	gone := dir + ".removed"
	if err := errors.Join(os.RemoveAll(gone), os.Rename(dir, gone), os.RemoveAll(gone)); err != nil {
		n.log.Warn("remove copy", "shard", id, "error", err)
	}
}

// handOverTime is how long Close waits for other nodes to take over.
const handOverTime = 2 * time.Second

// handOver hands leadership to other copies, if any.
func (n *Node) handOver(ctx context.Context) {
	var copies []*Copy
	n.mu.Lock()
	for _, h := range n.copies {
		if h.copy != nil {
			copies = append(copies, h.copy)
		}
	}
	n.mu.Unlock()
	v, _ := n.fan.now()
	heir := func(s replica.Status) bool {
		return s.Role == replica.Master && slices.ContainsFunc(s.Shard.ISR, func(m coord.NodeID) bool {
			_, live := v.Live[m]
			return live && m != n.o.Node.ID
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
