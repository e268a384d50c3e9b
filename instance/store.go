package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"concordat"
	"concordat/cluster/coord"
	"concordat/instance/config"
	"concordat/store"
)

// siteSetting is the setting with the identity of the store's site.
const siteSetting = "site"

// StoreOptions returns the configured location of the store and the options for opening it.
func StoreOptions(dir string, c *config.Config) (place string, o store.Options, err error) {
	if c.Store.URL == "" {
		return filepath.Join(dir, StoreName), o, nil
	}
	o.Password, err = databasePassword(dir, c)
	return c.Store.URL, o, err
}

// maxPassword is the maximum size of a password file in bytes.
const maxPassword = 4096

func databasePassword(dir string, c *config.Config) (string, error) {
	if c.Store.Password != "" || c.Store.PasswordFile == "" {
		return c.Store.Password.Reveal(), nil
	}
	return secretLine(dir, "store.password_file", c.Store.PasswordFile)
}

// secretLine returns the first line of the file that a key names; a relative path starts at the site's folder.
func secretLine(dir, key, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", Usagef("%s: %w", key, err)
	}
	if info.Size() > maxPassword || info.Mode().Perm()&0o077 != 0 {
		return "", Usagef("%s: %s must be at most %d bytes and readable only by its owner (chmod 600)", key, path, maxPassword)
	}
	b, err := os.ReadFile(path)
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSuffix(line, "\r"), err
}

// OpenStore opens the store of the site in dir.
func OpenStore(ctx context.Context, dir string, c *config.Config) (*store.DB, error) {
	place, o, err := StoreOptions(dir, c)
	if err != nil {
		return nil, err
	}
	return o.Open(ctx, place)
}

// checkStore refuses a database that belongs to another site. A file is always next to its configuration, but an address can be wrong.
func (o *Instance) checkStore(ctx context.Context) error {
	if o.Config.Store.URL == "" {
		return nil
	}
	id, err := o.Store.Setting(ctx, siteSetting)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		return Usagef("database %s contains no site: create one with concordat init --store, or copy a site into the database with concordat store copy",
			store.Redacted(o.Config.Store.URL))
	case err == nil && id != string(o.Config.Site.ID):
		return Usagef("database %s belongs to site %s, not to %s", store.Redacted(o.Config.Store.URL), id, o.Config.Site.ID)
	}
	return err
}

// Originals returns where the site in dir stores submitted files: next to a store that is a file, or inside a store that is a database, so
// that all the site's machines have them.
func Originals(dir string, c *config.Config, db *store.DB) *store.Files {
	dir = filepath.Join(dir, OriginalsName)
	if c.Store.URL == "" {
		return store.OpenFiles(dir)
	}
	return db.Files(dir)
}

// Worker returns this process's name among the processes that take checks from one queue, or "" if it is the only one.
func (o *Instance) Worker() string {
	if o.Config.Clustered() {
		return NodeWorker(coord.NodeID(o.Config.Cluster.Node))
	}
	if o.Config.Store.URL == "" {
		return ""
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("serve %s:%s", host, o.Dir)
}

// NodeWorker returns the worker name of a node's serving process.
func NodeWorker(id coord.NodeID) string { return "node " + string(id) }

// OriginalsName is the folder of submitted files.
const OriginalsName = "originals"
