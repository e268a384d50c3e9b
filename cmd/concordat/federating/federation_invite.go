package federating

import (
	"github.com/spf13/cobra"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
)

func (a *commands) federationInvite() *cobra.Command {
	c := &cobra.Command{
		Use: "invite NAME SITE...", Short: "Make active partners members of a federation that this site leads",
		Long: `Invite allows the partners to fetch the federation's secret from this site. Their administrators then run
concordat federation join NAME SITE, where SITE is this site.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				var all []store.Partner
				for _, who := range args[1:] {
					p, err := o.Partner(ctx, who)
					if err != nil {
						return err
					}
					all = append(all, p)
				}
				if err := partners.AddMembers(ctx, o, id, concordat.FederationID(args[0]), all, instance.Administrator); err != nil {
					return err
				}
				return a.showNamed(ctx, o, id, args[0])
			})
		},
	}
	return c
}
