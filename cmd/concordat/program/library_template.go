package program

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/store"
	"concordat/view"
)

func (a *app) libraryTemplate() *cobra.Command {
	c := &cobra.Command{Use: "template", Short: "Register template wording, which a library either never counts or always counts", Args: cobra.NoArgs,
		Long: `Template registers files with wording that a library hands out: the form of a call, a cover page, a declaration.
Reports show it in submissions as template wording, which does not count unless check or report is given
--count-templates.

With set --counts, the wording counts in every check against the library, even if so many of its documents
contain it that a person would otherwise have to decide.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var counts bool
	set := &cobra.Command{Use: "set LIBRARY FILE...", Short: "Register files as templates, replacing templates of the same name",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLibrary(cmd.Context(), args[0], func(o *instance.Instance, l store.Library) error {
				for _, path := range args[1:] {
					text, err := a.wording(cmd.Context(), o, path)
					if err != nil {
						return err
					}
					t := store.Template{Library: l.ID, Name: filepath.Base(path), Text: text, Added: time.Now(), Counts: counts}
					if err := o.Store.Catalogue.PutTemplate(cmd.Context(), t); err != nil {
						if errors.Is(err, concordat.ErrInvalid) {
							return cli.Usage(err)
						}
						return err
					}
					if err := a.printTemplate(t, false); err != nil {
						return err
					}
				}
				return nil
			})
		}}
	set.Flags().BoolVar(&counts, "counts", false, "always count the wording, even if many documents of the library contain it")
	show := &cobra.Command{Use: "show LIBRARY [NAME]", Short: "List a library's templates, or print the text of one template", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLibrary(cmd.Context(), args[0], func(o *instance.Instance, l store.Library) error {
				return a.showTemplates(cmd.Context(), o, l.ID, args[1:])
			})
		}}
	remove := &cobra.Command{Use: "remove LIBRARY NAME", Short: "Remove a template", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLibrary(cmd.Context(), args[0], func(o *instance.Instance, l store.Library) error {
				name := filepath.Base(args[1])
				err := o.Store.Catalogue.DeleteTemplate(cmd.Context(), l.ID, name)
				if errors.Is(err, concordat.ErrNotFound) {
					return cli.Usagef("library %s has no template %s; see concordat library template show %s", l.ID, name, l.ID)
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Line(map[string]any{"library": l.ID, "template": name, "removed": true})
				}
				a.Say("removed template %s from library %s", name, l.ID)
				return nil
			})
		}}
	c.AddCommand(set, show, remove)
	return c
}

// withLibrary opens the store and one of its libraries.
func (a *app) withLibrary(ctx context.Context, name string, f func(*instance.Instance, store.Library) error) error {
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		l, err := o.Library(ctx, name)
		if err != nil {
			return err
		}
		return f(o, l)
	})
}

func (a *app) showTemplates(ctx context.Context, o *instance.Instance, lib concordat.LibraryID, names []string) error {
	all, err := o.Store.Catalogue.Templates(ctx, lib)
	if err != nil {
		return err
	}
	shown := 0
	for _, t := range all {
		if len(names) > 0 && t.Name != names[0] {
			continue
		}
		shown++
		if err := a.printTemplate(t, len(names) > 0); err != nil {
			return err
		}
	}
	if shown == 0 && len(names) > 0 {
		return cli.Usagef("library %s has no template %s", lib, names[0])
	}
	return nil
}

func (a *app) printTemplate(t store.Template, text bool) error {
	if a.JSON {
		return a.Line(view.OfWording(t, text))
	}
	if text {
		a.Say("%s", t.Text)
		return nil
	}
	state := ""
	if t.Counts {
		state = ", counts"
	}
	a.Say("%-20s %s, %d bytes%s", t.Library, t.Name, len(t.Text), state)
	return nil
}
