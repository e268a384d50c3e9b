package program

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/people"
	"concordat/site"
	"concordat/store"
)

func (a *app) libraryCommand() *cobra.Command {
	c := &cobra.Command{Use: "library", Short: "Create, list, change and delete collections of documents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var title string
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a library", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := site.CheckLibraryName(args[0]); err != nil {
				return cli.Usage(err)
			}
			title, err := people.Title(title)
			if err != nil {
				return cli.Usage(err)
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l := store.Library{ID: concordat.LibraryID(args[0]), Title: title, Created: time.Now()}
				if err := o.Store.Catalogue.CreateLibrary(cmd.Context(), l); err != nil {
					if errors.Is(err, concordat.ErrExists) {
						return cli.Usagef("library %s already exists", args[0])
					}
					return err
				}
				return a.showLibrary(cmd.Context(), o, l.ID)
			})
		},
	}
	create.Flags().StringVar(&title, "title", "", "display name of the library")
	list := &cobra.Command{
		Use: "list", Short: "List the libraries", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				ls, err := o.Store.Catalogue.Libraries(cmd.Context())
				if err != nil {
					return err
				}
				for _, l := range ls {
					if err := a.printLibrary(o, l); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.AddCommand(create, list, a.librarySet(), a.libraryDelete(), a.libraryTemplate(), a.libraryBoilerplate())
	return c
}
