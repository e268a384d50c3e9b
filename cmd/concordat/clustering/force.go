package clustering

import (
	"net/http"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cmd/cli"
	"concordat/instance"
)

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
	c.Flags().BoolVar(&yes, "lose-documents", false, "accept the loss of documents that the node does not have")
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be done")
	return c
}
