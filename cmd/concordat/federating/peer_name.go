package federating

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
)

func (a *commands) peerName() *cobra.Command {
	c := &cobra.Command{
		Use: "name SITE NAME", Short: "Give a partner a name for use in commands; an empty name removes it", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				p, err := o.Partner(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if _, err := crypto.ParseSiteID(args[1]); err == nil || strings.ContainsAny(args[1], "/ ") {
					return cli.Usagef("name %q must not be a site's identity, and must not contain / or a space", args[1])
				}
				if err := o.Store.Partners.NamePartner(cmd.Context(), p.Site, args[1]); err != nil {
					if errors.Is(err, concordat.ErrExists) {
						return cli.Usagef("another partner is already called %s", args[1])
					}
					return err
				}
				p.Name = args[1]
				return a.showPartner(cmd.Context(), o, p)
			})
		},
	}
	c.ValidArgsFunction = a.completePartners
	return c
}
