package clustering

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) clusterDrain() *cobra.Command {
	var dry, wait, undo bool
	c := &cobra.Command{Use: "drain NODE", Short: "Move all copies of shards off a node", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				return a.drain(cmd.Context(), w, l, coord.NodeID(args[0]), !undo, dry, wait)
			})
		}}
	c.ValidArgsFunction = a.completeNodes(0)
	moveFlags(c, &dry, &wait)
	c.Flags().BoolVar(&undo, "undo", false, "allow the node to hold copies again")
	return c
}

// drain starts or stops draining a node, and starts the resulting moves.
func (a *commands) drain(ctx context.Context, w *instance.Observer, l *cluster.Layout, id coord.NodeID, drained, dry, wait bool) error {
	m, ok := l.Members[id]
	if !ok {
		return cli.Usagef("no node %q", id)
	}
	m.Drained = drained
	l.Members[id] = m
	if !dry {
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, err := w.Configure(ctx, w.Seen.Config.Version, data); err != nil {
			return fmt.Errorf("mark node %s: %w", id, err)
		}
	}
	return a.carryOut(ctx, w, balance(w, l), dry, wait)
}
