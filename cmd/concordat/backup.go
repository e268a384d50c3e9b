package main

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
	"concordat/instance"
	"concordat/instance/backup"
)

func (a *app) backupCommand() *cobra.Command {
	var withoutKeys bool
	c := &cobra.Command{
		Use: "backup DIR", Short: "Copy the site, served or not, as of one moment into a folder", Args: cobra.ExactArgs(1),
		Long: `Backup copies the store, the index, the originals, the configuration and the keys into DIR, which is
empty, absent, or holds an earlier backup: that one is replaced when the new one is whole, and originals that it has
are not copied again. While the site is served, the serving process writes the store and the index, and people go on
working. What is cut short leaves the earlier backup as it was, and the same command begins again.

Of a site of several machines it copies all shards, from their masters, and the store, as of one moment at which no
write is under way on any of them; it runs on any machine that is served. What makes a machine a node (its name, its
certificate, its place in ZooKeeper) is left out: nobody can be that machine twice.

A store in a database is copied into a file; the server's own tools are not needed.

A backup is as secret as the site: it has its texts and, unless --without-keys is given, the keys that are the site
to its partners. Mirrors of partners' libraries are not in it: concordat mirror sync fetches them again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.backup(cmd.Context(), args[0], withoutKeys)
		},
	}
	c.Flags().BoolVar(&withoutKeys, "without-keys", false, "leave out "+instance.KeystoreName+", "+instance.KeyFileName+", "+instance.IndexKeyName+" and other secrets: keep them elsewhere, or the backup is of no use")
	c.AddCommand(&cobra.Command{
		Use: "verify DIR", Short: "Read a whole backup and compare every byte with its list", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.verifyBackup(cmd.Context(), args[0]) },
	}, &cobra.Command{
		Use: "show DIR", Short: "Tell of what a backup is", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := backup.Open(args[0])
			if err != nil {
				return err
			}
			return a.tellBackup(args[0], &b.Manifest)
		},
	})
	return c
}

func (a *app) tellBackup(dir string, m *backup.Manifest) error {
	if a.JSON {
		return a.Line(m)
	}
	a.Say("%s holds site %s as of %s: %d documents, %d files, %d MiB", dir, m.Site, m.Made.Local().Format(time.DateTime), m.Documents,
		m.Files, m.Bytes>>20)
	if m.Shards > 0 {
		a.Say("it is of a site of several machines, with %d shards", m.Shards)
	}
	a.Say("audit up to entry %d; scheme %s; made by concordat %s", m.Audit.Seq, m.Scheme, m.Program)
	if m.Keys {
		a.Say("it holds the keys of the site: keep it as safe as the site itself")
	} else {
		a.Say("it holds no keys: without %s and %s from elsewhere it is of no use", instance.KeystoreName, instance.IndexKeyName)
	}
	return nil
}

// Files of the site that a backup has besides the state, and those of them that are secrets.
var (
	backedUp = []string{instance.ConfigName}
	secrets  = []string{instance.KeystoreName, instance.KeyFileName, instance.IndexKeyName, instance.LTIKeyName}
)

func (a *app) backup(ctx context.Context, dir string, withoutKeys bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return a.With(ctx, instance.WithIndex, func(o *instance.Instance) error {
		if err := apart(o.Dir, dir); err != nil {
			return err
		}
		if err := backupPlace(dir); err != nil {
			return err
		}
		lock, err := instance.LockIndex(dir) // two backups at once would take each other's states away
		if err != nil {
			return err
		}
		m, err := a.makeBackup(ctx, o, dir, withoutKeys)
		if err == nil {
			err = o.Store.SetSetting(ctx, instance.BackupSetting, m.Made.UTC().Format(time.RFC3339))
		}
		if err = errors.Join(err, lock.Close()); err != nil {
			return err
		}
		return a.tellBackup(dir, m)
	})
}

// apart fails where one of two folders lies in the other: a backup within the site would be backed up itself,
// and is lost with it.
func apart(site, dir string) error {
	for _, pair := range [][2]string{{site, dir}, {dir, site}} {
		if rel, err := filepath.Rel(pair[0], pair[1]); err == nil && filepath.IsLocal(rel) {
			return cli.Usagef("%s and %s lie in one another: choose a folder elsewhere, best on another disk", site, dir)
		}
	}
	return nil
}

// backupPlace makes the folder, and refuses one that holds something else.
func backupPlace(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !backup.Own(e.Name()) && e.Name() != "lock" && e.Name() != "lost+found" {
			return cli.Usagef("%s holds %s, which is no part of a backup: choose an empty folder", dir, e.Name())
		}
	}
	return nil
}

func (a *app) makeBackup(ctx context.Context, o *instance.Instance, dir string, withoutKeys bool) (m *backup.Manifest, err error) {
	need, err := a.backupNeeds(o.Dir, dir)
	if err != nil {
		return nil, err
	}
	make, err := backup.Begin(dir, time.Now())
	if err != nil {
		return nil, err
	}
	bar := a.Progress(need, "backing up")
	defer bar.Done()
	make.Progress = func(n int) error { bar.Add(n); return ctx.Err() }
	defer func() {
		if err != nil {
			err = errors.Join(err, make.Abandon())
		}
	}()
	var t instance.Snapshot
	if o.Remote != nil {
		err = instance.CallServing(ctx, o.Dir, "/snapshot", map[string]string{"folder": make.State()}, &t)
	} else {
		t, err = o.CopyState(ctx, make.State())
	}
	if err != nil {
		return nil, fmt.Errorf("copy the state: %w", err)
	}
	if withoutKeys {
		if err := dropKeys(ctx, filepath.Join(make.State(), instance.StoreName)); err != nil {
			return nil, err
		}
	}
	names := backedUp
	if !withoutKeys {
		names = append(names[:len(names):len(names)], secrets...)
	}
	for _, name := range names {
		if _, err := make.AddFile(filepath.Join(o.Dir, name), name); err != nil {
			return nil, err
		}
	}
	if !withoutKeys {
		if err := addNamed(o, make); err != nil {
			return nil, err
		}
	}
	damaged, err := addOriginals(ctx, o, make)
	if err != nil {
		return nil, err
	}
	for _, hash := range damaged {
		a.Warn("original %s is damaged on the disk of the site; it is backed up as it is", hash)
	}
	return make.Finish(ctx, backup.Manifest{Made: t.Made, Program: instance.Version(), Site: t.Site, Scheme: t.Scheme, Keys: !withoutKeys,
		Audit: t.Audit, Documents: t.Documents, Sentences: t.Sentences, Shards: t.Shards})
}

// backupNeeds returns how many bytes a new backup will write at most, and fails where the disk has no room for them.
func (a *app) backupNeeds(from, dir string) (int64, error) {
	var need int64
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // what goes meanwhile needs nothing
		}
		rel, _ := filepath.Rel(from, path) // path is below it
		if part := instance.PartOf(rel); part == "other" {
			return nil // the keys and the configuration are small, mirrors stay
		}
		if _, err := os.Stat(filepath.Join(dir, rel)); err == nil && instance.PartOf(rel) == instance.OriginalsName {
			return nil
		}
		if info, err := e.Info(); err == nil {
			need += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	left, _, err := instance.FreeSpace(dir)
	if err == nil && left < need {
		err = fmt.Errorf("%w: the backup needs up to %d MiB, %s has %d MiB", concordat.ErrDiskFull, need>>20+1, dir, left>>20)
	}
	return need, err
}

func (a *app) verifyBackup(ctx context.Context, dir string) error {
	b, err := backup.Open(dir)
	if err != nil {
		return err
	}
	bar := a.Progress(b.Manifest.Bytes, "reading")
	faults, err := b.Verify(func(n int) error { bar.Add(n); return ctx.Err() })
	bar.Done()
	if err != nil {
		return err
	}
	for _, f := range faults {
		if a.JSON {
			err = errors.Join(err, a.Line(f))
		} else {
			a.Say("%s: %s", f.Path, f.Reason)
		}
	}
	if err != nil || len(faults) > 0 {
		return errors.Join(err, &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("%d of %d files of the backup are not as they were backed up",
			len(faults), b.Manifest.Files)})
	}
	if a.JSON {
		return a.Line(map[string]any{"verified": b.Manifest.Files, "bytes": b.Manifest.Bytes, "made": b.Manifest.Made})
	}
	a.Say("all %d files are as they were backed up on %s", b.Manifest.Files, b.Manifest.Made.Local().Format(time.DateTime))
	return nil
}
