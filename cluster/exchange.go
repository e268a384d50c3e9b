package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"concordat"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
	"concordat/index"
)

// This file contains what a Copy exchanges with others: fetches, replies and snapshots.

const (
	fetchTimeout = 2 * time.Second
	// refusals is the number of consecutive refused connections at which the process counts as gone.
	refusals     = 3
	refusalPause = 50 * time.Millisecond
)

// sendFetch sends a fetch to the master in a new goroutine. mu must be held.
func (c *Copy) sendFetch(a replica.SendFetch) {
	to, ok := c.live[a.To]
	if c.o.Peers == nil || !ok {
		return // the replica asks again
	}
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, fetchTimeout)
		defer cancel()
		for n := 1; ; n++ {
			reply, err := c.o.Peers.Fetch(ctx, to, c.o.Index.Shard, a.Fetch)
			switch {
			case err == nil:
				c.step(reply)
				return
			case !errors.Is(err, syscall.ECONNREFUSED):
				c.step(replica.Lost{ID: a.Fetch.ID})
				return
			case n == refusals:
				c.step(replica.Unreachable{Node: a.To, ID: a.Fetch.ID})
				return
			}
			select {
			case <-time.After(refusalPause):
			case <-ctx.Done():
				return
			}
		}
	})
}

// Fetch replies to another copy. It waits until there is something to send, or for the configured time.
func (c *Copy) Fetch(ctx context.Context, f replica.Fetch) (replica.Reply, error) {
	key, answer := fetchKey{f.From, f.ID}, make(chan replica.Reply, 1)
	me := c.o.Coordinator.Confirmed()
	c.mu.Lock()
	c.stepLocked(replica.Contact{Me: me}) // the reply can grant a lease
	c.fetches[key] = answer               // a fetch of an earlier incarnation with the same number no longer has a waiting caller
	c.stepLocked(f)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.fetches[key] == answer {
			delete(c.fetches, key)
		}
	}()
	select {
	case r := <-answer:
		return r, nil
	case <-ctx.Done():
		return replica.Reply{}, context.Cause(ctx)
	case <-c.ctx.Done():
		return replica.Reply{}, fmt.Errorf("the copy is closed: %w", concordat.ErrUnavailable)
	}
}

// sendReply adds records to the reply and passes it to the waiting Fetch. mu must be held.
func (c *Copy) sendReply(a replica.SendReply) {
	answer := c.fetches[fetchKey{a.To, a.Reply.ID}]
	if answer == nil {
		return
	}
	delete(c.fetches, fetchKey{a.To, a.Reply.ID})
	r := a.Reply
	if a.First > 0 {
		records, err := c.wal.Read(a.First, a.MaxBytes)
		switch {
		case errors.Is(err, concordat.ErrNotFound):
			r.Kind = replica.Snapshot // the log was trimmed a moment ago
		case errors.Is(err, concordat.ErrCorrupt):
			c.wg.Go(func() { c.step(replica.Broken{Reason: err.Error()}) })
			return
		case err != nil:
			return
		}
		r.Records = records[:min(uint64(len(records)), a.Last-a.First+1)]
	}
	answer <- r
}

// Installing a snapshot. The new index is built next to the copy's folder; after a marker shows that it is complete, the next opening
// finishes an interrupted installation.

const markerName = "installing"

func snapshotDir(dir string) string { return dir + ".snapshot" }

// install fetches a snapshot and installs it, in a new goroutine. mu must be held.
func (c *Copy) install(a replica.Install) {
	from, ok := c.live[a.From]
	c.wg.Go(func() {
		e := replica.Installed{Gen: a.Gen, Failed: true}
		if c.o.Peers == nil || !ok {
			c.step(e)
			return
		}
		next := snapshotDir(c.dir)
		newest := uint64(0)
		err := os.RemoveAll(next)
		if err == nil {
			newest, err = c.o.Peers.Snapshot(c.ctx, from, c.o.Index.Shard, next)
		}
		if err != nil {
			c.log.Warn("snapshot", "shard", c.o.Index.Shard, "from", from.ID, "error", err)
			c.step(e)
			return
		}
		at, err := c.replace()
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			c.fail(fmt.Errorf("snapshot: %w", err))
			return
		}
		c.stepLocked(replica.Installed{Gen: a.Gen, Seq: at.Seq, Epoch: at.Epoch, Newest: newest})
	})
}

// replace replaces the index and the log with the snapshot.
func (c *Copy) replace() (index.Applied, error) {
	c.applying.Lock()
	defer c.applying.Unlock()
	if err := errors.Join(c.frozen.thaw(""), writeMarker(c.dir)); err != nil {
		return index.Applied{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := errors.Join(c.wal.Close(), c.index.Close(), finishInstall(c.dir)); err != nil {
		return index.Applied{}, err
	}
	ix, err := index.Open(c.dir, c.o.Index)
	if err != nil {
		return index.Applied{}, err
	}
	c.index = ix
	at := ix.Applied()
	log, err := wal.Open(logDir(c.dir), wal.Options{Shard: c.o.Index.Shard, LowWater: c.o.LowWater, SegmentBytes: c.o.SegmentBytes})
	if err != nil {
		return at, err
	}
	c.wal, c.target = log, at.Seq
	clear(c.changes)
	return at, log.Reset(at.Seq, at.Epoch)
}

func writeMarker(dir string) error {
	f, err := os.Create(filepath.Join(snapshotDir(dir), markerName))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), syncDir(snapshotDir(dir)))
}

// finishInstall completes an interrupted installation, or discards it if its index is incomplete.
func finishInstall(dir string) error {
	next := snapshotDir(dir)
	if _, err := os.Stat(filepath.Join(next, markerName)); errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(next)
	} else if err != nil {
		return err
	}
	// A process that died may have left the marker, and the snapshot's name, only in memory.
	if err := errors.Join(syncDir(next), syncDir(filepath.Dir(next)), os.RemoveAll(filepath.Join(dir, logName))); err != nil {
		return err
	}
	return moveIndex(next, dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
