package federating

import (
	"time"

	"github.com/spf13/cobra"

	"concordat/federation"
)

func (a *commands) peerLibraries() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "libraries SITE", Short: "Ask a partner which libraries it shares with this site", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withPartner(cmd.Context(), args[0], timeout, func(c *federation.Client) error {
				cat, err := c.Catalogue(cmd.Context())
				if err != nil {
					return err
				}
				for _, l := range cat.Libraries {
					if a.JSON {
						err = a.Line(l)
					} else {
						a.Say("%-20s about %8d documents  shows %-9s %s", l.ID, l.Documents, l.Level, l.Title)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the partner")
	c.ValidArgsFunction = a.completePartners
	return c
}
