package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/profile"
	"concordat/store"
)

// firstLibrary is what a site that serve creates begins with.
const firstLibrary concordat.LibraryID = "documents"

// makeSite makes a site in dir. What an interrupted run left there, and a configuration that was put
// there beforehand, is taken as it is: the store comes last, and with it the folder holds a site.
func makeSite(ctx context.Context, dir, id, title, scheme, database string, public bool) (*profile.Profiler, error) {
	var key []byte
	if !public {
		key = make([]byte, indexKeyBytes)
		_, _ = rand.Read(key) // never fails
	}
	if _, err := profile.New(profile.Options{Recipe: scheme, Key: key}); err != nil {
		return nil, cli.Usage(err)
	}
	_, err := os.Stat(dir)
	absent := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, configName)
	wrote, err := writeNew(path, initialConfig(id, title, scheme, database))
	if err != nil {
		return nil, err
	}
	c, err := loadConfig(path)
	if err != nil { // such as an identity that configuration refuses
		if wrote {
			err = errors.Join(err, os.Remove(path))
		}
		if absent {
			err = errors.Join(err, os.Remove(dir))
		}
		return nil, err
	}
	if key != nil {
		if _, err := writeNew(filepath.Join(dir, indexKeyName), key); err != nil {
			return nil, err
		}
		if key, err = readIndexKey(dir); err != nil {
			return nil, err
		}
	}
	p, err := profile.New(profile.Options{Recipe: c.Scheme, Key: key})
	if err != nil {
		return nil, cli.Usage(err)
	}
	db, err := openStore(ctx, dir, c)
	if err != nil {
		return nil, err
	}
	if err := vacant(ctx, db, c.Site.ID, p.Scheme()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return p, errors.Join(db.SetSetting(ctx, "site", string(c.Site.ID)), db.SetSetting(ctx, "scheme", string(p.Scheme())), db.Close())
}

// writeNew writes a file whole, unless there is one of that name; it reports whether it did.
func writeNew(path string, content []byte) (bool, error) {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, content, 0o600); err != nil {
		return false, errors.Join(err, os.Remove(tmp))
	}
	return true, os.Rename(tmp, path)
}

// createToServe makes the site of --data where there is none, with a first library. A folder that holds
// anything but the beginning of a site is refused.
func (a *app) createToServe(ctx context.Context, title string) error {
	dir, err := a.dir()
	if err != nil {
		return err
	}
	if held, err := holdsSite(ctx, dir); held || err != nil {
		return err
	}
	if c, err := loadConfig(filepath.Join(dir, configName)); err == nil && c.Cluster.Coordinator != "" {
		// A node never makes a site: it belongs to one that is there.
		if c.Store.URL == "" {
			return cli.Usagef("%s is the folder of node %s of site %s, and has no store: %s", dir, c.Cluster.Node, c.Site.ID, fileStoreAdvice(storeName))
		}
		return cli.Usagef("%s is the folder of node %s of site %s, but the database at %s has no site: store.url names another one than the other nodes', or it was emptied",
			dir, c.Cluster.Node, c.Site.ID, store.Redacted(c.Store.URL))
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case configName, indexKeyName, configName + ".new", indexKeyName + ".new", "lost+found":
		default:
			return cli.Usagef("%s holds no site and is not empty (%s): name another folder with --data, or empty this one", dir, e.Name())
		}
	}
	if _, err := makeSite(ctx, dir, randomSite(), title, profile.Natural, "", false); err != nil {
		return fmt.Errorf("create a site in %s: %w", dir, err)
	}
	err = a.with(ctx, storeOnly, func(o *opened) error {
		err := o.store.CreateLibrary(ctx, store.Library{ID: firstLibrary, Title: "Documents", Created: time.Now()})
		if errors.Is(err, concordat.ErrExists) {
			err = nil
		}
		if err == nil {
			a.Say("made site %s in %s, with an empty library %s", o.ID(), dir, firstLibrary)
		}
		return err
	})
	return err
}

// randomSite returns an identity for a site that was given none.
func randomSite() string { return "site-" + strings.ToLower(rand.Text()[:8]) }

// listenAt listens, and says of a failure what can be done about it.
func listenAt(key, flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	how := fmt.Sprintf("set %s in %s", key, configName)
	if flag != "" {
		how = fmt.Sprintf("give another with %s, or %s", flag, how)
	}
	_, port, _ := net.SplitHostPort(address) // the configuration has checked its form
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("%s: %s is in use by another program, perhaps by another site: stop it, or %s (port 0 takes any that is free)", key, address, how)}
	case errors.Is(err, syscall.EACCES):
		return nil, &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("%s: this user may not listen at port %s: choose one above 1023; %s", key, port, how)}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("%s: this machine has no address %s: %s", key, address, how)}
	}
	return nil, fmt.Errorf("%s: %w; %s", key, err, how)
}
