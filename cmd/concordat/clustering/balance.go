package clustering

import (
	"github.com/spf13/cobra"

	"concordat/cluster"
	"concordat/instance"
)

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
