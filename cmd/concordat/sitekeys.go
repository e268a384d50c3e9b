package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/internal/cli"
	"concordat/cmd/internal/tables"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/instance"
	"concordat/partners"
)

func (a *app) siteCommand() *cobra.Command {
	c := &cobra.Command{Use: "site", Short: "The site's keys and its card", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	key := &cobra.Command{Use: "key", Short: "Make, show and change the site's keys", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	key.AddCommand(a.keyInit(), a.keyShow(), a.keyRotate(), a.keyExportRoot())
	c.AddCommand(key, a.cardCommand())
	return c
}

func (a *app) keyInit() *cobra.Command {
	var keyFile, passphraseFile string
	var passphrase bool
	c := &cobra.Command{
		Use: "init", Short: "Make the keys by which partners know this site",
		Long: `init makes the root key of the site, its working keys, and the keystore that holds them.

The keystore opens with a passphrase (--passphrase), or with a key file. Without either flag the key file
is ` + instance.KeyFileName + ` beside the keystore: whoever copies the whole folder then has the keys. Name another place
with --key-file, and tell later commands by ` + instance.KeyFileVariable + `.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if passphrase && keyFile != "" {
				return cli.Usagef("--passphrase and --key-file exclude each other")
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				return a.initKeys(cmd.Context(), o, keyFile, passphrase || passphraseFile != "", passphraseFile)
			})
		},
	}
	c.Flags().StringVar(&keyFile, "key-file", "", "file of 32 random bytes that opens the keystore; made where there is none")
	c.Flags().BoolVar(&passphrase, "passphrase", false, "ask for a passphrase that opens the keystore")
	c.Flags().StringVar(&passphraseFile, "passphrase-file", "", "file whose first line is the passphrase")
	return c
}

func (a *app) initKeys(ctx context.Context, o *instance.Instance, keyFile string, passphrase bool, passphraseFile string) error {
	path := filepath.Join(o.Dir, instance.KeystoreName)
	if _, err := os.Lstat(path); err == nil {
		return cli.Usagef("%s is there already: a site has one root key", path)
	}
	var secret crypto.Secret
	var err error
	switch {
	case passphrase:
		secret, err = a.NewPassphrase(passphraseFile)
	default:
		if keyFile == "" {
			keyFile = filepath.Join(o.Dir, instance.KeyFileName)
		}
		secret, err = makeKeyFile(keyFile)
	}
	if err != nil {
		return err
	}
	id, err := crypto.New(time.Now(), rand.Reader)
	if err != nil {
		return err
	}
	if err := keyfile.Create(path, id, secret); err != nil {
		return err
	}
	if err := o.SyncKeystore(ctx); err != nil {
		return err
	}
	if err := o.Audit(ctx, "keys made", map[string]any{"site": id.Site()}); err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"site": id.Site(), "keystore": path})
	}
	a.Say("site %s", id.Site())
	a.Say("keys are in %s", path)
	if o.Clustered() && !passphrase {
		a.Warn("the other nodes need %s too: copy it to their folders, or start each with %s", keyFile, instance.KeyFileVariable)
	}
	a.Say("next: concordat site card --url https://HOST:PORT, then concordat site key export-root FILE")
	return nil
}

// makeKeyFile returns the key in the file, which it makes where there is none.
func makeKeyFile(path string) (crypto.Secret, error) {
	s, err := instance.RawKeyFrom(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	b := make([]byte, 32)
	rand.Read(b) // never fails
	if err := keyfile.Replace(path, b); err != nil {
		return crypto.Secret{}, err
	}
	return crypto.RawKey([32]byte(b)), nil
}

// withKeys opens the store and the keystore.
func (a *app) withKeys(ctx context.Context, f func(*instance.Instance, *instance.Keystore, *crypto.Identity) error) error {
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		k, id, err := a.OpenKeys(o.Dir)
		if err != nil {
			return err
		}
		k.Shared = o.SharedKeys()
		return f(o, k, id)
	})
}

func (a *app) keyShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the site's identity and which keys are in force; no key itself", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				now := time.Now()
				if a.JSON {
					return a.Line(map[string]any{"site": id.Site(), "root": id.HasRoot(), "keys": id.Keys(now), "federations": partners.EpochSpans(id)})
				}
				a.Say("site %s", id.Site())
				if id.HasRoot() {
					a.Say("root key: here; export it with concordat site key export-root FILE")
				} else {
					a.Say("root key: kept elsewhere")
				}
				for _, k := range id.Keys(now) {
					state := "to come"
					switch {
					case k.InForce:
						state = "in force"
					case !now.Before(k.To) && k.Held:
						state = "ended, kept for messages on the way"
					case !now.Before(k.To):
						state = "ended, destroyed"
					}
					a.Say("%-8s %4d  %s to %s  %s", k.Kind, k.Epoch, k.From.Local().Format(time.DateOnly), k.To.Local().Format(time.DateOnly), state)
				}
				return nil
			})
		},
	}
}

func (a *app) keyRotate() *cobra.Command {
	var compromised bool
	var root string
	c := &cobra.Command{
		Use: "rotate", Short: "Replace the signing and TLS keys, and make a card that says so",
		Long: `rotate makes new signing and TLS keys. They take over after two days, in which partners fetch the new
card, and the old ones end a month later. Sealing keys change by themselves, every week.

With --compromised all working keys are replaced at once: for a site whose keystore somebody has seen.
Messages under way are lost, and what was signed with the old keys is no longer confirmed. Federations need
a new epoch as well: concordat federation rotate.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				return a.rotateKeys(cmd.Context(), o, k, id, root, compromised)
			})
		},
	}
	c.Flags().BoolVar(&compromised, "compromised", false, "replace everything at once")
	c.Flags().StringVar(&root, "root", "", "file with the exported root key")
	return c
}

func (a *app) rotateKeys(ctx context.Context, o *instance.Instance, k *instance.Keystore, id *crypto.Identity, root string, compromised bool) error {
	seed, err := a.rootSeed(id, root)
	if err != nil {
		return err
	}
	card, err := instance.OwnCard(ctx, o.Store, id)
	if err != nil {
		return err
	}
	if card == nil {
		return cli.Usagef("the site has no card yet: concordat site card --url https://HOST:PORT")
	}
	now := time.Now()
	if _, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
		if compromised {
			return id.Replace(now, rand.Reader)
		}
		return id.Rotate(now, rand.Reader)
	}); err != nil {
		return err
	}
	_, card, err = instance.MakeCard(ctx, o.Store, k, card.CardFields, seed, now)
	if err != nil {
		return err
	}
	if err := o.Audit(ctx, "keys rotated", map[string]any{"compromised": compromised, "card": card.Serial}); err != nil {
		return err
	}
	return a.showCard(card)
}

// rootSeed returns the root key of an exported file, or nil where the keystore has it.
func (a *app) rootSeed(id *crypto.Identity, path string) ([]byte, error) {
	if path == "" {
		if !id.HasRoot() {
			return nil, cli.Usagef("the root key is kept elsewhere: name its file with --root")
		}
		return nil, nil
	}
	b, err := keyfile.Bytes(path)
	if err != nil {
		return nil, err
	}
	var s crypto.Secret
	switch file := os.Getenv("CONCORDAT_ROOT_PASSPHRASE_FILE"); {
	case !crypto.NeedsPassphrase(b):
		return nil, cli.Usagef("%s is no exported root key", path)
	case file != "":
		s, err = instance.PassphraseFrom(file)
	default:
		s, err = a.AskPassphrase("passphrase of the root key: ")
	}
	if err != nil {
		return nil, err
	}
	return crypto.UnlockRoot(b, s)
}

func (a *app) keyExportRoot() *cobra.Command {
	var passphraseFile string
	var keep bool
	c := &cobra.Command{
		Use: "export-root FILE", Short: "Write the root key to a file of its own and take it out of the keystore",
		Long: `The root key signs the site's cards and nothing else. Whoever has it is the site; without it the site ends
with its last card, after at most 90 days. export-root writes it to FILE, under a passphrase of its own.
Move the file to a medium that is kept offline, and a second copy elsewhere. Later, site card and site key
rotate take it with --root FILE.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				return a.exportRoot(cmd.Context(), o, k, id, args[0], passphraseFile, keep)
			})
		},
	}
	c.Flags().StringVar(&passphraseFile, "passphrase-file", "", "file whose first line is the passphrase for FILE")
	c.Flags().BoolVar(&keep, "keep", false, "leave the root key in the keystore too, so that cards are renewed without you")
	return c
}

func (a *app) exportRoot(ctx context.Context, o *instance.Instance, k *instance.Keystore, id *crypto.Identity, path, passphraseFile string, keep bool) error {
	if !id.HasRoot() {
		return cli.Usagef("the root key is kept elsewhere already")
	}
	if _, err := os.Lstat(path); err == nil {
		return cli.Usagef("%s is there already", path)
	}
	s, err := a.NewPassphrase(passphraseFile)
	if err != nil {
		return err
	}
	b, err := id.LockRoot(s, rand.Reader)
	if err != nil {
		return err
	}
	if err := keyfile.Replace(path, b); err != nil {
		return err
	}
	// Read back before the only other copy goes.
	written, err := keyfile.Bytes(path)
	if err != nil {
		return err
	}
	seed, err := crypto.UnlockRoot(written, s)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := id.WithRoot(seed); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !keep {
		if _, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) { return id.WithoutRoot(), nil }); err != nil {
			return err
		}
	}
	if err := o.Audit(ctx, "root key exported", map[string]any{"kept": keep}); err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"site": id.Site(), "file": tables.Absolute(path), "kept": keep})
	}
	a.Say("the root key of %s is in %s", id.Site(), tables.Absolute(path))
	if !keep {
		a.Say("it is no longer in the keystore; each new card needs --root FILE, every 90 days at the latest")
	}
	return nil
}

func (a *app) cardCommand() *cobra.Command {
	var out, root, name, contact string
	var urls []string
	var renew, refresh bool
	c := &cobra.Command{
		Use: "card", Short: "Show, make and write the site's signed card",
		Long: `The card is what partners know of the site: its keys, its addresses, whom to turn to. It is in force for 90
days; --refresh, by a timer, renews it every week as long as the keystore has the root key.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				card, err := instance.OwnCard(ctx, o.Store, id)
				if err != nil {
					return err
				}
				fields := crypto.CardFields{Name: o.Config.Site.Title, Modes: crypto.ModeSealed}
				if fields.Name == "" {
					fields.Name = string(o.Config.Site.ID)
				}
				if card != nil {
					fields = card.CardFields
				}
				if refresh && card != nil {
					if _, card, _, err = instance.RefreshCard(ctx, o.Store, k, id, card, time.Now()); err != nil {
						return err
					}
				}
				changed := renew || card == nil
				for flag, set := range map[string]func(){"name": func() { fields.Name = name }, "contact": func() { fields.Contact = contact }, "url": func() { fields.URLs = urls }} {
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
	c.Flags().BoolVar(&renew, "renew", false, "make a new card though nothing changed")
	c.Flags().BoolVar(&refresh, "refresh", false, "make a new card if this one is a week old and the root key is here, and destroy keys whose time is over; for a timer")
	c.Flags().StringVar(&root, "root", "", "file with the exported root key")
	c.Flags().StringVar(&name, "name", "", "name of the site for people")
	c.Flags().StringVar(&contact, "contact", "", "whom partners turn to")
	c.Flags().StringArrayVar(&urls, "url", nil, "address of the federation listener, https://HOST:PORT; may be repeated")
	return c
}

func (a *app) renewCard(ctx context.Context, o *instance.Instance, k *instance.Keystore, id *crypto.Identity, fields crypto.CardFields, root string) (*crypto.Card, error) {
	if len(fields.URLs) == 0 {
		return nil, cli.Usagef("the card needs an address: --url https://HOST:PORT")
	}
	seed, err := a.rootSeed(id, root)
	if err != nil {
		return nil, err
	}
	_, card, err := instance.MakeCard(ctx, o.Store, k, fields, seed, time.Now())
	if errors.Is(err, crypto.ErrFormat) {
		return nil, cli.Usage(err)
	}
	if err != nil {
		return nil, err
	}
	return card, o.Audit(ctx, "card made", map[string]any{"card": card.Serial, "ends": card.NotAfter})
}

// showCard prints a card that was checked.
func (a *app) showCard(c *crypto.Card) error {
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
