package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/concordat/clustering"
	"concordat/daemon"
	"concordat/instance"
	"concordat/profile"
	"concordat/store"
)

func (a *app) serveCommand() *cobra.Command {
	var listen, title string
	var noCreate bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the site until interrupted, creating it if necessary",
		Long: `If the folder named by --data is empty or absent, serve first creates a site in it, as init does, with an empty
library, and prints a link that creates the first administrator. All other commands work on that site.

Serve shows the site's pages and runs the checks submitted there. It keeps the index open and answers until it
is interrupted; requests in progress are completed first. Other commands keep working: they reach the index
through the serving process. Stop the site only to change the scheme with concordat reindex.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !noCreate {
				if err := a.createToServe(cmd.Context(), title); err != nil {
					return err
				}
			}
			return a.With(cmd.Context(), instance.Serve, func(o *instance.Instance) error {
				if o.Remote != nil {
					return fmt.Errorf("site %s: %w: the site is already being served", o.Dir, concordat.ErrLocked)
				}
				if listen != "" {
					o.Config.Serve.Listen = listen
					o.Live.Flags = map[string]string{"serve.listen": "--listen"}
				}
				return a.serve(cmd.Context(), o)
			})
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address on which to serve the pages (default: configuration)")
	c.Flags().StringVar(&title, "title", "", "title of the site, if one is created")
	c.Flags().BoolVar(&a.Supervised, "supervised", false,
		"assume that a service manager restarts the process whenever it exits (the default under systemd and in containers)")
	c.Flags().BoolVar(&noCreate, "no-create", false, "fail if there is no site, instead of creating one")
	return c
}

// serve serves the site until ctx ends.
func (a *app) serve(ctx context.Context, o *instance.Instance) error {
	err := daemon.Run(ctx, o, daemon.Options{Log: a.Stderr, Sign: a.Signatures(), Tell: a.Warn,
		Started: func(st instance.Status, first string) (err error) {
			if a.JSON {
				err = a.Line(st)
			} else {
				a.Say("serving site %s at http://%s/", st.Site, st.Listen)
			}
			if first != "" { // a secret, so print it to the terminal, not to the log
				fmt.Fprintf(a.Stderr, "to create the first administrator, open http://%s%s within a day\n", st.Listen, first)
			}
			return err
		}})
	if errors.Is(err, instance.ErrRestart) {
		return &cli.Exit{Code: cli.Restart, Err: err}
	}
	return err
}

// firstLibrary is the first library of a site that serve creates.
const firstLibrary concordat.LibraryID = "documents"

// createToServe creates the site in --data with a first library unless it exists. It refuses a folder with any contents other than the
// beginning of a site.
func (a *app) createToServe(ctx context.Context, title string) error {
	dir, err := a.Dir()
	if err != nil {
		return err
	}
	if held, err := instance.HoldsSite(ctx, dir); held || err != nil {
		return err
	}
	if c, err := instance.LoadConfig(filepath.Join(dir, instance.ConfigName)); err == nil && c.Cluster.Coordinator != "" {
		// A node never creates a site; it always belongs to an existing one.
		if c.Store.URL == "" {
			return cli.Usagef("%s is the folder of node %s of site %s, and has no store: %s", dir, c.Cluster.Node, c.Site.ID,
				clustering.FileStoreAdvice(instance.StoreName))
		}
		return cli.Usagef("%s is the folder of node %s of site %s, but the database at %s has no site: store.url differs from that of the other nodes, or the database was emptied",
			dir, c.Cluster.Node, c.Site.ID, store.Redacted(c.Store.URL))
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case instance.ConfigName, instance.IndexKeyName, instance.ConfigName + ".new", instance.IndexKeyName + ".new", "lost+found":
		default:
			if instance.HoldsPart(dir) {
				return instance.AbsentSite(dir)
			}
			return cli.Usagef("%s contains no site and is not empty (it contains %s): name another folder with --data, or empty this folder", dir, e.Name())
		}
	}
	if _, err := instance.Create(ctx, dir, instance.RandomSite(), title, profile.Natural, "", false); err != nil {
		return fmt.Errorf("cannot create a site in %s: %w", dir, err)
	}
	err = a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		err := o.Store.Catalogue.CreateLibrary(ctx, store.Library{ID: firstLibrary, Title: "Documents", Created: time.Now()})
		if errors.Is(err, concordat.ErrExists) {
			err = nil
		}
		if err == nil {
			a.Say("created site %s in %s, with an empty library named %s", o.Site.ID(), dir, firstLibrary)
		}
		return err
	})
	return err
}
