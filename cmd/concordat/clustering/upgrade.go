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
		Short: "Restart nodes one after the other with a new version",
		Long: `Upgrade restarts nodes after the program has been replaced, or with a --command that replaces it. It skips nodes that
already have the version given with --to and stops if a node comes back with a different version. A version that
cannot work with the running nodes refuses to start and names the versions that can work with both.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.to = cmp.Or(r.to, instance.Version()); r.to == "" || r.to == "(devel)" {
				return cli.Usagef("this program was built without a version; give one with --to")
			}
			return r.run(cmd.Context(), args)
		}}
	r.flags(c)
	c.Flags().StringVar(&r.to, "to", "", "version that the nodes must come back with (default: this program's)")
	return c
}
