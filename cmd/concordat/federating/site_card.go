package federating

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
)

func (a *commands) cardCommand() *cobra.Command {
	var out, root, name, contact string
	var urls []string
	var renew, refresh bool
	c := &cobra.Command{
		Use: "card", Short: "Show, renew and export the site's signed card",
		Long: `The card tells partners the site's keys, addresses and contact. It is valid for 90 days; --refresh, run by a
timer, renews it every week as long as the keystore has the root key.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				card, err := instance.OwnCard(ctx, o.Store, id)
				if err != nil {
					return err
				}
				fields := o.CardFields()
				if card != nil {
					fields = card.CardFields
				}
				if refresh && card != nil {
					if _, card, _, err = instance.RefreshCard(ctx, o.Store, k, id, card, time.Now()); err != nil {
						return err
					}
				}
				changed := renew || card == nil
				for flag, set := range map[string]func(){"name": func() { fields.Name = name }, "contact": func() { fields.Contact = contact },
					"url": func() { fields.URLs = urls }} {
					if cmd.Flags().Changed(flag) {
						set()
						changed = true
					}
				}
				if changed {
					if card, err = a.renewCard(ctx, o, k, id, fields, root); err != nil {
						return err
					}
				}
				if out != "" {
					if err := instance.WriteFile(out, card.Bytes()); err != nil {
						return err
					}
				}
				return a.showCard(card)
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "write the card to a file")
	c.Flags().BoolVar(&renew, "renew", false, "create a new card even if nothing has changed")
	c.Flags().BoolVar(&refresh, "refresh", false,
		"renew a week-old card if the keystore has the root key, and destroy expired keys; for use by a timer")
	c.Flags().StringVar(&root, "root", "", "file with the exported root key")
	c.Flags().StringVar(&name, "name", "", "display name of the site")
	c.Flags().StringVar(&contact, "contact", "", "contact for partners")
	c.Flags().StringArrayVar(&urls, "url", nil, "address of the federation listener, https://HOST:PORT; may be repeated")
	return c
}

func (a *commands) renewCard(ctx context.Context, o *instance.Instance, k *instance.Keystore, id *crypto.Identity, fields crypto.CardFields,
	root string) (*crypto.Card, error) {
	seed, err := a.rootSeed(id, root)
	if err != nil {
		return nil, err
	}
	_, card, err := instance.MakeCard(ctx, o.Store, k, fields, seed, time.Now(), instance.Administrator)
	if errors.Is(err, crypto.ErrFormat) {
		return nil, cli.Usage(err)
	}
	return card, err
}
