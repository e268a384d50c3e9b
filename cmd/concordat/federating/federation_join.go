package federating

import (
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
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
				g, err := c.Grant(ctx, f)
				if err != nil {
					return err
				}
				return a.WithKeys(ctx, func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
					if m, err := o.Membership(ctx, args[0]); err == nil && m.Leader != c.Site() {
						return cli.Usagef("federation %s is led by %s", f, m.Leader)
					}
					id, _, err := partners.Take(ctx, o.Store, k, f, c.Site(), g)
					if err != nil {
						return err
					}
					return a.changedFederation(ctx, o, id, args[0], "federation joined", map[string]any{"leader": c.Site()})
				})
			})
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the leader")
	return c
}
