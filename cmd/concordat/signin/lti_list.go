package signin

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"concordat/instance"
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
						err = a.Line(map[string]any{"id": p.ID, "name": p.Name, "issuer": p.Issuer, "client": p.Client, "auth_url": p.AuthURL,
							"token_url": p.TokenURL,
							"keys_url":  p.KeysURL, "deployments": p.Deployments, "hosts": p.Hosts, "disabled": p.Disabled, "made": p.Made})
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
