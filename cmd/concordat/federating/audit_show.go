package federating

import (
	"time"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/view"
)

func (a *commands) auditShow() *cobra.Command {
	var after int64
	var limit int
	c := &cobra.Command{
		Use: "show", Short: "List entries of the audit log, oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				es, err := o.Store.Audit.Audit(cmd.Context(), after, limit)
				if err != nil {
					return err
				}
				for _, e := range es {
					if a.JSON {
						err = a.Line(view.OfAuditEntry(e))
					} else {
						a.Say("%6d  %s  %-20.20s %-20s %s", e.Seq, e.At.Local().Format(time.DateTime), e.Actor, e.Action, e.Detail)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().Int64Var(&after, "after", 0, "list only entries after the one with this number")
	c.Flags().IntVar(&limit, "limit", 100, "maximum number of entries to list")
	return c
}
