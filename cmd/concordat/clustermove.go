package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cmd/internal/cli"
	"concordat/instance"
)

// Moving copies: the wanted nodes of a shard are a part of its state, and its master brings them about. What
// is cut short here goes on there.

// plan is what a command changes.
type plan map[concordat.ShardID][]coord.NodeID

func (a *app) clusterMove() *cobra.Command {
	var dry, wait bool
	c := &cobra.Command{Use: "move SHARD NODE[,NODE...]", Short: "Say which nodes ought to have copies of a shard", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				id := concordat.ShardID(args[0])
				if _, ok := w.Seen.Shards[id]; !ok {
					return cli.Usagef("no shard %s", id)
				}
				var nodes []coord.NodeID
				for _, n := range strings.Split(args[1], ",") {
					if _, ok := l.Members[coord.NodeID(n)]; !ok {
						return cli.Usagef("no node %q", n)
					}
					nodes = append(nodes, coord.NodeID(n))
				}
				return a.carryOut(cmd.Context(), w, plan{id: nodes}, dry, wait)
			})
		}}
	c.ValidArgsFunction = a.completeNodes(1)
	moveFlags(c, &dry, &wait)
	return c
}

func moveFlags(c *cobra.Command, dry, wait *bool) {
	c.Flags().BoolVar(dry, "dry-run", false, "say what would be moved")
	c.Flags().BoolVar(wait, "wait", false, "wait until it is done, and tell how far it is")
}

func (a *app) clusterBalance() *cobra.Command {
	var dry, wait bool
	c := &cobra.Command{Use: "balance", Short: "Spread the copies over all nodes and zones", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				return a.carryOut(cmd.Context(), w, balance(w, l), dry, wait)
			})
		}}
	moveFlags(c, &dry, &wait)
	return c
}

// balance returns where the copies ought to be.
func balance(w *instance.Observer, l *cluster.Layout) plan {
	now := make([][]coord.NodeID, l.Shards)
	for i := range now {
		now[i] = w.Seen.Shards[cluster.ShardName(i)].Replicas
	}
	p := plan{}
	for i, nodes := range cluster.Place(l, now) {
		if len(nodes) > 0 && !slices.Equal(slices.Sorted(slices.Values(nodes)), slices.Sorted(slices.Values(now[i]))) {
			p[cluster.ShardName(i)] = nodes
		}
	}
	return p
}

func (a *app) clusterDrain() *cobra.Command {
	var dry, wait, undo bool
	c := &cobra.Command{Use: "drain NODE", Short: "Move all copies away from a node", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				id := coord.NodeID(args[0])
				m, ok := l.Members[id]
				if !ok {
					return cli.Usagef("no node %q", id)
				}
				m.Drained = !undo
				l.Members[id] = m
				if !dry {
					data, err := json.Marshal(l)
					if err != nil {
						return err
					}
					if _, err := w.Configure(cmd.Context(), w.Seen.Config.Version, data); err != nil {
						return fmt.Errorf("mark node %s: %w", id, err)
					}
				}
				return a.carryOut(cmd.Context(), w, balance(w, l), dry, wait)
			})
		}}
	c.ValidArgsFunction = a.completeNodes(0)
	moveFlags(c, &dry, &wait)
	c.Flags().BoolVar(&undo, "undo", false, "let the node have copies again")
	return c
}

// carryOut changes the wanted nodes, and waits if asked until the copies are there.
func (a *app) carryOut(ctx context.Context, w *instance.Observer, p plan, dry, wait bool) error {
	if len(p) == 0 {
		a.Say("nothing has to be moved")
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(p)) {
		old := w.Seen.Shards[id].Replicas
		if a.JSON {
			if err := a.Line(map[string]any{"shard": id, "from": old, "to": p[id], "dry_run": dry}); err != nil {
				return err
			}
		}
		a.Say("shard %s: %s -> %s", id, nodeNames(old), nodeNames(p[id]))
		if dry {
			continue
		}
		err := cluster.SetReplicas(ctx, w, id, p[id])
		for errors.Is(err, coord.ErrStale) { // its master changed something else
			err = cluster.SetReplicas(ctx, w, id, p[id])
		}
		if err != nil {
			return fmt.Errorf("shard %s: %w", id, err)
		}
	}
	if dry || !wait {
		return nil
	}
	b := a.Progress(int64(len(p)), "moving")
	defer b.Done()
	for {
		done := 0
		for id, want := range p {
			s := w.Seen.Shards[id]
			if slices.Equal(slices.Sorted(slices.Values(s.ISR)), slices.Sorted(slices.Values(want))) && w.Seen.Leads(s.State) {
				done++
			}
		}
		if b.Set(done); done == len(p) {
			a.Say("%d shards are where they ought to be", done)
			return nil
		}
		if err := w.Next(ctx); err != nil {
			return err
		}
	}
}

func (a *app) clusterForce() *cobra.Command {
	var yes, dry bool
	c := &cobra.Command{Use: "force SHARD NODE", Short: "Make a node master of a shard that has none, though acknowledged documents may be lost", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withCluster(cmd.Context(), func(o *instance.Instance, w *instance.Observer, _ *cluster.Layout) error {
				id, node := concordat.ShardID(args[0]), coord.NodeID(args[1])
				s, ok := w.Seen.Shards[id]
				to, live := w.Seen.Live[node]
				switch {
				case !ok:
					return cli.Usagef("no shard %s", id)
				case !live:
					return cli.Usagef("node %s is not there", node)
				case w.Seen.Leads(s.State):
					return cli.Usagef("shard %s has a master, %s: nothing has to be forced", id, s.ISR[0])
				}
				a.Say("shard %s: in sync were %s; %s becomes master with what it has", id, nodeNames(s.ISR), node)
				if dry {
					return nil
				}
				if !yes {
					return cli.Usagef("documents that only the others have are lost: repeat with --lose-documents")
				}
				t, err := o.Trust()
				if err != nil {
					return err
				}
				client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS()}}
				defer client.CloseIdleConnections()
				return (&cluster.HTTPPeers{Client: client, Cluster: t.Cluster}).Order(cmd.Context(), to, id, "force")
			})
		}}
	c.ValidArgsFunction = a.completeNodes(1)
	c.Flags().BoolVar(&yes, "lose-documents", false, "accept the loss of what the node does not have")
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be done")
	return c
}
