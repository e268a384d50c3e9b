package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cmd/internal/cli"
	"concordat/config"
	"concordat/store"
)

// siteSetting is where a store says whose it is.
const siteSetting = "site"

// siteConfig returns the configuration of the site in dir, or fails where it holds none.
func siteConfig(dir string) (*config.Config, error) {
	missing := func() error {
		return cli.Usagef("%s holds no site: make one with concordat init %s, or name another with --data", dir, dir)
	}
	path := filepath.Join(dir, configName)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, missing()
	}
	c, err := loadConfig(path)
	if err != nil || c.Store.URL != "" {
		return c, err
	}
	if _, err := os.Stat(filepath.Join(dir, storeName)); errors.Is(err, os.ErrNotExist) {
		return nil, missing()
	}
	return c, nil
}

// storeOptions returns the place of the store of a configuration and how it is opened.
func storeOptions(dir string, c *config.Config) (place string, o store.Options, err error) {
	if c.Store.URL == "" {
		return filepath.Join(dir, storeName), o, nil
	}
	o.Password, err = databasePassword(dir, c)
	return c.Store.URL, o, err
}

// mostPassword bounds the file of a password, in bytes.
const mostPassword = 4096

func databasePassword(dir string, c *config.Config) (string, error) {
	if c.Store.Password != "" || c.Store.PasswordFile == "" {
		return c.Store.Password.Reveal(), nil
	}
	path := c.Store.PasswordFile
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", cli.Usagef("store.password_file: %w", err)
	}
	if info.Size() > mostPassword || info.Mode().Perm()&0o077 != 0 {
		return "", cli.Usagef("store.password_file %s: want at most %d bytes, for its owner only (chmod 600)", path, mostPassword)
	}
	b, err := os.ReadFile(path)
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSuffix(line, "\r"), err
}

// openStore opens the store of the site in dir.
func openStore(ctx context.Context, dir string, c *config.Config) (*store.DB, error) {
	place, o, err := storeOptions(dir, c)
	if err != nil {
		return nil, err
	}
	return o.Open(ctx, place)
}

// checkStore refuses a database that is another site's: a file lies beside its configuration, an address
// may be mistaken.
func (o *opened) checkStore(ctx context.Context) error {
	if o.config.Store.URL == "" {
		return nil
	}
	id, err := o.store.Setting(ctx, siteSetting)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		return cli.Usagef("%s holds no site: make one with concordat init --store, or fill it with concordat store copy", store.Redacted(o.config.Store.URL))
	case err == nil && id != string(o.config.Site.ID):
		return cli.Usagef("%s is the store of site %s, not of %s", store.Redacted(o.config.Store.URL), id, o.config.Site.ID)
	}
	return err
}

// vacant refuses a store that is another site's, or whose fingerprints were made with another key.
func vacant(ctx context.Context, db *store.DB, id concordat.SiteID, scheme concordat.Scheme) error {
	for _, s := range [][2]string{{siteSetting, string(id)}, {"scheme", string(scheme)}} {
		held, err := db.Setting(ctx, s[0])
		switch {
		case err == nil && held != s[1]:
			return cli.Usagef("the database is a site's already: its %s is %s, not %s", s[0], held, s[1])
		case err != nil && !errors.Is(err, concordat.ErrNotFound):
			return err
		}
	}
	return nil
}

// holdsSite reports whether there is a site in dir, with its store wherever that is.
func holdsSite(ctx context.Context, dir string) (bool, error) {
	path := filepath.Join(dir, configName)
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c, err := loadConfig(path)
	if err != nil {
		return false, err
	}
	if c.Store.URL == "" {
		_, err := os.Stat(filepath.Join(dir, storeName))
		return err == nil, nil
	}
	db, err := openStore(ctx, dir, c)
	if err != nil {
		return false, err
	}
	held, err := db.Setting(ctx, siteSetting)
	if errors.Is(err, concordat.ErrNotFound) {
		err = nil
	}
	return held == string(c.Site.ID), errors.Join(err, db.Close())
}

// files returns where the site keeps what was handed in: beside a store in a file, within one in a
// database, so that all machines of the site have them.
func (o *opened) files() *store.Files {
	dir := filepath.Join(o.dir, originalsName)
	if o.config.Store.URL == "" {
		return store.OpenFiles(dir)
	}
	return o.store.Files(dir)
}

// worker names this process among those that take checks from one queue; empty: it is the only one.
func (o *opened) worker() string {
	if o.clustered() {
		return nodeWorker(coord.NodeID(o.config.Cluster.Node))
	}
	if o.config.Store.URL == "" {
		return ""
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("serve %s:%s", host, o.dir)
}

// nodeWorker names the serving process of a node.
func nodeWorker(id coord.NodeID) string { return "node " + string(id) }

// storeLines are those of the configuration file that name a database.
func storeLines(database string) string {
	if database == "" {
		return ""
	}
	return fmt.Sprintf("store:\n  url: %q\n", strings.ReplaceAll(database, "%", "%%"))
}
