package signin

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"concordat/instance"
)

func (a *commands) ltiRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Create a new signing key, used from the next start", Args: cobra.NoArgs,
		Long: `Rotate creates a new key, which signs messages to platforms from the next start of concordat serve.
The two previous keys stay published, so nothing in transit is lost.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				keys, err := instance.LTIKeys(o.Dir)
				if err == nil {
					keys, err = keys.Rotate()
				}
				if err != nil {
					return err
				}
				if err := instance.WriteLTIKeys(filepath.Join(o.Dir, instance.LTIKeyName), keys); err != nil {
					return err
				}
				if o.Clustered() {
					a.Warn("the other nodes also need %s: copy the file to their folders before you restart them", instance.LTIKeyName)
				}
				a.Say("a new key was created and will be used from the next start of concordat serve")
				return nil
			})
		},
	}
}
