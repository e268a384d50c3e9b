package federating

import (
	"github.com/spf13/cobra"

	"concordat/instance"
)

func (a *commands) peerShow() *cobra.Command {
	c := &cobra.Command{
		Use: "show SITE", Short: "Show a partner's card, state and shared libraries", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				p, err := o.Partner(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.showPartner(cmd.Context(), o, p)
			})
		},
	}
	c.ValidArgsFunction = a.completePartners
	return c
}
