package federating

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/instance"
)

func (a *commands) keyInit() *cobra.Command {
	var keyFile, passphraseFile string
	var passphrase bool
	c := &cobra.Command{
		Use: "init", Short: "Say how the site's keystore opens, and make the keys where there are none",
		Long: `A new site has its root key, working keys and the keystore that holds them; an older one gets them when it is next
served, or by this command. The keys stay the same.

The keystore opens with a passphrase (--passphrase), or with a key file. Without either flag the key file
is ` + instance.KeyFileName + ` beside the keystore: whoever copies the whole folder then has the keys. Name another place
with --key-file, and tell later commands by ` + instance.KeyFileVariable + `. A keystore that is there opens with what
is named from then on.`,
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
	var secret crypto.Secret
	switch {
	case passphrase:
		secret, err = a.NewPassphrase(passphraseFile)
	default:
		if keyFile == "" {
			keyFile = filepath.Join(o.Dir, instance.KeyFileName)
		}
		secret, err = instance.MakeKeyFile(keyFile)
	}
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
	if o.Clustered() && !passphrase {
		a.Warn("the other nodes need %s too: copy it to their folders, or start each with %s", keyFile, instance.KeyFileVariable)
	}
	a.Say("next: concordat site card --url https://HOST:PORT, then concordat site key export-root FILE")
	return nil
}

// tellKeys says whose keys the keystore has, and where it is.
func (a *commands) tellKeys(path string, id *crypto.Identity) error {
	if a.JSON {
		return a.Line(map[string]any{"site": id.Site(), "keystore": path})
	}
	a.Say("site %s", id.Site())
	a.Say("keys are in %s", path)
	return nil
}
