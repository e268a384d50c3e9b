package signin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/web/platforms"
)

// CheckPlatforms reports faults in the registered platforms, without contacting them. A folder that does not yet contain a site has no
// platforms.
func CheckPlatforms(ctx context.Context, a *cli.Site, c *config.Config) error {
	dir, err := a.Dir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, instance.StoreName)); err != nil && c.Store.URL == "" {
		return nil
	}
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		all, err := o.Store.LTI.LTIPlatforms(ctx)
		if err != nil {
			return err
		}
		var bad []string
		for _, p := range all {
			if err := platforms.Check(p, c.LTI.Private); err != nil {
				bad = append(bad, fmt.Sprintf("platform %s: %v", p.ID, err))
			}
			if len(p.Deployments) == 0 {
				fmt.Fprintf(a.Stderr, "platform %s has no deployments, so nothing from this platform is accepted\n", p.ID)
			}
		}
		if len(all) > 0 && !instance.OverTLS(c) && !c.LTI.Private {
			bad = append(bad, "serve.url: want https, because learning platforms are registered and browsers keep no cookies in their frames without https")
		}
		if len(bad) > 0 {
			return cli.Usagef("%s", strings.Join(bad, "\n"))
		}
		return nil
	})
}

func LTICommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "lti", Short: "Manage learning platforms", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	platform := &cobra.Command{Use: "platform", Short: "Register, list and remove learning platforms", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	platform.AddCommand(a.ltiAddCommand(), a.ltiListCommand(), a.ltiRemoveCommand())
	c.AddCommand(platform, a.ltiShowCommand(), a.ltiRotateCommand())
	return c
}
