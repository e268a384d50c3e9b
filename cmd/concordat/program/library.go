package program

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/people"
	"concordat/site"
	"concordat/store"
	"concordat/view"
)

// libraries contains the commands about libraries and their templates.
type libraries struct{ *cli.Site }

// command returns the command "concordat library".
func (a libraries) command() *cobra.Command {
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
				return a.show(cmd.Context(), o, l.ID)
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
					if err := a.print(o, l); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.AddCommand(create, list, a.set(), a.remove(), a.template(), a.boilerplateCommand())
	return c
}

func (a libraries) set() *cobra.Command {
	var f libraryFlags
	c := &cobra.Command{
		Use: "set NAME", Short: "Change a library's title and policy", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l, err := instance.Library(cmd.Context(), o.Store, args[0])
				if err != nil {
					return err
				}
				if err := f.set(cmd.Flags(), o, &l); err != nil {
					return err
				}
				if err := o.Store.Catalogue.UpdateLibrary(cmd.Context(), l); err != nil {
					return err
				}
				return a.show(cmd.Context(), o, l.ID)
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.title, "title", "", "display name of the library")
	fl.IntVar(&f.keepDays, "keep-days", 0, "days after which a document is deleted permanently; 0: never")
	fl.StringVar(&f.embargo, "embargo", "", "date (YYYY-MM-DD) before which partners get no answers from the library; empty: none")
	fl.StringVar(&f.expires, "expires", "", "date (YYYY-MM-DD) from which the library is no longer searched; empty: never")
	fl.StringVar(&f.forward, "forward", "", "sentences to ask partners about in checks against the library: unmatched, all or none; empty: the site's setting")
	fl.StringVar(&f.template, "template", "", "section template for documents of the library, and for submissions checked only against it; empty: none")
	fl.StringVar(&f.meaning, "meaning", "",
		"index the library's documents by meaning: on (if meaning.index is on) or off; concordat reindex applies this to existing documents")
	c.RegisterFlagCompletionFunc("meaning", cobra.FixedCompletions([]string{"on", store.MeaningOff}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// libraryFlags contains the title and policy of a library.
type libraryFlags struct {
	title, embargo, expires, forward, template, meaning string
	keepDays                                            int
}

// set changes the values for which flags are given.
func (f *libraryFlags) set(fl *pflag.FlagSet, o *instance.Instance, l *store.Library) (err error) {
	p := &l.Policy
	for name, change := range map[string]func(){
		"keep-days": func() { p.KeepDays = f.keepDays },
		"forward":   func() { p.Forward = f.forward },
		"template":  func() { p.Template = f.template },
		"meaning": func() {
			if p.Meaning = f.meaning; f.meaning == "on" {
				p.Meaning = ""
			}
		},
	} {
		if fl.Changed(name) {
			change()
		}
	}
	if fl.Changed("title") {
		if l.Title, err = people.Title(f.title); err != nil {
			return cli.Usage(err)
		}
	}
	if fl.Changed("embargo") {
		if p.Embargo, err = cli.ParseDate(f.embargo); err != nil {
			return err
		}
	}
	if fl.Changed("expires") {
		if p.Expires, err = cli.ParseDate(f.expires); err != nil {
			return err
		}
	}
	if _, err := instance.Template(o.Live.Now(), p.Template); fl.Changed("template") && err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// wording returns the text of a template file in any format.
func wording(ctx context.Context, o *instance.Instance, path string) (string, error) {
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
		return "", cli.Usagef("template %s: text is %d bytes long, but must be between 1 and %d", path, len(text), store.MaxTemplate)
	}
	return text, nil
}

func (a libraries) template() *cobra.Command {
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
					text, err := wording(cmd.Context(), o, path)
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
func (a libraries) withLibrary(ctx context.Context, name string, f func(*instance.Instance, store.Library) error) error {
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		l, err := instance.Library(ctx, o.Store, name)
		if err != nil {
			return err
		}
		return f(o, l)
	})
}

func (a libraries) showTemplates(ctx context.Context, o *instance.Instance, lib concordat.LibraryID, names []string) error {
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

func (a libraries) printTemplate(t store.Template, text bool) error {
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

func (a libraries) boilerplateCommand() *cobra.Command {
	var least, most int
	c := &cobra.Command{Use: "boilerplate LIBRARY", Short: "List sentences that occur in many documents of a library",
		Args: cobra.ExactArgs(1),
		Long: `Boilerplate lists sentences that at least --least documents of a library contain, as the fingerprint scheme
divides them, most frequent first, with the number of documents and one example. Reports show wording found in
more than --common-above documents as common wording, which does not count.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if least < 2 || most < 1 {
				return cli.Usagef("--least %d, --most %d: --least must be at least 2, and --most at least 1", least, most)
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				l, err := instance.Library(cmd.Context(), o.Store, args[0])
				if err != nil {
					return err
				}
				return a.boilerplate(cmd.Context(), o, l, site.BoilerplateOptions{Least: least, Most: most})
			})
		}}
	c.Flags().IntVar(&least, "least", 3, "minimum number of documents that contain a sentence")
	c.Flags().IntVar(&most, "most", 50, "maximum number of sentences")
	return c
}

func (a libraries) boilerplate(ctx context.Context, o *instance.Instance, l store.Library, options site.BoilerplateOptions) error {
	b := a.Progress(int64(l.Documents), "reading")
	options.Progress = b.Set
	found, err := o.Site.Boilerplate(ctx, l.ID, options)
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
			a.Say("%s%6d documents  %s\n                  for example: %s", more, x.Documents, strings.Join(strings.Fields(x.Text), " "), x.Example)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a libraries) remove() *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use: "delete NAME", Short: "Delete a library with all its documents", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				l, err := instance.Library(cmd.Context(), o.Store, args[0])
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

func (a libraries) show(ctx context.Context, o *instance.Instance, id concordat.LibraryID) error {
	l, err := o.Store.Catalogue.Library(ctx, id)
	if err != nil {
		return err
	}
	return a.print(o, l)
}

func (a libraries) print(o *instance.Instance, l store.Library) error {
	if a.JSON {
		return a.Line(view.OfLibrary(l))
	}
	extra := ""
	if !l.Policy.Embargo.IsZero() {
		extra += "  embargo until " + l.Policy.Embargo.Local().Format(time.DateOnly)
	}
	if !l.Policy.Expires.IsZero() {
		extra += "  expires " + l.Policy.Expires.Local().Format(time.DateOnly)
	}
	if l.Policy.Central > 0 {
		extra += fmt.Sprintf("  cluster policy version %d", l.Policy.Central)
	}
	if l.Policy.Template != "" {
		extra += "  template " + l.Policy.Template
	}
	if l.Policy.Meaning == store.MeaningOff {
		extra += "  not indexed by meaning"
	}
	if l.Policy.Forward != "" {
		extra += "  asks partners about " + l.Policy.Forward
	}
	a.Say("%s", fmt.Sprintf("%-20s %8d documents  %s%s", l.ID, l.Documents, l.Title, extra))
	return nil
}
