package clustering

import (
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
	c := &cobra.Command{Use: "drain NODE", Short: "Move all copies away from a node", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
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
	c.Flags().BoolVar(&undo, "undo", false, "allow the node to hold copies again")
	return c
}
