package federating

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
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
	id, aside, err := o.ResumeKeys(ctx, seed, secret, keep)
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
	if o.Clustered() && keyFile != "" && !a.JSON {
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
		id, err = o.Relock(ctx, secret, keyFile)
	} else {
		id, err = o.MakeKeys(ctx, secret)
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
