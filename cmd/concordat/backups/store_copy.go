package backups

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/store"
)

// inFile is the name for a store in a file in the site's folder.
const inFile = "file"

func StoreCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "store", Short: "Inspect the site's store, and move it to another database", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var to string
	var filesOnly bool
	move := &cobra.Command{
		Use: "copy --to postgres://USER@HOST/DATABASE|file", Short: "Copy the store and submitted files to an empty database",
		Args: cobra.NoArgs,
		Long: `Copy copies all tables of the store and the submitted files from the SQLite file and the site's
folder to a PostgreSQL database, or, with --to file, back again. The target must be empty. What arrived is read back
and compared. The password comes from store.password_file or $CONCORDAT_STORE_PASSWORD. Stop the site on every
machine first. Nothing is deleted, and the site keeps its old store until store.url in concordat.yaml is
changed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.Locked, func(o *instance.Instance) error { return a.copyStore(cmd.Context(), o, to, filesOnly) })
		},
	}
	move.Flags().StringVar(&to, "to", "", "where to copy the store: the address of a PostgreSQL database, or file")
	move.Flags().BoolVar(&filesOnly, "files-only", false, "copy only the submitted files, after an earlier run has copied the tables")
	status := &cobra.Command{
		Use: "status", Short: "Show the store's database, its size, and risky settings", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.storeStatus(cmd.Context(), o) })
		},
	}
	check := &cobra.Command{
		Use: "check", Short: "Read the whole store and report the first inconsistency", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if err := o.Store.Check(cmd.Context()); err != nil {
					return err
				}
				a.Say("the store is intact")
				return nil
			})
		},
	}
	c.AddCommand(move, status, check)
	return c
}

func (a *commands) storeStatus(ctx context.Context, o *instance.Instance) error {
	e, err := o.Store.Engine(ctx)
	if err != nil {
		return err
	}
	place, _, err := instance.StoreOptions(o.Dir, o.Config)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(struct {
			store.Engine
			Place string `json:"place"`
		}{e, store.Redacted(place)})
	}
	a.Say("%s %s at %s, %d KiB", e.Name, e.Version, store.Redacted(place), e.Bytes>>10)
	for _, w := range e.Warnings {
		a.Say("warning: %s", w)
	}
	return nil
}

// WarnStore warns on stderr about problems with the store's setup.
func WarnStore(ctx context.Context, t *cli.Terminal, o *instance.Instance) error {
	e, err := o.Store.Engine(ctx)
	for _, w := range e.Warnings {
		fmt.Fprintf(t.Stderr, "store.url: %s\n", w)
	}
	return err
}

func (a *commands) copyStore(ctx context.Context, o *instance.Instance, to string, filesOnly bool) (err error) {
	c := *o.Config
	switch {
	case to == inFile && c.Store.URL == "", to != inFile && c.Store.URL != "":
		return cli.Usagef("--to %s: the store is already there, or neither store is a file; a store can be copied from a file to a database, or back",
			store.Redacted(to))
	case to == inFile:
		c.Store.URL = ""
		if _, err := os.Stat(filepath.Join(o.Dir, instance.StoreName)); err == nil && !filesOnly {
			return cli.Usagef("%s already exists: move the file elsewhere first", filepath.Join(o.Dir, instance.StoreName))
		}
	case !store.IsURL(to):
		return cli.Usagef("--to %s: must be file, or an address such as postgres://user@host/database", to)
	default:
		c.Store.URL = to
	}
	db, err := instance.OpenStore(ctx, o.Dir, &c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if !filesOnly {
		if err := a.copyTables(ctx, o.Store, db); err != nil {
			return err
		}
	}
	n, err := copyFiles(ctx, instance.Originals(o.Dir, o.Config, o.Store), instance.Originals(o.Dir, &c, db), o.Config.Extract.MaxInput)
	if err != nil {
		return fmt.Errorf("copied all tables and %d files; run the command with --files-only to continue: %w", n, err)
	}
	if a.JSON {
		return a.Line(map[string]any{"files": n, "store": store.Redacted(to)})
	}
	a.Say("copied %d submitted files", n)
	if to == inFile {
		a.Say("now remove store.url from %s", filepath.Join(o.Dir, instance.ConfigName))
	} else {
		a.Say("now set store.url to %s in %s", store.Redacted(to), filepath.Join(o.Dir, instance.ConfigName))
	}
	return nil
}

func (a *commands) copyTables(ctx context.Context, from, to *store.DB) error {
	var b cli.Bar
	name := ""
	done, err := from.CopyTo(ctx, to, store.Copy{NoFiles: true, Report: func(table string, rows, all int64) {
		if table != name {
			b.Done()
			b, name = a.Progress(all, table), table
		}
		b.Set(int(rows))
	}})
	b.Done()
	if errors.Is(err, concordat.ErrExists) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	var rows int64
	for _, t := range done {
		rows += t.Rows
		if a.JSON {
			if err := a.Line(t); err != nil {
				return err
			}
		}
	}
	a.Say("copied and compared %d rows of %d tables", rows, len(done))
	return nil
}

// copyFiles copies all files in from into to, and returns their number.
func copyFiles(ctx context.Context, from, to *store.Files, limit int64) (n int, err error) {
	err = from.All(ctx, func(hash string) error {
		path, err := from.Fetch(ctx, hash)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		info, err := f.Stat()
		if err != nil {
			return err
		}
		got, _, err := to.Put(ctx, f, max(limit, info.Size()))
		if err == nil && got != hash {
			err = fmt.Errorf("file %s: %w: the content has the hash %s", hash, concordat.ErrCorrupt, got)
		}
		n++
		return err
	})
	return n, err
}
