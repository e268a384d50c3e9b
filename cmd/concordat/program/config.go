package program

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"concordat/cmd/concordat/backups"
	"concordat/cmd/concordat/signin"
	"concordat/instance"
	"concordat/view"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Inspect the configuration", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(&cobra.Command{
		Use: "check [FILE]", Short: "Check a configuration file and show every key with its value and origin", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var path string
			if len(args) == 1 {
				path = args[0]
			} else {
				dir, err := a.Dir()
				if err != nil {
					return err
				}
				path = filepath.Join(dir, instance.ConfigName)
			}
			c, err := instance.LoadConfig(path)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if err := signin.CheckPlatforms(cmd.Context(), &a.Site, c); err != nil {
					return err
				}
				if c.Store.URL != "" {
					if err := a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
						return backups.WarnStore(cmd.Context(), &a.Terminal, o)
					}); err != nil {
						return err
					}
				}
			}
			if !a.JSON {
				return c.WriteTable(a.Stdout)
			}
			for _, r := range c.Rows() {
				if err := a.Line(view.Setting{Key: r.Key, Value: r.Value, Origin: r.Origin.String(), Live: r.Live}); err != nil {
					return err
				}
			}
			return nil
		},
	})
	return c
}
