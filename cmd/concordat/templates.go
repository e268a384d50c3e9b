package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

// wording returns the text of a file of any format that is given as a template.
func (a *app) wording(ctx context.Context, o *instance.Instance, path string) (string, error) {
	r := instance.NewReader(instance.Extraction(o.Config), 1)
	items, err := r.Read(ctx, path)
	if err = errors.Join(err, r.Close()); err != nil {
		return "", err
	}
	var out strings.Builder
	for _, item := range items {
		if item.Err != nil {
			return "", cli.Usagef("template %s", failed(item.Path, item.Err))
		}
		out.WriteString(item.Result.Text)
		out.WriteString("\n\n")
	}
	text := strings.TrimSpace(out.String())
	if text == "" || len(text) > store.MaxTemplate {
		return "", cli.Usagef("template %s: %d bytes of text, want 1 to %d", path, len(text), store.MaxTemplate)
	}
	return text, nil
}

func (a *app) libraryTemplate() *cobra.Command {
	c := &cobra.Command{Use: "template", Short: "Register wording that a library hands out itself", Args: cobra.NoArgs,
		Long: `Template registers files with wording that a library hands out itself: the form of a call, a cover page, a
declaration. What a submission holds of it is shown as template wording and gives no score; check and
report count it with --count-templates.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	set := &cobra.Command{Use: "set LIBRARY FILE...", Short: "Register files, each replacing the template of its name", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLibrary(cmd.Context(), args[0], func(o *instance.Instance, l store.Library) error {
				for _, path := range args[1:] {
					text, err := a.wording(cmd.Context(), o, path)
					if err != nil {
						return err
					}
					t := store.Template{Library: l.ID, Name: filepath.Base(path), Text: text, Added: time.Now()}
					if err := o.Store.PutTemplate(cmd.Context(), t); err != nil {
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
	show := &cobra.Command{Use: "show LIBRARY [NAME]", Short: "List the templates, or print the text of one", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLibrary(cmd.Context(), args[0], func(o *instance.Instance, l store.Library) error {
				return a.showTemplates(cmd.Context(), o, l.ID, args[1:])
			})
		}}
	remove := &cobra.Command{Use: "remove LIBRARY NAME", Short: "Remove a template", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLibrary(cmd.Context(), args[0], func(o *instance.Instance, l store.Library) error {
				name := filepath.Base(args[1])
				err := o.Store.DeleteTemplate(cmd.Context(), l.ID, name)
				if errors.Is(err, concordat.ErrNotFound) {
					return cli.Usagef("library %s has no template %s; see concordat library template show %s", l.ID, name, l.ID)
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Line(map[string]any{"library": l.ID, "template": name, "removed": true})
				}
				a.Say("removed template %s of %s", name, l.ID)
				return nil
			})
		}}
	c.AddCommand(set, show, remove)
	return c
}

// withLibrary opens the store and a library of it.
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
	all, err := o.Store.Templates(ctx, lib)
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
		line := map[string]any{"library": t.Library, "template": t.Name, "bytes": len(t.Text), "added": t.Added}
		if text {
			line["text"] = t.Text
		}
		return a.Line(line)
	}
	if text {
		a.Say("%s", t.Text)
		return nil
	}
	a.Say("%-20s %s, %d bytes", t.Library, t.Name, len(t.Text))
	return nil
}

func (a *app) libraryBoilerplate() *cobra.Command {
	var least, most int
	c := &cobra.Command{Use: "boilerplate LIBRARY", Short: "List the sentences that most documents of a library repeat", Args: cobra.ExactArgs(1),
		Long: `Boilerplate reads all documents of a library and lists the sentences, as the fingerprint scheme cuts them,
that stand in at least --least of them, most first, with the number of documents and one of them. What more
than --common-above documents hold, reports show as common wording without score.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if least < 2 || most < 1 {
				return cli.Usagef("--least %d, --most %d: want at least 2 documents and 1 sentence", least, most)
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				l, err := o.Library(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.boilerplate(cmd.Context(), o, l, site.BoilerplateOptions{Least: least, Most: most})
			})
		}}
	c.Flags().IntVar(&least, "least", 3, "fewest documents that hold a sentence")
	c.Flags().IntVar(&most, "most", 50, "most sentences listed")
	return c
}

func (a *app) boilerplate(ctx context.Context, o *instance.Instance, l store.Library, options site.BoilerplateOptions) error {
	b := a.Progress(int64(l.Documents), "reading")
	options.Progress = b.Set
	found, err := o.Boilerplate(ctx, l.ID, options)
	b.Done()
	if err != nil {
		return err
	}
	for _, x := range found {
		if a.JSON {
			err = a.Line(x)
		} else {
			more := ""
			if x.AtLeast {
				more = "at least "
			}
			a.Say("%s%6d documents  %s\n                  such as %s", more, x.Documents, strings.Join(strings.Fields(x.Text), " "), x.Example)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
