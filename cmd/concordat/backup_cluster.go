package main

import (
	"context"
	"errors"
	"path/filepath"

	"concordat/instance"
	"concordat/instance/backup"
	"concordat/store"
)

// What a backup of a site of several machines does otherwise: the index is that of all shards, wherever their
// masters are, and lies below the folder of a node's copies, so that a machine that is restored from it holds them all.

// addOriginals adds the files that were handed in, from the folder or from the database.
func addOriginals(ctx context.Context, o *instance.Instance, m *backup.Making) (damaged []string, err error) {
	if o.Config.Store.URL == "" {
		return m.AddOriginals(ctx, filepath.Join(o.Dir, instance.OriginalsName))
	}
	files := o.Originals()
	err = files.All(ctx, func(hash string) error {
		path, err := files.Fetch(ctx, hash)
		if err != nil {
			return err
		}
		whole, err := m.AddOriginal(path)
		if err == nil && !whole {
			damaged = append(damaged, hash)
		}
		return err
	})
	return damaged, err
}

// dropKeys takes the keystore that the nodes of a site share out of the copy of their store, with its bytes.
func dropKeys(ctx context.Context, path string) (err error) {
	db, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if version, err := db.KeystoreVersion(ctx); err != nil || version == 0 {
		return err
	}
	if err := db.DropKeystore(ctx); err != nil {
		return err
	}
	_, err = db.Purge(ctx, true)
	return err
}

// addNamed adds the files in the folder of the site that its configuration names, for example those that a
// node got when it joined, under the names that they have on such a one.
func addNamed(o *instance.Instance, m *backup.Making) error {
	for _, f := range o.Config.Files() {
		path := f.Path
		if !filepath.IsAbs(path) && f.Key == "store.password_file" {
			path = filepath.Join(o.Dir, path)
		}
		if rel, err := filepath.Rel(o.Dir, path); err != nil || !filepath.IsLocal(rel) {
			continue // kept elsewhere on purpose
		}
		if _, err := m.AddFile(path, f.Name); err != nil {
			return err
		}
	}
	return nil
}
