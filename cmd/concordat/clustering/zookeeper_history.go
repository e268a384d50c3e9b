package clustering

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/web/pages/admin"
)

func (a *commands) clusterHistoryCommand(z *zookeeperFlags) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "history", Short: "List the versions of the settings, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				all, err := s.History(ctx, zk.Settings, limit)
				if err != nil {
					return err
				}
				for _, p := range all {
					var doc json.RawMessage
					if json.Unmarshal(p.Data, &doc) != nil {
						doc, _ = json.Marshal(string(p.Data)) // written by a program that used a different format
					}
					if a.JSON {
						err = a.Line(struct {
							admin.ClusterVersion
							Data json.RawMessage `json:"data"`
						}{admin.ClusterVersion{Version: p.Version, Set: p.Set.UTC()}, doc})
					} else {
						var flat bytes.Buffer
						err = json.Compact(&flat, doc)
						a.Say("%d  %s  %s", p.Version, p.Set.Local().Format(time.DateTime), &flat)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", 20, "maximum number of versions")
	return c
}
