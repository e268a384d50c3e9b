package federating

import (
	"slices"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/store"
)

func (a *commands) federationInvite() *cobra.Command {
	c := &cobra.Command{
		Use: "invite NAME SITE...", Short: "Make active partners members of a federation that this site leads",
		Long: `invite allows the sites to fetch the federation's secret from this one; their administrators run
concordat federation join NAME SITE, where SITE is this one.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				m, err := ledFederation(ctx, o, id, args[0])
				if err != nil {
					return err
				}
				sites := instance.Members(m)
				var added []concordat.SiteID
				for _, who := range args[1:] {
					p, err := o.Partner(ctx, who)
					if err != nil {
						return err
					}
					if p.State != store.PartnerActive {
						return cli.Usagef("%s is %s: only active partners can be members", who, p.State)
					}
					if !slices.Contains(sites, p.Site) {
						sites, added = append(sites, p.Site), append(added, p.Site)
					}
				}
				if len(sites) > crypto.MostMembers {
					return cli.Usagef("a federation has at most %d members", crypto.MostMembers)
				}
				if err := o.Store.Join(ctx, m.Federation, m.Leader, sites...); err != nil {
					return err
				}
				return a.changedFederation(ctx, o, id, args[0], "federation members added", map[string]any{"sites": added})
			})
		},
	}
	return c
}
