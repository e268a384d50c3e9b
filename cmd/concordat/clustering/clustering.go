package clustering

import (
	"strings"

	"github.com/spf13/cobra"

	"concordat/cluster/coord"
	"concordat/cmd/cli"
)

func Command(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "cluster", Short: "Run the site on several machines", Args: cobra.NoArgs,
		Long: `A site on several machines keeps each document on some of them, still answers when one machine is down, and loses no
acknowledged document as long as one copy is left. The machines agree through a coordinator.

  concordat init --store postgres://...                                        on the first machine
  concordat cluster init --node a --listen 10.0.0.1:8422 --coordinator URL
  concordat serve
  concordat cluster token b                                                    on the first machine
  concordat --data DIR cluster join TOKEN --listen 10.0.0.2:8422               on the second machine
  concordat --data DIR serve
  concordat cluster balance --wait

All machines share one PostgreSQL database for the catalogue, accounts, checks and submitted files. If the
site's store is a file, move it to PostgreSQL with concordat store copy.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.clusterInit(), a.clusterToken(), a.clusterJoin(), a.clusterStatus(), a.clusterMove(), a.clusterBalance(),
		a.clusterSalvage(), a.clusterReplace(),
		a.clusterDrain(), a.clusterForce(), a.clusterRemove(), a.clusterRenew(), a.clusterRestart(), a.clusterUpgrade(),
		a.clusterCoordinator(), a.zookeeperCommand())
	return c
}

func NodeNames(ns []coord.NodeID) string {
	out := make([]string, len(ns))
	for i, n := range ns {
		out[i] = string(n)
	}
	return strings.Join(out, ",")
}

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
