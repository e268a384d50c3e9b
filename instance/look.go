package instance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/instance/config"
)

// Observer observes the cluster without being a member.
type Observer struct {
	coord.Session
	Seen coord.View
}

// Next waits for the next view.
func (w *Observer) Next(ctx context.Context) error {
	select {
	case v, ok := <-w.Session.View():
		if !ok {
			return fmt.Errorf("coordinator: %w", concordat.ErrUnavailable)
		}
		w.Seen = v
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AwaitSelf waits until this node is live, and returns its address, at which other nodes reach it and new nodes are admitted.
func (w *Observer) AwaitSelf(ctx context.Context, dir string, own coord.NodeID) (coord.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, selfTime)
	defer cancel()
	for {
		if me, live := w.Seen.Live[own]; live {
			return me, nil
		}
		if _, err := Serving(ctx, dir); err != nil {
			return coord.Node{}, Usagef("start concordat serve on this machine first; only a running server can admit another machine")
		}
		if err := w.Next(ctx); err != nil {
			return coord.Node{}, fmt.Errorf("this node is running but not yet registered with the coordinator: %w", err)
		}
	}
}

// selfTime is the maximum time for a serving node to become live.
const selfTime = 30 * time.Second

// ClusterState is the state of a cluster as one of its machines sees it.
type ClusterState struct {
	View   coord.View          `json:"view"`   // the coordinator's last report
	Nodes  []cluster.NodeState `json:"nodes"`  // this node and those that answered
	Silent map[string]string   `json:"silent"` // live nodes that did not answer in time, with the reason
	Store  string              `json:"store"`  // why the database is unusable; empty if it answers
}

// LookAtCluster requests the state of the cluster from the coordinator of the site in dir and, in parallel, from the live nodes. It needs
// neither the store nor a serving process.
func LookAtCluster(ctx context.Context, dir string, c *config.Config, ask time.Duration) (out *ClusterState, err error) {
	session, err := Observe(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	w := &Observer{Session: session}
	if err := w.Next(ctx); err != nil {
		return nil, fmt.Errorf("coordinator: %w", err)
	}
	out = &ClusterState{View: w.Seen, Silent: map[string]string{}}
	t, err := Trust(dir, c)
	if err != nil {
		return out, err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS()}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, ask)
	defer cancel()
	states, silent := (&cluster.HTTPPeers{Client: client, Cluster: t.Cluster}).States(ctx, &w.Seen)
	out.Take(states, silent)
	return out, nil
}

// Take records the nodes' answers, ordered by name.
func (c *ClusterState) Take(states map[coord.NodeID]cluster.NodeState, silent map[coord.NodeID]error) {
	for _, id := range slices.Sorted(maps.Keys(states)) {
		c.Nodes = append(c.Nodes, states[id])
	}
	for id, err := range silent {
		c.Silent[string(id)] = err.Error()
	}
}

// ShardLine is the state of a shard.
type ShardLine struct {
	Shard  concordat.ShardID `json:"shard"`
	State  string            `json:"state"` // ok, degraded, moving or down
	Master coord.NodeID      `json:"master,omitempty"`
	Epoch  uint64            `json:"epoch"`
	InSync []coord.NodeID    `json:"in_sync"`
	Hold   []coord.NodeID    `json:"hold,omitempty"`
	Wanted []coord.NodeID    `json:"wanted"`
}

// ShardState returns the state of a shard as one word.
func ShardState(v *coord.View, s coord.Shard) ShardLine {
	line := ShardLine{State: "ok", Epoch: s.Epoch, InSync: s.ISR, Hold: s.Hold, Wanted: s.Replicas}
	isr, want := slices.Sorted(slices.Values(s.ISR)), slices.Sorted(slices.Values(s.Replicas))
	live := func(n coord.NodeID) bool { _, ok := v.Live[n]; return ok }
	switch {
	case !v.Leads(s.State):
		line.State = "down"
		return line
	case slices.ContainsFunc(want, func(n coord.NodeID) bool { return !live(n) }):
		line.State = "degraded"
	case !slices.Equal(isr, want):
		line.State = "moving"
	}
	line.Master = s.ISR[0]
	return line
}

// AuthorityOf returns a live node with the authority's key, preferably this node.
func AuthorityOf(v *coord.View, l *cluster.Layout, me coord.NodeID) (coord.Node, error) {
	if l.Members[me].Authority {
		return coord.Node{ID: me}, nil
	}
	away := coord.NodeID("")
	for id, m := range l.Members {
		if n, live := v.Live[id]; m.Authority && live {
			return n, nil
		} else if m.Authority {
			away = id
		}
	}
	if away == "" {
		return coord.Node{},
			fmt.Errorf("no node has the key of the cluster's certificate authority: copy ca-key.pem into the cluster folder of one node and restart that node: %w",
				concordat.ErrUnavailable)
	}
	return coord.Node{}, fmt.Errorf("node %s, which has the key of the cluster's certificate authority, is not running; start it first: %w", away,
		concordat.ErrUnavailable)
}
