package signin

import (
	"github.com/spf13/cobra"

	"concordat/instance"
)

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
