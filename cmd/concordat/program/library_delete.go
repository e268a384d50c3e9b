package program

import (
	"github.com/spf13/cobra"

	"concordat/instance"
)

func (a *app) libraryDelete() *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use: "delete NAME", Short: "Delete a library with all its documents", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				l, err := o.Library(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if dryRun {
					if a.JSON {
						return a.Line(map[string]any{"library": l.ID, "documents": l.Documents, "dry_run": true})
					}
					a.Say("would delete library %s with %d documents", l.ID, l.Documents)
					return nil
				}
				b := a.Progress(int64(l.Documents), "deleting")
				err = o.Site.DeleteLibrary(cmd.Context(), l.ID, b.Set)
				b.Done()
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Line(map[string]any{"library": l.ID, "documents": l.Documents, "deleted": true})
				}
				a.Say("deleted library %s with %d documents", l.ID, l.Documents)
				return nil
			})
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be deleted")
	return c
}
