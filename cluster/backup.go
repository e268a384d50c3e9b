package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/wal"
	"concordat/index"
)

// This file contains what a backup does on the node that makes it, and what becomes of it when it is restored.

// ShardSnapshot describes the content of a copy of a shard.
type ShardSnapshot struct {
	Shard     concordat.ShardID `json:"shard"`
	Epoch     uint64            `json:"epoch"`
	Seq       uint64            `json:"seq"`
	Documents int               `json:"documents"`
	Sentences int               `json:"sentences"`
}

// CopyAll writes the indexes of all shards, as of a single moment, to folders in dir named after the shards. It calls moment, which
// should be quick, while no write is in progress on any node and none can begin. If a shard has no master, or its master changed, it
// fails with concordat.ErrUnavailable.
func (n *Node) CopyAll(ctx context.Context, dir string, moment func(context.Context) error) ([]ShardSnapshot, error) {
	b, err := newBackup(n)
	if err != nil {
		return nil, err
	}
	defer b.drop(ctx)
	if err := b.pause(ctx, moment); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var out []ShardSnapshot
	for _, id := range n.layout.names() {
		m, err := b.fetch(ctx, id, filepath.Join(dir, string(id)))
		if err != nil {
			return nil, fmt.Errorf("shard %s: %w", id, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// backup is one call of CopyAll.
type backup struct {
	n      *Node
	view   *coord.View                                   // when it began
	moment string                                        // name of its moment
	epochs map[coord.NodeID]map[concordat.ShardID]uint64 // of the shards that each node leads
}

// newBackup determines the masters of all shards.
func newBackup(n *Node) (*backup, error) {
	v, _ := n.fan.now()
	b := &backup{n: n, view: v, moment: rand.Text(), epochs: map[coord.NodeID]map[concordat.ShardID]uint64{}}
	for _, id := range n.layout.names() {
		s, ok := v.Shards[id]
		if !ok || !v.Leads(s.State) {
			return nil, fmt.Errorf("shard %s has no master: %w", id, concordat.ErrUnavailable)
		}
		if b.epochs[s.ISR[0]] == nil {
			b.epochs[s.ISR[0]] = map[concordat.ShardID]uint64{}
		}
		b.epochs[s.ISR[0]][id] = s.Epoch
	}
	return b, nil
}

// drop releases the indexes that the masters keep, even if ctx has ended.
func (b *backup) drop(ctx context.Context) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), pauseTime)
	defer cancel()
	for id := range b.epochs {
		if id == b.n.o.Node.ID {
			b.n.pauses.drop(b.moment)
			continue
		}
		var done bool
		_ = b.n.peers.exchange(late, b.view.Live[id], "-", "drop", b.moment, &done) // otherwise they are released an hour later
	}
}

// pause pauses the writes of all shards while it calls moment.
func (b *backup) pause(ctx context.Context, moment func(context.Context) error) (err error) {
	resumed := false
	defer func() {
		if !resumed {
			_ = b.resume(ctx) // the first error is returned
		}
	}()
	g, gctx := errgroup.WithContext(ctx)
	for id, epochs := range b.epochs {
		g.Go(func() error {
			in := pauseRequest{b.moment, epochs}
			if id == b.n.o.Node.ID {
				return b.n.pauses.pause(gctx, in)
			}
			var done bool
			return b.n.peers.exchange(gctx, b.view.Live[id], "-", "hold", in, &done)
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("pause writes: %w", err)
	}
	if err := moment(ctx); err != nil {
		return err
	}
	resumed = true
	if err := b.resume(ctx); err != nil {
		return err
	}
	// A master replaced without knowing it did not block any writes.
	for _, epochs := range b.epochs {
		for id, epoch := range epochs {
			if s, err := b.n.o.Session.Read(ctx, id); err != nil || s.Epoch != epoch {
				return fmt.Errorf("the master of shard %s changed; try again: %w", id, errors.Join(concordat.ErrUnavailable, err))
			}
		}
	}
	return nil
}

// resume resumes the writes of all shards, even if ctx has ended. It fails if a node resumed them before.
func (b *backup) resume(ctx context.Context) error {
	var g errgroup.Group
	for id := range b.epochs {
		g.Go(func() error {
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), pauseTime)
			defer cancel()
			held := false
			if id == b.n.o.Node.ID {
				held = b.n.pauses.resume(b.moment)
			} else if err := b.n.peers.exchange(late, b.view.Live[id], "-", "release", b.moment, &held); err != nil {
				return err
			}
			if !held {
				return fmt.Errorf("node %s resumed writes too soon; try again: %w", id, concordat.ErrUnavailable)
			}
			return nil
		})
	}
	return g.Wait()
}

// fetch fetches the index of a shard as of the moment from its master, and describes its content.
func (b *backup) fetch(ctx context.Context, id concordat.ShardID, dir string) (m ShardSnapshot, err error) {
	from := b.view.Live[b.view.Shards[id].ISR[0]]
	if from.ID == b.n.o.Node.ID {
		c, ok := b.n.hosting.get(id)
		if !ok {
			return m, fmt.Errorf("the copy is not open: %w", concordat.ErrUnavailable)
		}
		err = c.frozen.copyTo(ctx, b.moment, dir)
	} else {
		var resp *http.Response
		if resp, err = b.n.peers.call(ctx, http.MethodGet, from, id, "still/"+b.moment, nil); err == nil {
			_, err = receive(resp.Body, dir)
			err = errors.Join(err, resp.Body.Close())
		}
	}
	if err != nil {
		return m, err
	}
	return ReadSnapshot(dir, id)
}

// Adopt prepares copies of shards, restored from a backup to a node's folder of copies, so that a node that founds a cluster on them
// considers them authoritative. Each gets a log that begins where its index ends. It describes the copies in order, or returns nil if
// there are none. It can be called repeatedly until the node is started.
func Adopt(dir string) ([]ShardSnapshot, error) {
	var out []ShardSnapshot
	for i := range MaxShards {
		id := ShardName(i)
		at := filepath.Join(dir, string(id))
		if !exists(at) {
			break
		}
		m, err := ReadSnapshot(at, id)
		if err != nil {
			return nil, err
		}
		log, err := wal.Open(filepath.Join(at, logName), wal.Options{Shard: id})
		if err != nil {
			return nil, err
		}
		if x := log.Extent(); x.End == 0 && m.Seq > 0 {
			err = log.Reset(m.Seq, m.Epoch)
		} else if x.End != m.Seq {
			err = fmt.Errorf("%s is not a restored backup: the log ends at record %d, but the index ends at record %d: %w", at, x.End, m.Seq, concordat.ErrInvalid)
		}
		if err = errors.Join(err, log.Close()); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// ReadSnapshot opens the copy of a shard in dir, which proves that it can be opened, and describes its content.
func ReadSnapshot(dir string, id concordat.ShardID) (m ShardSnapshot, err error) {
	ix, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		return m, err
	}
	at, st := ix.Applied(), ix.Stats()
	if ix.ID() != id {
		err = fmt.Errorf("%s contains shard %s, not shard %s: %w", dir, ix.ID(), id, concordat.ErrCorrupt)
	}
	m = ShardSnapshot{Shard: id, Epoch: at.Epoch, Seq: at.Seq, Documents: st.Documents, Sentences: st.Sentences}
	return m, errors.Join(err, ix.Close())
}
