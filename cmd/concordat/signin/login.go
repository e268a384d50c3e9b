package signin

import (
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance/config"
)

func LoginCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "login", Short: "Link accounts to sign-in providers", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.loginLinkCommand(), a.loginUnlinkCommand(), a.loginListCommand())
	return c
}

// issuerOf returns the issuer of a configured provider.
func issuerOf(c *config.Config, name string) (string, error) {
	var names []string
	for _, p := range c.Login.OIDC {
		if p.Name == name {
			return p.Issuer, nil
		}
		names = append(names, p.Name)
	}
	return "", cli.Usagef("login.oidc has no provider %s; the configured providers are %s", name, strings.Join(names, ", "))
}
