package federating

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/instance"
	"concordat/report"
)

func (a *commands) alertStanding() *cobra.Command {
	return &cobra.Command{
		Use: "standing", Short: "List standing checks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listStanding(cmd.Context(), o) })
		},
	}
}

func (a *commands) listStanding(ctx context.Context, o *instance.Instance) error {
	tasks, err := o.Site.StandingChecks(ctx)
	if err != nil {
		return err
	}
	for _, id := range tasks {
		t, err := o.Store.Checks.Task(ctx, id)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return err
		}
		at, err := standingAt(ctx, o, id)
		if err != nil {
			return err
		}
		if a.JSON {
			err = a.Line(map[string]any{"check": id, "title": t.Title, "made": t.Made, "partners": append([]concordat.SiteID{}, at...)})
		} else {
			a.Say("%s  %s  %s (%s)", id, t.Made.Local().Format(time.DateTime), t.Title,
				report.Plural(len(at), "partner keeps watching", "partners keep watching"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
