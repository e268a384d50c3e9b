package deleting

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/site/retain"
)

func (a *commands) retentionDocument() *cobra.Command {
	var hidden, expires string
	c := &cobra.Command{Use: "document LIBRARY ID", Short: "Set when a document stops being hidden and when it is deleted",
		Args: cobra.ExactArgs(2),
		Long: `A hidden document still counts in checks: passages from it are found and counted. Until the date given with
--hidden-until, reports show neither its title nor its wording, and partners learn nothing about it; after that date,
all reports show both, including earlier ones.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l, err := o.Library(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				t, err := o.Store.Retention.Term(cmd.Context(), l.ID, concordat.DocumentID(args[1]))
				if errors.Is(err, concordat.ErrNotFound) {
					return cli.Usagef("library %s has no document %s", l.ID, args[1])
				}
				if err == nil && cmd.Flags().Changed("hidden-until") {
					t.Hidden, err = cli.ParseDate(hidden)
				}
				if err == nil && cmd.Flags().Changed("expires") {
					t.Expires, err = cli.ParseDate(expires)
				}
				if err != nil {
					return err
				}
				if err := o.Store.Retention.SetTerm(cmd.Context(), t); err != nil {
					return err
				}
				b, err := json.Marshal(map[string]any{"library": t.Library, "document": retain.DocumentName(t.Library, t.Document), "hidden": t.Hidden,
					"expires": t.Expires})
				if err != nil {
					return err
				}
				_, err = o.Store.Audit.AppendAudit(cmd.Context(), cli.Operator(), "term_set", b)
				return err
			})
		}}
	c.Flags().StringVar(&hidden, "hidden-until", "", "hide the document until this date (YYYY-MM-DD); if empty, show it")
	c.Flags().StringVar(&expires, "expires", "", "delete the document on this date (YYYY-MM-DD); if empty, never")
	return c
}
