package federating

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/instance"
)

func (a *commands) keyInit() *cobra.Command {
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

func (a *commands) initKeys(ctx context.Context, o *instance.Instance, keyFile string, passphrase bool, passphraseFile string) error {
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
