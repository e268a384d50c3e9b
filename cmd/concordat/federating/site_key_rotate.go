package federating

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
)

func (a *commands) keyRotate() *cobra.Command {
	var compromised bool
	var root string
	c := &cobra.Command{
		Use: "rotate", Short: "Replace the signing and TLS keys and renew the card",
		Long: `Rotate creates new signing and TLS keys. They come into force after two days, during which partners fetch
the new card, and the old keys expire a month later. Sealing keys are replaced automatically, every week.

Use --compromised if someone has seen the site's keystore: all working keys are replaced immediately. Messages
in transit are lost, and what the old keys signed is no longer confirmed. The secrets of federations do not change,
because all members share them: rotate names each federation whose leader must begin a new epoch.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				return a.rotateKeys(cmd.Context(), o, k, id, root, compromised)
			})
		},
	}
	c.Flags().BoolVar(&compromised, "compromised", false, "replace all working keys immediately")
	c.Flags().StringVar(&root, "root", "", "file with the exported root key")
	return c
}

func (a *commands) rotateKeys(ctx context.Context, o *instance.Instance, k *instance.Keystore, id *crypto.Identity, root string,
	compromised bool) error {
	seed, err := a.rootSeed(id, root)
	if err != nil {
		return err
	}
	card, err := instance.OwnCard(ctx, o.Store, id)
	if err != nil {
		return err
	}
	if card == nil {
		return cli.Usagef("the site has no card yet; to create one, run concordat site card --url https://HOST:PORT")
	}
	now := time.Now()
	next, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
		if compromised {
			return id.Replace(now, rand.Reader)
		}
		return id.Rotate(now, rand.Reader)
	})
	if errors.Is(err, crypto.ErrFormat) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	_, card, err = instance.MakeCard(ctx, o.Store, k, card.CardFields, seed, now)
	if err != nil {
		return err
	}
	if err := o.Audit(ctx, "keys rotated", map[string]any{"compromised": compromised, "card": card.Serial}); err != nil {
		return err
	}
	if compromised {
		if err := a.warnFederations(ctx, o, next); err != nil {
			return err
		}
	}
	return a.showCard(card)
}

// warnFederations names the federations whose secrets remain known to anyone who has seen the keystore.
func (a *commands) warnFederations(ctx context.Context, o *instance.Instance, id *crypto.Identity) error {
	ms, err := o.Store.Partners.Memberships(ctx)
	if err != nil {
		return err
	}
	for _, m := range ms {
		if _, err := id.Federation(string(m.Federation)); err != nil {
			continue
		}
		if m.Leader == instance.PartnerName(id.Site()) {
			a.Warn("whoever saw the keystore still has the secret of federation %s; to replace it, run concordat federation rotate %s --early",
				m.Federation, m.Federation)
		} else {
			a.Warn("whoever saw the keystore still has the secret of federation %s; ask its leader %s for a new epoch", m.Federation, m.Leader)
		}
	}
	return nil
}
