package federating

import (
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/partners"
)

func (a *commands) federationJoin() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "join NAME SITE", Short: "Fetch the secret of a federation from the partner that leads it", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, f := cmd.Context(), concordat.FederationID(args[0])
			return a.withPartner(ctx, args[1], timeout, func(c *federation.Client) error {
				return a.WithKeys(ctx, func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
					id, err := partners.JoinFederation(ctx, o, k, c, f, instance.Administrator)
					if err != nil {
						return err
					}
					return a.showNamed(ctx, o, id, args[0])
				})
			})
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the federation's leader")
	return c
}
