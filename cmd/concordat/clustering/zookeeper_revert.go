package clustering

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) clusterRevertCommand(z *zookeeperFlags) *cobra.Command {
	return &cobra.Command{
		Use: "revert VERSION", Short: "Restore an earlier version of the settings", Args: cobra.ExactArgs(1),
		Long: `Revert writes the settings of an earlier version as a new one; later versions stay in the history.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || version < 1 {
				return cli.Usagef("%q is not a valid version number", args[0])
			}
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				var now coord.Config
				select {
				case now = <-s.Settings():
				case <-ctx.Done():
					return fmt.Errorf("wait for ZooKeeper: %w: %w", concordat.ErrUnavailable, ctx.Err())
				}
				all, err := s.History(ctx, zk.Settings, 1000)
				if err != nil {
					return err
				}
				i := slices.IndexFunc(all, func(p zk.Past) bool { return p.Version == version })
				if i < 0 {
					return fmt.Errorf("version %d of the settings: %w", version, concordat.ErrNotFound)
				}
				old, err := instance.ParseCentral(all[i].Config)
				if err != nil {
					return err
				}
				return a.saveSettings(ctx, s, now.Version, old)
			})
		},
	}
}
