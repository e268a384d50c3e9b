package federating

import (
	"github.com/spf13/cobra"

	"concordat/crypto"
	"concordat/instance"
)

func (a *commands) federationShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show federations, their members and epochs", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				if len(args) == 1 {
					m, err := o.Membership(ctx, args[0])
					if err != nil {
						return err
					}
					return a.showFederation(id, m)
				}
				ms, err := o.Store.Partners.Memberships(ctx)
				if err != nil {
					return err
				}
				for _, m := range ms {
					if err := a.showFederation(id, m); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}
