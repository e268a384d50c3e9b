package signin

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/view"
)

func (a *commands) ltiListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the learning platforms", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				all, err := o.Store.LTI.LTIPlatforms(cmd.Context())
				if err != nil {
					return err
				}
				for _, p := range all {
					if a.JSON {
						err = a.Line(view.OfPlatform(p))
					} else {
						_, err = fmt.Fprintf(a.Stdout, "%s\t%s\t%s\t%s\n", p.ID, p.Issuer, p.Client, strings.Join(p.Deployments, ","))
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
