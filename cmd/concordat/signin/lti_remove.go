package signin

import (
	"github.com/spf13/cobra"

	"concordat/instance"
)

func (a *commands) ltiRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove a learning platform, but keep the checks that it requested", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if err := o.Store.LTI.DeleteLTIPlatform(cmd.Context(), args[0]); err != nil {
					return err
				}
				a.Say("platform %s is removed", args[0])
				return nil
			})
		},
	}
}
