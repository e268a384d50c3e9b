package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/instance"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
)

func (a *app) initCommand() *cobra.Command {
	var id, title, scheme, database string
	var public bool
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a site in an empty or absent folder",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if a.Data != "" && a.Data != args[0] {
					return cli.Usagef("init %s contradicts --data %s", args[0], a.Data)
				}
				a.Data = args[0]
			}
			return a.initSite(cmd.Context(), id, title, scheme, database, public)
		},
	}
	c.Flags().StringVar(&id, "site", "", "identity of the site (default: random)")
	c.Flags().StringVar(&title, "title", "", "name of the site for people")
	c.Flags().StringVar(&database, "store", "", "keep the store in a PostgreSQL database, such as postgres://concordat@db.example.edu/concordat (default: a file in the folder)")
	c.Flags().BoolVar(&public, "public", false, "make fingerprints without a key of the site's own, as another implementation would")
	c.Flags().StringVar(&scheme, "scheme", profile.Natural, "fingerprint scheme: "+strings.Join(profile.Names(), ", "))
	return c
}

// siteName is the form of a site's identity, as the configuration wants it.
var siteName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

func (a *app) initSite(ctx context.Context, id, title, scheme, database string, public bool) error {
	dir, err := a.Dir()
	if err != nil {
		return err
	}
	if id == "" {
		id = instance.RandomSite()
	}
	if !siteName.MatchString(id) {
		return cli.Usagef("--site %q: want lower-case letters, digits and . _ - after the first, at most 63", id)
	}
	entries, err := os.ReadDir(dir)
	absent := errors.Is(err, os.ErrNotExist)
	if err != nil && !absent {
		return err
	}
	if len(entries) > 0 {
		return cli.Usagef("%s is not empty: a site needs a folder of its own", dir)
	}
	p, err := instance.Create(ctx, dir, id, title, scheme, database, public)
	if _, made := os.Stat(filepath.Join(dir, instance.StoreName)); err != nil && errors.Is(made, os.ErrNotExist) {
		for _, name := range []string{instance.ConfigName, instance.IndexKeyName} { // the folder was empty
			_ = os.Remove(filepath.Join(dir, name))
		}
		if absent {
			_ = os.Remove(dir)
		}
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"site": id, "dir": dir, "scheme": p.Scheme()})
	}
	a.Say("site %s is in %s", id, dir)
	return nil
}

func (a *app) libraryCommand() *cobra.Command {
	c := &cobra.Command{Use: "library", Short: "Create, list, change and delete collections of documents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var title string
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a library", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := site.CheckName(args[0]); err != nil {
				return cli.Usage(err)
			}
			if strings.Contains(args[0], "/") {
				return cli.Usagef("library name %s: must not hold a /, which stands between a library and a document", args[0])
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l := store.Library{ID: concordat.LibraryID(args[0]), Title: title, Created: time.Now()}
				if err := o.Store.CreateLibrary(cmd.Context(), l); err != nil {
					if errors.Is(err, concordat.ErrExists) {
						return cli.Usagef("library %s exists already", args[0])
					}
					return err
				}
				return a.showLibrary(cmd.Context(), o, l.ID)
			})
		},
	}
	create.Flags().StringVar(&title, "title", "", "name for people")
	list := &cobra.Command{
		Use: "list", Short: "List the libraries", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				ls, err := o.Store.Libraries(cmd.Context())
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

func (a *app) librarySet() *cobra.Command {
	var f libraryFlags
	c := &cobra.Command{
		Use: "set NAME", Short: "Change a library's title and policy", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l, err := o.Library(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if err := f.set(cmd.Flags(), o, &l); err != nil {
					return err
				}
				if err := o.Store.UpdateLibrary(cmd.Context(), l); err != nil {
					return err
				}
				return a.showLibrary(cmd.Context(), o, l.ID)
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.title, "title", "", "name for people")
	fl.IntVar(&f.keepDays, "keep-days", 0, "days after which a document is deleted for good; 0: never")
	fl.StringVar(&f.embargo, "embargo", "", "date (YYYY-MM-DD) before which partners get no answer; empty: none")
	fl.StringVar(&f.expires, "expires", "", "date (YYYY-MM-DD) from which it is no longer searched; empty: never")
	fl.StringVar(&f.forward, "forward", "", "what checks of it ask partners about: unmatched, all or none; empty: as the site is set")
	fl.StringVar(&f.template, "template", "", "section template of its documents, and of what is checked against it alone; empty: none")
	return c
}

// libraryFlags are the title and the policy of a library.
type libraryFlags struct {
	title, embargo, expires, forward, template string
	keepDays                                   int
}

// set changes what was named.
func (f *libraryFlags) set(fl *pflag.FlagSet, o *instance.Instance, l *store.Library) (err error) {
	p := &l.Policy
	for name, change := range map[string]func(){
		"title":     func() { l.Title = f.title },
		"keep-days": func() { p.KeepDays = f.keepDays },
		"forward":   func() { p.Forward = f.forward },
		"template":  func() { p.Template = f.template },
	} {
		if fl.Changed(name) {
			change()
		}
	}
	if fl.Changed("embargo") {
		if p.Embargo, err = parseDate(f.embargo); err != nil {
			return err
		}
	}
	if fl.Changed("expires") {
		if p.Expires, err = parseDate(f.expires); err != nil {
			return err
		}
	}
	if _, err := o.Template(p.Template); fl.Changed("template") && err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return cli.Usage(err)
	}
	return nil
}

func parseDate(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, time.Local)
	if err != nil {
		return t, cli.Usagef("date %q: want YYYY-MM-DD", s)
	}
	return t, nil
}

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
				err = o.DeleteLibrary(cmd.Context(), l.ID, b.Set)
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
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be deleted")
	return c
}

func (a *app) showLibrary(ctx context.Context, o *instance.Instance, id concordat.LibraryID) error {
	l, err := o.Store.Library(ctx, id)
	if err != nil {
		return err
	}
	return a.printLibrary(o, l)
}

func (a *app) printLibrary(o *instance.Instance, l store.Library) error {
	if a.JSON {
		return a.Line(map[string]any{"library": l.ID, "title": l.Title, "documents": l.Documents, "created": l.Created, "policy": l.Policy})
	}
	extra := ""
	if !l.Policy.Embargo.IsZero() {
		extra += "  embargo until " + l.Policy.Embargo.Local().Format(time.DateOnly)
	}
	if !l.Policy.Expires.IsZero() {
		extra += "  expires " + l.Policy.Expires.Local().Format(time.DateOnly)
	}
	if l.Policy.Central > 0 {
		extra += fmt.Sprintf("  policy of the cluster, version %d", l.Policy.Central)
	}
	if l.Policy.Template != "" {
		extra += "  template " + l.Policy.Template
	}
	if l.Policy.Forward != "" {
		extra += "  asks partners about " + l.Policy.Forward
	}
	a.Say("%s", fmt.Sprintf("%-20s %8d documents  %s%s", l.ID, l.Documents, l.Title, extra))
	return nil
}
