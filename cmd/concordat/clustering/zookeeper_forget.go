package clustering

import (
	"context"

	"github.com/spf13/cobra"

	"concordat/cluster/coord"
	"concordat/cluster/zk"
)

func (a *commands) clusterForgetCommand(z *zookeeperFlags) *cobra.Command {
	return &cobra.Command{
		Use: "forget NODE", Short: "Free the name of a node that is gone", Args: cobra.ExactArgs(1),
		Long: `Forget frees the name of a node, for a machine whose disk was replaced. The node must not be live or in sync for
any shard, because a node that takes over its name starts without documents.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				if err := s.Forget(ctx, coord.NodeID(args[0])); err != nil {
					return err
				}
				a.Say("node %s is forgotten; another installation may take the name", args[0])
				return nil
			})
		},
	}
}
