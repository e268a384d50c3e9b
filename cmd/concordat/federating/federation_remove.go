package federating

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
)

func (a *commands) federationRemove() *cobra.Command {
	var overlap time.Duration
	c := &cobra.Command{
		Use: "remove NAME SITE...", Short: "Remove members and begin a new epoch without them",
		Long: `Remove takes the sites out of the federation and creates a new secret, which they cannot fetch. If several
sites leave, remove them with one command: epochs begin at least a day apart, and an epoch that begins less than
30 days after the last one needs the consent of every member's administrator. Removed sites keep the secret of the
old epoch, which remains useful until --overlap has passed.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				m, err := partners.Led(ctx, o, id, concordat.FederationID(args[0]))
				if err != nil {
					return err
				}
				left := instance.Members(m)
				var gone []concordat.SiteID
				for _, name := range args[1:] {
					p, err := o.Partner(ctx, name)
					if err != nil {
						return err
					}
					i := slices.Index(left, p.Site)
					if i < 0 {
						return cli.Usagef("%s is not a member of federation %s", name, args[0])
					}
					left, gone = slices.Delete(left, i, i+1), append(gone, p.Site)
				}
				// Save the membership first, so that the removed sites get no more secrets.
				if err := o.Store.Partners.Join(ctx, m.Federation, m.Leader, left...); err != nil {
					return err
				}
				return a.newEpoch(ctx, o, k, args[0], overlap, true, "federation member removed", map[string]any{"sites": gone})
			})
		},
	}
	c.Flags().DurationVar(&overlap, "overlap", crypto.EpochOverlap, "how long to keep serving the old epoch, at most 336h")
	return c
}
