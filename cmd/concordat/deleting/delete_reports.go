package deleting

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/site/retain"
)

func (a *commands) deleteReports() *cobra.Command {
	return Deletion(a.Site, "report ID...", "Delete checks with their reports, texts and originals", cobra.MinimumNArgs(1),
		func(ctx context.Context, o *instance.Instance, args []string) (t retain.Target, err error) {
			for _, id := range args {
				_, err := o.Store.Checks.Task(ctx, concordat.TaskID(id))
				if errors.Is(err, concordat.ErrNotFound) {
					return t, cli.Usagef("no report %s; see concordat report list", id)
				}
				if err != nil {
					return t, err
				}
				t.Tasks = append(t.Tasks, concordat.TaskID(id))
			}
			return t, nil
		})
}
