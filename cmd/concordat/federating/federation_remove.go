package federating

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
)

func (a *commands) federationRemove() *cobra.Command {
	var overlap time.Duration
	c := &cobra.Command{
		Use: "remove NAME SITE", Short: "Remove a member, and begin an epoch whose secret it does not get",
		Long: `remove takes the site out of the federation and makes a new secret, which it cannot fetch. What it knows of the
old epoch it keeps: until --overlap has passed its knowledge of the old secret is worth something.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				m, err := partners.Led(ctx, o, id, concordat.FederationID(args[0]))
				if err != nil {
					return err
				}
				p, err := o.Partner(ctx, args[1])
				if err != nil {
					return err
				}
				sites := instance.Members(m)
				if !slices.Contains(sites, p.Site) {
					return cli.Usagef("%s is no member of federation %s", args[1], args[0])
				}
				left := slices.DeleteFunc(sites, func(s concordat.SiteID) bool { return s == p.Site })
				// The membership first: from here on the site gets no secret.
				if err := o.Store.Join(ctx, m.Federation, m.Leader, left...); err != nil {
					return err
				}
				return a.newEpoch(ctx, o, k, args[0], overlap, "federation member removed", map[string]any{"site": p.Site})
			})
		},
	}
	c.Flags().DurationVar(&overlap, "overlap", crypto.EpochOverlap, "how long the old epoch is served, at most 336h")
	return c
}
