package clustering

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/instance"
)

func (a *commands) clusterSettingsCommand(z *zookeeperFlags) *cobra.Command {
	return &cobra.Command{
		Use: "settings", Short: "Show the settings of all nodes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				c, now, err := instance.CurrentSettings(ctx, s)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Line(struct {
						Version int64 `json:"version"`
						instance.CentralSettings
					}{c.Version, now})
				}
				a.Say("version %d", c.Version)
				for _, k := range slices.Sorted(maps.Keys(now.Keys)) {
					a.Say("%s = %s", k, now.Keys[k])
				}
				for _, l := range slices.Sorted(maps.Keys(now.Libraries)) {
					b, err := json.Marshal(now.Libraries[l])
					if err != nil {
						return err
					}
					a.Say("library %s: %s", l, b)
				}
				return nil
			})
		},
	}
}
