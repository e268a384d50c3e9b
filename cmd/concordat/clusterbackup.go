package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat/backup"
	"concordat/cluster"
	"concordat/store"
)

// What a backup of a site of several machines does otherwise: the index is that of all shards, wherever their
// masters are, and lies below the folder of a node's copies, so that a machine that is restored from it holds them all.

// copyClusterState is copyState of a site of several machines, in the process that serves one of them.
func (o *opened) copyClusterState(ctx context.Context, to string) (t snapshotTaken, err error) {
	t = snapshotTaken{Site: o.ID(), Scheme: o.Scheme()}
	path := filepath.Join(to, storeName)
	// The store is copied beside the shards: a database ends a transaction that does nothing for long.
	var g errgroup.Group
	if err := os.MkdirAll(filepath.Join(to, indexName), 0o700); err != nil {
		return t, err
	}
	shards, err := o.node.CopyAll(ctx, filepath.Join(to, indexName, nodeDirName), func(context.Context) error {
		state, err := o.store.Snapshot(ctx)
		if err != nil {
			return err
		}
		t.Made = time.Now().UTC()
		g.Go(func() error { return errors.Join(state.CopyTo(ctx, path), state.Close()) })
		return nil
	})
	if err = errors.Join(err, g.Wait()); err != nil {
		return t, err
	}
	for _, s := range shards {
		t.Sentences += s.Sentences
	}
	t.Shards = len(shards)
	return t, t.readCopy(ctx, path)
}

// addOriginals adds the files that were handed in, from the folder or from the database.
func addOriginals(ctx context.Context, o *opened, m *backup.Making) (damaged []string, err error) {
	if o.config.Store.URL == "" {
		return m.AddOriginals(ctx, filepath.Join(o.dir, originalsName))
	}
	files := o.files()
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

// holdsShards reports whether the index in dir is that of a node: of a machine that is one, or that was
// restored and is none yet.
func holdsShards(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, indexName, nodeDirName, string(cluster.ShardName(0))))
	return err == nil
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

// addNamed adds the files in the folder of the site that its configuration names, such as those that a
// node got when it joined, under the names that they have on such a one.
func addNamed(o *opened, m *backup.Making) error {
	for _, f := range o.config.Files() {
		path := f.Path
		if !filepath.IsAbs(path) && f.Key == "store.password_file" {
			path = filepath.Join(o.dir, path)
		}
		if rel, err := filepath.Rel(o.dir, path); err != nil || !filepath.IsLocal(rel) {
			continue // kept elsewhere on purpose
		}
		if _, err := m.AddFile(path, f.Name); err != nil {
			return err
		}
	}
	return nil
}
