package deleting

import (
	"context"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/site/retain"
)

func (a *commands) deleteLibrary() *cobra.Command {
	return Deletion(a.Site, "library NAME", "Delete a library and all its documents", cobra.ExactArgs(1),
		func(ctx context.Context, o *instance.Instance, args []string) (t retain.Target, err error) {
			l, err := o.Library(ctx, args[0])
			return retain.Target{Library: l.ID, Whole: true}, err
		})
}
