package deleting

import (
	"time"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/view"
)

func (a *commands) deleteList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List deletions, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				es, err := o.Store.Retention.Erasures(cmd.Context(), 0, 100)
				for _, e := range es {
					if err != nil {
						break
					}
					if a.JSON {
						err = a.Line(view.OfDeletion(e))
					} else {
						a.Say("%s  %s  %-8s %s  %s", e.ID, e.Made.Local().Format(time.DateTime), e.State, e.Actor, e.Reason)
					}
				}
				return err
			})
		}}
}
