package signin

import (
	"time"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/store"
)

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
