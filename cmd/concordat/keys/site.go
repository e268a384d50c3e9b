package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/instance"
)

func SiteCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "site", Short: "Manage the site's keys and its card", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	key := &cobra.Command{Use: "key", Short: "Create, show and change the site's keys", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	key.AddCommand(a.keyInit(), a.keyShow(), a.keyRotate(), a.keyExportRoot())
	c.AddCommand(key, a.cardCommand())
	return c
}

// rootSeed returns the root key from an exported file, or nil if the keystore has it.
func (a *commands) rootSeed(id *crypto.Identity, path string) ([]byte, error) {
	if path == "" {
		if !id.HasRoot() {
			return nil, cli.Usagef("the root key is not in the keystore; give its file with --root")
		}
		return nil, nil
	}
	return a.exportedRoot(path)
}

// exportedRoot returns the root key from an exported file.
func (a *commands) exportedRoot(path string) ([]byte, error) {
	b, err := keyfile.Bytes(path)
	if err != nil {
		return nil, err
	}
	var s crypto.Secret
	switch file := os.Getenv("CONCORDAT_ROOT_PASSPHRASE_FILE"); {
	case !crypto.NeedsPassphrase(b):
		return nil, cli.Usagef("%s is not an exported root key", path)
	case file != "":
		s, err = instance.PassphraseFrom(file)
	default:
		s, err = a.AskPassphrase("passphrase for the root key: ")
	}
	if err != nil {
		return nil, err
	}
	return crypto.UnlockRoot(b, s)
}

// showCard prints a validated card.
func (a *commands) showCard(c *crypto.Card) error {
	if a.JSON {
		return a.Line(map[string]any{"site": c.Site, "name": c.Name, "urls": c.URLs, "contact": c.Contact, "serial": c.Serial,
			"not_before": c.NotBefore, "not_after": c.NotAfter, "sha256": fmt.Sprintf("%x", c.Digest()), "modes": modeNames(c.Modes)})
	}
	a.Say("site     %s", c.Site)
	a.Say("name     %s", c.Name)
	for _, u := range c.URLs {
		a.Say("address  %s", u)
	}
	if c.Contact != "" {
		a.Say("contact  %s", c.Contact)
	}
	a.Say("card     %d, in force from %s to %s", c.Serial, c.NotBefore.Local().Format(time.DateTime), c.NotAfter.Local().Format(time.DateTime))
	return nil
}

func modeNames(m crypto.Modes) []string {
	names := []string{}
	if m&crypto.ModeSealed != 0 {
		names = append(names, "sealed")
	}
	if m&crypto.ModeBlind != 0 {
		names = append(names, "blind")
	}
	return names
}

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
				fields := o.Keys.CardFields()
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
