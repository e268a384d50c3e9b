package federating

import (
	"github.com/spf13/cobra"

	"concordat"
	"concordat/instance"
)

func (a *commands) sharedCommand() *cobra.Command {
	var with string
	c := &cobra.Command{
		Use: "shared [LIBRARY]", Short: "List which libraries are shared with which partner sites", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				var lib concordat.LibraryID
				if len(args) == 1 {
					l, err := o.Library(cmd.Context(), args[0])
					if err != nil {
						return err
					}
					lib = l.ID
				}
				var partner concordat.SiteID
				if with != "" {
					var err error
					if partner, _, err = partnerSite(cmd.Context(), o, with); err != nil {
						return err
					}
				}
				xs, err := o.Store.Answers.Shares(cmd.Context(), lib, partner)
				if err != nil {
					return err
				}
				for _, x := range xs {
					if err := a.printShare(x); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&with, "with", "", "list only libraries shared with this partner")
	return c
}
