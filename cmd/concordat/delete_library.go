package main

import (
	"context"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/site"
)

func (a *app) deleteLibrary() *cobra.Command {
	return a.deletion("library NAME", "Delete a library with all its documents", cobra.ExactArgs(1),
		func(ctx context.Context, o *instance.Instance, args []string) (t site.Target, err error) {
			l, err := o.Library(ctx, args[0])
			return site.Target{Library: l.ID, Whole: true}, err
		})
}
