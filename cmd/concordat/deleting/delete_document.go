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

func (a *commands) deleteDocuments() *cobra.Command {
	return Deletion(a.Site, "document LIBRARY ID...", "Delete documents from a library", cobra.MinimumNArgs(2),
		func(ctx context.Context, o *instance.Instance, args []string) (t retain.Target, err error) {
			l, err := o.Library(ctx, args[0])
			if err != nil {
				return t, err
			}
			t.Library = l.ID
			for _, id := range args[1:] {
				_, err := o.Store.Catalogue.DocumentRow(ctx, l.ID, concordat.DocumentID(id))
				if errors.Is(err, concordat.ErrNotFound) {
					return t, cli.Usagef("library %s has no document %s", l.ID, id)
				}
				if err != nil {
					return t, err
				}
				t.Documents = append(t.Documents, concordat.DocumentID(id))
			}
			return t, nil
		})
}
