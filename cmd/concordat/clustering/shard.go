package clustering

import (
	"context"
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
	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) clusterMove() *cobra.Command {
	var dry, wait bool
	c := &cobra.Command{Use: "move SHARD NODE[,NODE...]", Short: "Choose the nodes that hold copies of a shard", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
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

// To move copies, commands change the wanted nodes in a shard's state, and the shard's master performs the moves. After an interruption,
// the master resumes.

// plan contains the changes that a command makes.
type plan map[concordat.ShardID][]coord.NodeID

func moveFlags(c *cobra.Command, dry, wait *bool) {
	c.Flags().BoolVar(dry, "dry-run", false, "show what would be moved")
	c.Flags().BoolVar(wait, "wait", false, "wait until all copies have been moved, and show progress")
}

// balance returns the balanced placement of copies.
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

// carryOut changes the wanted nodes and, if requested, waits until the copies have moved.
func (a *commands) carryOut(ctx context.Context, w *instance.Observer, p plan, dry, wait bool) error {
	if len(p) == 0 {
		a.Say("no copies need to be moved")
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(p)) {
		old := w.Seen.Shards[id].Replicas
		if a.JSON {
			if err := a.Line(map[string]any{"shard": id, "from": old, "to": p[id], "dry_run": dry}); err != nil {
				return err
			}
		}
		a.Say("shard %s: %s -> %s", id, NodeNames(old), NodeNames(p[id]))
		if dry {
			continue
		}
		err := cluster.SetReplicas(ctx, w, id, p[id])
		for errors.Is(err, coord.ErrStale) { // its master has changed something else
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
			a.Say("the copies of %d shards are on their planned nodes", done)
			return nil
		}
		if err := w.Next(ctx); err != nil {
			return err
		}
	}
}

func (a *commands) clusterBalance() *cobra.Command {
	var dry, wait bool
	c := &cobra.Command{Use: "balance", Short: "Spread the copies of all shards over all nodes and zones", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				return a.carryOut(cmd.Context(), w, balance(w, l), dry, wait)
			})
		}}
	moveFlags(c, &dry, &wait)
	return c
}

func (a *commands) clusterForce() *cobra.Command {
	var yes, dry bool
	c := &cobra.Command{Use: "force SHARD NODE",
		Short: "Make a node the master of a shard that has no master, even if documents are lost", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithCluster(cmd.Context(), func(o *instance.Instance, w *instance.Observer, _ *cluster.Layout) error {
				id, node := concordat.ShardID(args[0]), coord.NodeID(args[1])
				s, ok := w.Seen.Shards[id]
				to, live := w.Seen.Live[node]
				switch {
				case !ok:
					return cli.Usagef("no shard %s", id)
				case !live:
					return cli.Usagef("node %s is not live", node)
				case w.Seen.Leads(s.State):
					return cli.Usagef("shard %s already has a master, %s, so there is nothing to force", id, s.ISR[0])
				}
				a.Say("shard %s: the nodes in sync were %s; %s becomes master with the documents that it holds", id, NodeNames(s.ISR), node)
				if dry {
					return nil
				}
				if !yes {
					return cli.Usagef("documents that only the other nodes have would be lost; to accept that, repeat the command with --lose-documents")
				}
				t, err := instance.Trust(o.Dir, o.Config)
				if err != nil {
					return err
				}
				client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS()}}
				defer client.CloseIdleConnections()
				return (&cluster.HTTPPeers{Client: client, Cluster: t.Cluster}).Order(cmd.Context(), to, id, "force")
			})
		}}
	c.ValidArgsFunction = a.completeNodes(1)
	c.Flags().BoolVar(&yes, "lose-documents", false, "accept the loss of documents that the node does not have")
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be done")
	return c
}
