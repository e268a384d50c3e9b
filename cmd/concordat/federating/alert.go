package federating

import (
	"context"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
)

func AlertCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "alert", Short: "What later documents matched checks that stay", Args: cobra.NoArgs,
		Long: `A check with --standing stays: documents that come later, here or at the partners that agreed to keep its
questions, raise an alert if they match. Alerts of partners come to the process that serves the site. Where a partner's
check is told of a later document of this site, that raises an alert here too: it says what the partner was told.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.alertList(), a.alertStanding(), a.alertHandle(), a.alertEnd())
	return c
}

// standingAt returns the partners that keep the questions of a check, each once and in order.
func standingAt(ctx context.Context, o *instance.Instance, task concordat.TaskID) ([]concordat.SiteID, error) {
	asks, err := o.Store.Asks.Asks(ctx, task)
	if err != nil {
		return nil, err
	}
	at := map[concordat.SiteID]bool{}
	for _, x := range asks {
		if x.Standing {
			at[x.Site] = true
		}
	}
	return sortedKeys(at), nil
}
