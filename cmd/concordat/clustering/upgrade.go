package clustering

import (
	"cmp"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) clusterUpgrade() *cobra.Command {
	r := &rolling{a: a}
	c := &cobra.Command{Use: "upgrade [NODE...]",
		Short: "Restart nodes one after the other, where another version of the program is installed",
		Long: `Upgrade is restart, after the program was replaced on the nodes or with a --command that does so: nodes
that have the version of --to already are left out, and it stops at a node that comes back with another one. A version
that cannot work beside the nodes that are there refuses to start, and says which versions know both.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.to = cmp.Or(r.to, instance.Version()); r.to == "" || r.to == "(devel)" {
				return cli.Usagef("this program was built without a version: give --to")
			}
			return r.run(cmd.Context(), args)
		}}
	r.flags(c)
	c.Flags().StringVar(&r.to, "to", "", "version that the nodes have to come back with (default: that of this program)")
	return c
}
