package cluster

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster/coord"
	"concordat/index"
)

// This file contains orders to a node about one or all of its copies.

// Purge erases deleted and replaced documents from disk, including the log.
func (c *Copy) Purge(ctx context.Context) error {
	if err := c.Index().Purge(ctx); err != nil {
		return err
	}
	return c.dropLog(ctx)
}

// serveOrder performs an order about a copy on this node.
func (hs *hosting) serveOrder(do func(*Copy, context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := concordat.ShardID(r.PathValue("shard"))
		c, ok := hs.get(id)
		// The node is about to open its copy, or gave it away; the caller asks again, as if the node were away.
		err := fmt.Errorf("this node has no copy of shard %s: %w", id, concordat.ErrUnavailable)
		if ok {
			err = do(c, r.Context())
		}
		if err != nil {
			fail(w, err)
			return
		}
		_ = gob.NewEncoder(w).Encode(true) // a caller that disconnected can ask again
	}
}

// Order asks a node to do something with its copy of the shard: force makes it master whatever it lacks, stepdown makes it hand over
// leadership, and purge erases deleted data from its disk.
func (p *HTTPPeers) Order(ctx context.Context, to coord.Node, id concordat.ShardID, order string) error {
	var done bool
	return p.exchange(ctx, to, id, order, true, &done)
}

// serveRestart ends the process, after replying, so that its service manager restarts it.
func (n *Node) serveRestart(w http.ResponseWriter, _ *http.Request) {
	if n.o.Restart == nil {
		fail(w, fmt.Errorf("cannot restart node %s, because it does not run under a service manager: %w", n.o.Node.ID, concordat.ErrRefused))
		return
	}
	_ = gob.NewEncoder(w).Encode(true)        // a caller that disconnected sees the node leave
	_ = http.NewResponseController(w).Flush() // otherwise the process could end before the reply is sent
	n.o.Restart()
}

// Restart makes a node end so that its service manager restarts it. If there is no service manager, it fails with concordat.ErrRefused.
func (p *HTTPPeers) Restart(ctx context.Context, to coord.Node) error {
	var done bool
	return p.exchange(ctx, to, "-", "restart", true, &done)
}

// Purge erases deleted and replaced documents from the disks of all nodes. A node that is away keeps them. In that case, the call does
// what it can and fails with concordat.ErrUnavailable; it can be repeated.
func (n *Node) Purge(ctx context.Context) error {
	v, _ := n.fan.now()
	var mu sync.Mutex // protects errs
	var errs []error
	var g errgroup.Group
	g.SetLimit(4)
	for _, id := range n.layout.names() {
		s := v.Shards[id]
		for _, m := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.ISR, s.Replicas)))) {
			g.Go(func() error {
				err := n.purgeAt(ctx, v, id, m) // a failing node does not stop the others
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
				return nil
			})
		}
	}
	_ = g.Wait() // always returns nil
	return errors.Join(errs...)
}

func (n *Node) purgeAt(ctx context.Context, v *coord.View, id concordat.ShardID, m coord.NodeID) error {
	to, live := v.Live[m]
	if !live {
		return fmt.Errorf("purge shard %s: node %s is not live: %w", id, m, concordat.ErrUnavailable)
	}
	if m != n.o.Node.ID {
		ctx, done := n.doubts.guarded(ctx, to)
		defer done()
		return n.peers.Order(ctx, to, id, "purge")
	}
	c, ok := n.hosting.get(id)
	if !ok {
		return fmt.Errorf("purge shard %s: this node's copy is not open: %w", id, concordat.ErrUnavailable)
	}
	return c.Purge(ctx)
}

// Documents returns the number of documents in the site. If a shard does not answer, it fails with concordat.ErrUnavailable.
func (n *Node) Documents(ctx context.Context) (int, error) {
	answers, missing, err := n.askShards(ctx, n.layout.names(), question{Count: true})
	if err != nil {
		return 0, err
	}
	if len(missing) > 0 {
		return 0, fmt.Errorf("no response from shards %v: %w", missingOf(missing), concordat.ErrUnavailable)
	}
	all := 0
	for _, a := range answers {
		all += a.Count
	}
	return all, nil
}

// Stats returns the total sizes of this node's copies.
func (n *Node) Stats() index.Stats {
	var out index.Stats
	for _, id := range n.layout.names() {
		c, ok := n.hosting.get(id)
		if !ok {
			continue
		}
		s := c.Index().Stats()
		out.Documents += s.Documents
		out.Sentences += s.Sentences
		out.Meant += s.Meant
		out.Distinct += s.Distinct
		out.DiskBytes += s.DiskBytes
		out.TableBytes += s.TableBytes
		out.Levels = max(out.Levels, s.Levels)
		out.Fresh += s.Fresh
		out.Segments += s.Segments
	}
	return out
}

// Ready returns nil, or an error explaining why the node cannot do its part: a copy is not open, or the coordinator is unreachable.
func (n *Node) Ready() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fatal != nil {
		return n.fatal
	}
	errs := []error{}
	for id, h := range n.hosting.copies {
		if h.copy == nil && h.err != nil {
			errs = append(errs, fmt.Errorf("shard %s is not open: %w", id, h.err))
		}
	}
	if !n.o.Session.Online() {
		errs = append(errs, errors.New("cannot reach the coordinator"))
	}
	return errors.Join(errs...)
}

// Online reports whether the coordinator was reached within the session timeout.
func (n *Node) Online() bool { return n.o.Session.Online() }

// ShardStates reads and changes the states of shards; every coord.Session does.
type ShardStates interface {
	Read(ctx context.Context, id concordat.ShardID) (coord.Shard, error)
	CAS(ctx context.Context, id concordat.ShardID, version int64, next coord.State, by coord.Incarnation) (int64, error)
}

// SetReplicas requests copies of the shard on the given nodes, to be arranged by the shard's master. It returns the same errors as CAS.
func SetReplicas(ctx context.Context, c ShardStates, id concordat.ShardID, nodes []coord.NodeID) error {
	s, err := c.Read(ctx, id)
	if err != nil {
		return err
	}
	next := s.Clone()
	next.Replicas = nodes
	if next.Equal(s.State) {
		return nil
	}
	_, err = c.CAS(ctx, id, s.Version, next, "")
	return err
}
