package clustering

import (
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
