package federating

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/cmd/tables"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/instance"
)

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
	if err := o.Audit(ctx, "root key exported", map[string]any{"kept": keep}); err != nil {
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
