package keys

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/cmd/tables"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/instance"
	"concordat/partners"
)

func (a *commands) keyInit() *cobra.Command {
	var keyFile, passphraseFile, root string
	var passphrase, keep bool
	c := &cobra.Command{
		Use: "init", Short: "Set how the keystore is opened, and create missing keys",
		Long: `A new site has a root key, working keys and the keystore that holds them; an older site gets them when its server
next starts, or when this command is run. Existing keys stay the same.

The keystore is opened with a passphrase (--passphrase) or a key file. By default the key file is ` + instance.KeyFileName + `
next to the keystore, so whoever copies the whole folder has the keys. To use a file elsewhere, give its path with
--key-file, and give it to later commands with ` + instance.KeyFileVariable + `. An existing keystore is then opened with the new file or passphrase.

A site that has lost its keystore starts again with --root FILE, its exported root key: it keeps its identity
and its partners, which fetch the new card within a day. A keystore that does not open is moved aside. Secrets
of federations are lost: join each federation again, and begin a new epoch of each one that the site leads.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if passphrase && keyFile != "" {
				return cli.Usagef("--passphrase and --key-file cannot be combined")
			}
			if keep && root == "" {
				return cli.Usagef("--keep needs --root")
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if root != "" {
					return a.resumeKeys(cmd.Context(), o, root, keep, keyFile, passphrase || passphraseFile != "", passphraseFile)
				}
				return a.initKeys(cmd.Context(), o, keyFile, passphrase || passphraseFile != "", passphraseFile)
			})
		},
	}
	c.Flags().StringVar(&keyFile, "key-file", "", "file of 32 random bytes that opens the keystore; created if missing")
	c.Flags().BoolVar(&passphrase, "passphrase", false, "ask for a passphrase that opens the keystore")
	c.Flags().StringVar(&passphraseFile, "passphrase-file", "", "file whose first line is the passphrase")
	c.Flags().StringVar(&root, "root", "", "file with the exported root key of a site whose keystore is lost")
	c.Flags().BoolVar(&keep, "keep", false, "leave the root key in the new keystore, so that cards can be renewed automatically")
	return c
}

// keystoreSecret returns the secret for a keystore and the name of the file that contains it. The name is empty for a passphrase.
func (a *commands) keystoreSecret(o *instance.Instance, keyFile string, passphrase bool, passphraseFile string) (crypto.Secret, string,
	error) {
	if passphrase {
		s, err := a.NewPassphrase(passphraseFile)
		return s, "", err
	}
	keyFile = cmp.Or(keyFile, filepath.Join(o.Dir, instance.KeyFileName))
	s, err := instance.MakeKeyFile(keyFile)
	return s, keyFile, err
}

func (a *commands) resumeKeys(ctx context.Context, o *instance.Instance, root string, keep bool, keyFile string, passphrase bool,
	passphraseFile string) error {
	seed, err := a.exportedRoot(root)
	if err != nil {
		return err
	}
	secret, keyFile, err := a.keystoreSecret(o, keyFile, passphrase, passphraseFile)
	if err != nil {
		return err
	}
	id, aside, err := o.Keys.Resume(ctx, seed, secret, keep)
	if errors.Is(err, crypto.ErrFormat) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	if aside != "" {
		a.Warn("the keystore that could not be opened was moved to %s", aside)
	}
	ms, err := o.Store.Partners.Memberships(ctx)
	if err != nil {
		return err
	}
	for _, m := range ms {
		if m.Leader == instance.PartnerName(id.Site()) {
			a.Warn("the secret of federation %s is lost; to begin a new epoch, run concordat federation rotate %s", m.Federation, m.Federation)
		} else {
			a.Warn("the secret of federation %s is lost; to fetch it again, run concordat federation join %s %s", m.Federation, m.Federation, m.Leader)
		}
	}
	a.warnKeyFile(o, keyFile)
	return a.tellKeys(filepath.Join(o.Dir, instance.KeystoreName), id)
}

// warnKeyFile warns that the other nodes of a site need the key file.
func (a *commands) warnKeyFile(o *instance.Instance, keyFile string) {
	if o.Config.Clustered() && keyFile != "" && !a.JSON {
		a.Warn("the other nodes also need %s: copy the file to their folders, or start each node with %s", keyFile, instance.KeyFileVariable)
	}
}

func (a *commands) initKeys(ctx context.Context, o *instance.Instance, keyFile string, passphrase bool, passphraseFile string) error {
	path := filepath.Join(o.Dir, instance.KeystoreName)
	_, err := os.Lstat(path)
	held := err == nil
	if held && !passphrase && keyFile == "" {
		_, id, err := a.OpenKeys(o.Dir)
		if err != nil {
			return err
		}
		return a.tellKeys(path, id)
	}
	secret, keyFile, err := a.keystoreSecret(o, keyFile, passphrase, passphraseFile)
	if err != nil {
		return err
	}
	var id *crypto.Identity
	if held {
		id, err = o.Keys.Relock(ctx, secret, keyFile)
	} else {
		id, err = o.Keys.Make(ctx, secret)
	}
	if err != nil {
		return err
	}
	if err := a.tellKeys(path, id); err != nil || a.JSON {
		return err
	}
	a.warnKeyFile(o, keyFile)
	a.Say("next, run concordat site card --url https://HOST:PORT, and then concordat site key export-root FILE")
	return nil
}

// tellKeys prints the keystore's owner and its path.
func (a *commands) tellKeys(path string, id *crypto.Identity) error {
	if a.JSON {
		return a.Line(map[string]any{"site": id.Site(), "keystore": path})
	}
	a.Say("site %s", id.Site())
	a.Say("keys are in %s", path)
	return nil
}

func (a *commands) keyShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the site's identity and which keys are in force; private keys are never shown", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				now := time.Now()
				if a.JSON {
					return a.Line(map[string]any{"site": id.Site(), "root": id.HasRoot(), "keys": id.Keys(now), "federations": partners.EpochSpans(id)})
				}
				a.Say("site %s", id.Site())
				if id.HasRoot() {
					a.Say("root key: in the keystore; export it with concordat site key export-root FILE")
				} else {
					a.Say("root key: not in the keystore")
				}
				for _, k := range id.Keys(now) {
					state := "to come"
					switch {
					case k.InForce:
						state = "in force"
					case !now.Before(k.To) && k.Held:
						state = "expired, kept for messages in transit"
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
	if err := instance.Audit(ctx, o.Store, "keys rotated", map[string]any{"compromised": compromised, "card": card.Serial}); err != nil {
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

func (a *commands) keyExportRoot() *cobra.Command {
	var passphraseFile string
	var keep bool
	c := &cobra.Command{
		Use: "export-root FILE", Short: "Write the root key to a file and remove it from the keystore",
		Long: `The root key signs the site's cards and nothing else. Whoever has it can act as the site;
without it, the site loses its identity when its last card expires, after at most 90 days. Export-root writes
it to FILE, encrypted with a separate passphrase. Move the file to a medium that is kept offline, and keep a second
copy elsewhere. Later, give it to site card and site key rotate with --root FILE.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				return a.exportRoot(cmd.Context(), o, k, id, args[0], passphraseFile, keep)
			})
		},
	}
	c.Flags().StringVar(&passphraseFile, "passphrase-file", "", "file whose first line is the passphrase for FILE")
	c.Flags().BoolVar(&keep, "keep", false, "also leave the root key in the keystore, so that cards can be renewed automatically")
	return c
}

// takeOutRoot removes the root key from the keystore. The current card may have sealing keys for only three weeks, since it was meant to
// be renewed weekly. Therefore takeOutRoot first issues a final card with keys for its whole validity.
func (a *commands) takeOutRoot(ctx context.Context, o *instance.Instance, k *instance.Keystore, seed []byte) error {
	id, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) { return id.WithoutRoot(), nil })
	if err != nil {
		return err
	}
	card, err := instance.OwnCard(ctx, o.Store, id)
	if err != nil || card == nil {
		return err
	}
	_, _, err = instance.MakeCard(ctx, o.Store, k, card.CardFields, seed, time.Now(), instance.Administrator)
	return err
}

func (a *commands) exportRoot(ctx context.Context, o *instance.Instance, k *instance.Keystore, id *crypto.Identity, path,
	passphraseFile string, keep bool) error {
	if !id.HasRoot() {
		return cli.Usagef("the root key is no longer in the keystore")
	}
	if _, err := os.Lstat(path); err == nil {
		return cli.Usagef("%s already exists", path)
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
	// Read the file back before removing the only other copy.
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
		if err := a.takeOutRoot(ctx, o, k, seed); err != nil {
			return err
		}
	}
	if err := o.Store.SetSetting(ctx, instance.RootExportSetting, time.Now().UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	if err := instance.Audit(ctx, o.Store, "root key exported", map[string]any{"kept": keep}); err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"site": id.Site(), "file": tables.Absolute(path), "kept": keep})
	}
	a.Say("wrote the root key of %s to %s", id.Site(), tables.Absolute(path))
	if !keep {
		a.Say("the root key is no longer in the keystore; each new card, needed at least every 90 days, requires --root FILE")
	}
	return nil
}
