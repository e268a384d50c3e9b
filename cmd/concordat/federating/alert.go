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
	c := &cobra.Command{Use: "alert", Short: "Show and handle alerts from standing checks", Args: cobra.NoArgs,
		Long: `With --standing, a check keeps watching: later documents that match raise an alert, here and at partners that
agreed to keep its questions. The server receives partners' alerts. If a later document of this site
matches a partner's check, an alert here shows what the partner was told.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.alertList(), a.alertStanding(), a.alertHandle(), a.alertEnd())
	return c
}

// standingAt returns the partners that hold the questions of a check, in order and without duplicates.
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
