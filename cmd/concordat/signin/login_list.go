package signin

import (
	"fmt"

	"github.com/spf13/cobra"

	"concordat/instance"
)

func (a *commands) loginListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List linked accounts by provider", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				all, err := o.Store.People.Identities(cmd.Context(), "")
				if err != nil {
					return err
				}
				for _, i := range all {
					if a.JSON {
						err = a.Line(map[string]any{"account": i.Account, "issuer": i.Issuer, "subject": i.Subject, "made": i.Made, "used": i.Used})
					} else {
						_, err = fmt.Fprintf(a.Stdout, "%s\t%s\t%s\n", i.Account, i.Issuer, i.Subject)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}
