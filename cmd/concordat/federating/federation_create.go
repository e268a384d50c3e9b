package federating

import (
	"github.com/spf13/cobra"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
)

func (a *commands) federationCreate() *cobra.Command {
	return &cobra.Command{
		Use: "create NAME", Short: "Create a federation that this site leads", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
				ctx, f := cmd.Context(), args[0]
				id, err := partners.CreateFederation(ctx, o, k, concordat.FederationID(f), instance.Administrator)
				if err != nil {
					return err
				}
				return a.showNamed(ctx, o, id, f)
			})
		},
	}
}
