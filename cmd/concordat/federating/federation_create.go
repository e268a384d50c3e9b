package federating

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/instance"
)

func (a *commands) federationCreate() *cobra.Command {
	return &cobra.Command{
		Use: "create NAME", Short: "Create a federation that this site leads", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
				ctx, f := cmd.Context(), args[0]
				if _, err := o.Membership(ctx, f); err == nil {
					return cli.Usagef("federation %s exists already", f)
				}
				id, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
					return id.NewEpoch(f, time.Now(), 0, rand.Reader)
				})
				if errors.Is(err, crypto.ErrFormat) {
					return cli.Usage(err)
				}
				if err != nil {
					return err
				}
				self := instance.PartnerName(id.Site())
				if err := o.Store.Join(ctx, concordat.FederationID(f), self, self); err != nil {
					return err
				}
				return a.changedFederation(ctx, o, id, f, "federation created", nil)
			})
		},
	}
}
