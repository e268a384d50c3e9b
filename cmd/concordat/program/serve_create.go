package program

import (
	"concordat/cmd/concordat/clustering"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/profile"
	"concordat/store"
)

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
