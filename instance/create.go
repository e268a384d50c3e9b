package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"concordat"
	"concordat/profile"
	"concordat/store"
)

// Create creates a site in dir. It uses an existing configuration and the files of an interrupted run without changing them. It creates
// the store last, which turns the folder into a site.
func Create(ctx context.Context, dir, id, title, scheme, database string, public bool) (*profile.Profiler, error) {
	var key []byte
	if !public {
		key = make([]byte, indexKeyBytes)
		_, _ = rand.Read(key) // cannot fail
	}
	if _, err := profile.New(profile.Options{Recipe: scheme, Key: key}); err != nil {
		return nil, Usage(err)
	}
	_, err := os.Stat(dir)
	absent := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, ConfigName)
	wrote, err := WriteNew(path, initialConfig(id, title, scheme, database))
	if err != nil {
		return nil, err
	}
	c, err := LoadConfig(path)
	if err != nil { // for example an identity that the configuration rejects
		if wrote {
			err = errors.Join(err, os.Remove(path))
		}
		if absent {
			err = errors.Join(err, os.Remove(dir))
		}
		return nil, err
	}
	if key != nil {
		if _, err := WriteNew(filepath.Join(dir, IndexKeyName), key); err != nil {
			return nil, err
		}
		if key, err = ReadIndexKey(dir); err != nil {
			return nil, err
		}
	}
	p, err := profile.New(profile.Options{Recipe: c.Scheme, Key: key})
	if err != nil {
		return nil, Usage(err)
	}
	db, err := OpenStore(ctx, dir, c)
	if err != nil {
		return nil, err
	}
	if err := vacant(ctx, db, c.Site.ID, p.Scheme()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return p, errors.Join(db.SetSetting(ctx, "site", string(c.Site.ID)), db.SetSetting(ctx, "scheme", string(p.Scheme())), db.Close())
}

// RandomSite returns a random site identity.
func RandomSite() string { return "site-" + strings.ToLower(rand.Text()[:8]) }

// vacant returns an error if the store belongs to another site or its fingerprints use a different key.
func vacant(ctx context.Context, db *store.DB, id concordat.SiteID, scheme concordat.Scheme) error {
	for _, s := range [][2]string{{siteSetting, string(id)}, {"scheme", string(scheme)}} {
		held, err := db.Setting(ctx, s[0])
		switch {
		case err == nil && held != s[1]:
			return Usagef("the database already contains a site: %s is %s, not %s", s[0], held, s[1])
		case err != nil && !errors.Is(err, concordat.ErrNotFound):
			return err
		}
	}
	return nil
}

// HoldsSite reports whether dir contains a site, wherever its store is.
func HoldsSite(ctx context.Context, dir string) (bool, error) {
	path := filepath.Join(dir, ConfigName)
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c, err := LoadConfig(path)
	if err != nil {
		return false, err
	}
	if c.Store.URL == "" {
		_, err := os.Stat(filepath.Join(dir, StoreName))
		return err == nil, nil
	}
	db, err := OpenStore(ctx, dir, c)
	if err != nil {
		return false, err
	}
	held, err := db.Setting(ctx, siteSetting)
	if errors.Is(err, concordat.ErrNotFound) {
		err = nil
	}
	return held == string(c.Site.ID), errors.Join(err, db.Close())
}

// storeLines returns the lines of the configuration file that specify a database.
func storeLines(database string) string {
	if database == "" {
		return ""
	}
	return fmt.Sprintf("store:\n  url: %q\n", strings.ReplaceAll(database, "%", "%%"))
}
