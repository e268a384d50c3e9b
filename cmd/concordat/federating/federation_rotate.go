package federating

import (
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
)

func (a *commands) federationRotate() *cobra.Command {
	var overlap time.Duration
	var early bool
	c := &cobra.Command{
		Use: "rotate NAME", Short: "Begin a new epoch of a federation that this site leads",
		Long: `Rotate creates a new secret. Members fetch it and recompute their fingerprints; until --overlap has passed, the
old epoch is served as well. At most two epochs are served at once, and they begin at least a day apart. An epoch that
begins less than 30 days after the last one needs --early here, and the consent of each member's administrator.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				if _, err := partners.Led(cmd.Context(), o, id, concordat.FederationID(args[0])); err != nil {
					return err
				}
				return a.newEpoch(cmd.Context(), o, k, args[0], overlap, early, "federation rotated", nil)
			})
		},
	}
	c.Flags().DurationVar(&overlap, "overlap", crypto.EpochOverlap, "how long to keep serving the old epoch, at most 336h")
	c.Flags().BoolVar(&early, "early", false, "allow an epoch that begins less than 30 days after the last one")
	return c
}
