package signin

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/store"
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

func (a *commands) loginListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List linked accounts by provider", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				all, err := o.Store.People.Identities(cmd.Context(), "")
				if err != nil {
					return err
				}
				for _, i := range all {
					if a.JSON {
						err = a.Line(map[string]any{"account": i.Account, "issuer": i.Issuer, "subject": i.Subject, "made": i.Made, "used": i.Used})
					} else {
						_, err = fmt.Fprintf(a.Stdout, "%s\t%s\t%s\n", i.Account, i.Issuer, i.Subject)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (a *commands) loginLinkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "link ACCOUNT PROVIDER SUBJECT", Short: "Allow a provider's user to sign in to an account", Args: cobra.ExactArgs(3),
		Long: `Link allows the person whom a provider identifies as SUBJECT (the claim sub) to sign in to an account. The audit
log contains the subject of each person who was refused (concordat audit show).`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				issuer, err := issuerOf(o.Config, args[1])
				if err != nil {
					return err
				}
				if err := o.Store.People.LinkIdentity(cmd.Context(), store.Identity{Issuer: issuer, Subject: args[2], Account: args[0],
					Made: time.Now()}); err != nil {
					return err
				}
				a.Say("%s at %s can now sign in as %s", args[2], args[1], args[0])
				return nil
			})
		},
	}
}

func (a *commands) loginUnlinkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unlink PROVIDER SUBJECT", Short: "Unlink a provider's user and sign the account out", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				issuer, err := issuerOf(o.Config, args[0])
				if err != nil {
					return err
				}
				if err := o.Store.People.UnlinkIdentity(cmd.Context(), issuer, args[1]); err != nil {
					return err
				}
				a.Say("%s at %s can no longer sign in", args[1], args[0])
				return nil
			})
		},
	}
}
