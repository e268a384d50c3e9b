package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/internal/cli"
	"concordat/config"
	"concordat/instance"
	"concordat/store"
)

func (a *app) loginCommand() *cobra.Command {
	c := &cobra.Command{Use: "login", Short: "Who is who at the providers at which people sign in", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.loginLinkCommand(), a.loginUnlinkCommand(), a.loginListCommand())
	return c
}

// issuerOf returns the issuer of a provider of the configuration.
func issuerOf(c *config.Config, name string) (string, error) {
	var names []string
	for _, p := range c.Login.OIDC {
		if p.Name == name {
			return p.Issuer, nil
		}
		names = append(names, p.Name)
	}
	return "", cli.Usagef("there is no provider %s in login.oidc; there is: %s", name, strings.Join(names, ", "))
}

func (a *app) loginLinkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "link ACCOUNT PROVIDER SUBJECT", Short: "Let a person at a provider sign in to an account", Args: cobra.ExactArgs(3),
		Long: `Link lets the person whom a provider names SUBJECT (the claim sub) sign in to an account. The subject of somebody who was
refused stands in the audit (concordat audit).`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				issuer, err := issuerOf(o.Config, args[1])
				if err != nil {
					return err
				}
				if err := o.Store.LinkIdentity(cmd.Context(), store.Identity{Issuer: issuer, Subject: args[2], Account: args[0], Made: time.Now()}); err != nil {
					return err
				}
				a.Say("%s at %s signs in as %s", args[2], args[1], args[0])
				return nil
			})
		},
	}
}

func (a *app) loginUnlinkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unlink PROVIDER SUBJECT", Short: "End what link began, and sign the account out", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				issuer, err := issuerOf(o.Config, args[0])
				if err != nil {
					return err
				}
				if err := o.Store.UnlinkIdentity(cmd.Context(), issuer, args[1]); err != nil {
					return err
				}
				a.Say("%s at %s does not sign in any more", args[1], args[0])
				return nil
			})
		},
	}
}

func (a *app) loginListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List who signs in at which provider", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				all, err := o.Store.Identities(cmd.Context(), "")
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
