package federating

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) unshareCommand() *cobra.Command {
	var with string
	c := &cobra.Command{
		Use: "unshare LIBRARY --with SITE", Short: "Stop sharing a library with a partner site", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if with == "" {
				return cli.Usagef("--with is required: name a partner site")
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l, err := o.Library(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				partner, _, err := partnerSite(cmd.Context(), o, with)
				if err != nil {
					return err
				}
				return a.unshare(cmd.Context(), o, l.ID, partner)
			})
		},
	}
	c.Flags().StringVar(&with, "with", "", "the partner site")
	return c
}

func (a *commands) unshare(ctx context.Context, o *instance.Instance, lib concordat.LibraryID, with concordat.SiteID) error {
	err := o.Answers.Shares.Unshare(ctx, lib, with)
	if errors.Is(err, concordat.ErrNotFound) {
		return cli.Usagef("library %s is not shared with %s", lib, with)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"library": lib, "partner": with, "closed": true})
	}
	a.Say("library %s is no longer shared with %s", lib, with)
	return nil
}
