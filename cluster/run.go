package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
	"concordat/index"
)

// This file contains a Copy's background work.

// runTicks sends ticks to the replica, watches the free disk space and trims the log.
func (c *Copy) runTicks() {
	t := time.NewTicker(tick)
	defer t.Stop()
	for n := 0; ; n++ {
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
		}
		me := c.o.Coordinator.Confirmed()
		c.mu.Lock()
		c.stepLocked(replica.Contact{Me: me})
		c.stepLocked(replica.Tick{})
		if c.syncing != 0 && time.Since(c.start)-c.syncing > c.o.SlowSync && c.replica.Status().Role == replica.Master {
			c.stepLocked(replica.StepDown{}) // the coordinator does not notice a hung disk
		}
		if n%20 == 0 {
			c.watchRoom()
		}
		c.mu.Unlock()
		if n%trimEvery == 0 {
			c.trim()
		}
	}
}

// watchRoom keeps the replica informed of free space. A disk that was full still counts as full until a quarter more than the low-water
// mark is free. mu must be held.
func (c *Copy) watchRoom() {
	var st syscall.Statfs_t
	if syscall.Statfs(c.dir, &st) != nil {
		return // the next write will report it
	}
	free, full := uint64(st.Bavail)*uint64(st.Bsize), c.replica.Status().Full
	if full && free > c.o.LowWater+c.o.LowWater/4 || !full && free < c.o.LowWater {
		c.stepLocked(replica.Disk{Full: !full})
	}
}

// dropLog removes all current records from the log, once the index has them on disk.
func (c *Copy) dropLog(ctx context.Context) error {
	c.mu.Lock()
	log := c.wal
	c.mu.Unlock()
	if err := log.Rotate(); err != nil {
		return err
	}
	end := log.Extent().End
	if err := c.Await(ctx, func(s replica.Status) bool { return s.Applied >= end }); err != nil {
		return err
	}
	ix := c.Index()
	if err := ix.Persist(ctx); err != nil {
		return err
	}
	return c.trimTo(ix.Persisted().Seq, 0)
}

// trim removes the part of the log that the index has on disk.
func (c *Copy) trim() {
	if err := c.trimTo(c.Index().Persisted().Seq, c.o.KeepLog); err != nil {
		c.log.Warn("cannot remove old log files", "shard", c.o.Index.Shard, "error", err)
	}
}

// trimTo removes log files up to record seq, except the newest keep bytes.
func (c *Copy) trimTo(seq uint64, keep int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil || c.replica.Status().Installing {
		return c.failed
	}
	if keep > 0 && c.syncing != 0 {
		return nil // Trim waits for the disk and mu is held here, so the log is trimmed later
	}
	if !c.wal.Trimmable(seq, keep) {
		return nil
	}
	before := c.wal.Extent().Base
	if c.stepLocked(replica.Trimming{Seq: seq}); c.failed != nil {
		return c.failed
	}
	err := c.wal.Trim(seq, keep)
	if x := c.wal.Extent(); x.Base > before {
		c.stepLocked(replica.Trimmed{Base: x.Base, Epoch: x.BaseEpoch})
	}
	return err
}

// runSync syncs the log to disk, one group at a time.
func (c *Copy) runSync() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.toSync:
		}
		c.mu.Lock()
		log, gen := c.wal, c.gen
		c.syncing = time.Since(c.start)
		c.mu.Unlock()
		durable, err := log.Sync()
		c.mu.Lock()
		c.syncing = 0
		switch {
		case c.failed != nil || log != c.wal || c.replica.Status().Installing:
		case err != nil:
			if e := c.reopenLog(err); e != nil {
				c.stepLocked(e)
			}
		default:
			// Sync and Truncate exclude each other; if the log had been cut since, gen would differ.
			c.stepLocked(replica.Durable{Gen: gen, Seq: durable})
		}
		c.mu.Unlock()
	}
}

// runApply advances the index to the target in batches.
func (c *Copy) runApply() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.toApply:
		}
		for c.ctx.Err() == nil {
			more, err := c.applyNext()
			if err != nil {
				// The index may or may not have the records (Bleve does not say); only reopening it tells.
				c.mu.Lock()
				c.fail(fmt.Errorf("apply: %w", err))
				c.mu.Unlock()
				return
			}
			if !more {
				break
			}
		}
	}
}

// readAhead is the number of bytes read from the log at once for applying.
const readAhead = 256 << 10

// applyNext applies one batch of due records.
func (c *Copy) applyNext() (more bool, err error) {
	c.applying.Lock()
	defer c.applying.Unlock()
	c.mu.Lock()
	ix, log, gen := c.index, c.wal, c.gen
	at := ix.Applied()
	if c.failed != nil || c.replica.Status().Installing || at.Seq >= c.target {
		c.mu.Unlock()
		return false, nil
	}
	first, last := at.Seq+1, c.target
	known := make([]*index.Change, 0, min(last-first+1, 4096))
	for seq := first; seq <= last && len(known) < cap(known); seq++ {
		known = append(known, c.changes[seq])
	}
	x := log.Extent()
	c.mu.Unlock()

	var changes []index.Change
	var ahead []wal.Record
	sentences, text := 0, 0
	seq := first
	for ; seq < first+uint64(len(known)) && sentences < applySentences && text < applyText; seq++ {
		ch := known[seq-first]
		if ch == nil {
			if len(ahead) == 0 || ahead[0].Seq != seq {
				var err error
				if ahead, err = log.Read(seq, readAhead); err != nil || len(ahead) == 0 {
					return false, errors.Join(fmt.Errorf("the log is missing record %d", seq), err)
				}
			}
			r := ahead[0]
			ahead = ahead[1:]
			read, ok, err := change(&r, c.o.Index.Site)
			if err != nil {
				return false, err
			}
			if !ok {
				continue
			}
			if err := reprofile(&c.o, &read); err != nil {
				return false, err
			}
			ch = &read
		}
		changes = append(changes, *ch)
		if ch.Put != nil {
			sentences += len(ch.Put.Indexed)
			text += len(ch.Put.Document.Text)
		}
	}
	to := index.Applied{Seq: seq - 1, Epoch: x.EpochAt(seq - 1)}
	if err := ix.Apply(c.ctx, changes, to); errors.Is(err, concordat.ErrDiskFull) {
		return c.waitForRoom(), nil
	} else if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stuck = false
	for s := first; s <= to.Seq; s++ {
		delete(c.changes, s)
	}
	if ix == c.index && gen <= c.gen {
		c.stepLocked(replica.Applied{Seq: to.Seq})
	}
	return to.Seq < c.target, nil
}

// reprofile recomputes a profile made under a different scheme.
func reprofile(o *CopyOptions, ch *index.Change) error {
	if ch.Put == nil || ch.Put.Scheme == o.Index.Scheme || o.Reprofile == nil {
		return nil // the index refuses what it cannot store
	}
	p, err := o.Reprofile(ch.Put.Document)
	if err != nil {
		return fmt.Errorf("recompute profile %s/%s: %w", ch.Put.Document.Library, ch.Put.Document.ID, err)
	}
	ch.Put = p
	return nil
}

// waitForRoom waits a second, since committed records must be applied eventually.
func (c *Copy) waitForRoom() bool {
	c.mu.Lock()
	c.stuck = true
	c.stepLocked(replica.Disk{Full: true})
	c.mu.Unlock()
	select {
	case <-time.After(time.Second):
		return true
	case <-c.ctx.Done():
		return false
	}
}

// runViews passes on the coordinator's views, and periodically rereads the shard's state.
func (c *Copy) runViews() {
	id := c.o.Index.Shard
	for {
		select {
		case <-c.ctx.Done():
			return
		case v, ok := <-c.o.Coordinator.View():
			if !ok {
				return
			}
			c.onView(id, v)
		}
	}
}

func (c *Copy) onView(id concordat.ShardID, v coord.View) {
	s, ok := v.Shards[id]
	if !ok {
		return
	}
	live := make(map[coord.NodeID]coord.Incarnation, len(v.Live))
	for n, node := range v.Live {
		live[n] = node.Incarnation
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = v.Live
	c.readPayload(s.State, &v)
	c.stepLocked(replica.View{Shard: s, Me: v.Me, Live: live})
}

// readPayload determines the newest version of payloads that all nodes with a copy read, and a node that reads no newer one. mu must be
// held.
func (c *Copy) readPayload(s coord.State, v *coord.View) {
	if v.Config.Version != c.config {
		c.config, c.members = v.Config.Version, nil
		if l, err := ParseLayout(v.Config); err == nil {
			c.members = l.Members
		}
	}
	c.payload, c.oldest = c.o.payload, c.o.Node
	for _, id := range slices.Concat(s.ISR, s.Replicas) {
		if p := payloadOf(v.Live, c.members, id); p < c.payload && id != c.o.Node {
			c.payload, c.oldest = p, id
		}
	}
}

// cas sends a compare-and-swap to the coordinator and passes its result to the replica.
func (c *Copy) cas(a replica.CAS) {
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
	defer cancel()
	_, err := c.o.Coordinator.CAS(ctx, c.o.Index.Shard, a.Version, a.State, a.By)
	outcome := replica.Unknown
	switch {
	case err == nil:
		outcome = replica.Made
	case errors.Is(err, coord.ErrStale):
		outcome = replica.Stale
	case errors.Is(err, coord.ErrSession):
		outcome = replica.Over
	case errors.Is(err, concordat.ErrUnavailable), errors.Is(err, concordat.ErrNotFound), errors.Is(err, concordat.ErrInvalid):
		outcome = replica.Unsent
	}
	c.step(replica.CASResult{ID: a.ID, Outcome: outcome})
}
