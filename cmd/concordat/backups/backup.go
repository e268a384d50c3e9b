package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/backup"
	"concordat/store"
)

func BackupCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	var f backupFlags
	c := &cobra.Command{
		Use: "backup DIR", Short: "Back up the site, even while the server is running", Args: cobra.ExactArgs(1),
		Long: `Backup copies the store, the index, the originals, the configuration and the keys into DIR. DIR
must be empty or absent, or hold an earlier backup, which is replaced once the new one is complete; originals
already there are not copied again. The server can keep running. An interruption leaves the earlier backup
untouched; repeat the command.

Backups are encrypted (age-encryption.org/v1), since they hold texts and the keys that identify the site. Either
name recipients, in backup.recipients or with --recipient: age-keygen -pq creates an identity and prints its
recipient. Or choose a passphrase: the first backup on a terminal asks for it, and later ones reuse it. This
machine cannot read its own backups. Without the identity or the passphrase, no backup can be opened: keep it where
it survives the loss of the machine.

On a site of several machines, any node backs up all shards and the store as of a single moment. It leaves out its own
membership of the cluster (name, certificate and place in ZooKeeper).

A store in a database is copied into a file. Mirrors of partners' libraries are not included: concordat mirror
sync fetches them again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.backup(cmd.Context(), args[0], f)
		},
	}
	c.Flags().BoolVar(&f.withoutKeys, "without-keys", false, "leave out "+instance.KeystoreName+", "+instance.KeyFileName+", "+
		instance.IndexKeyName+" and other secrets; keep these files elsewhere, because the backup is useless without them")
	c.Flags().StringArrayVar(&f.recipients, "recipient", nil, "encrypt to this recipient (age1...; repeatable)")
	c.Flags().BoolVar(&f.passphrase, "passphrase", false, "ask for the passphrase to encrypt the backup with")
	c.Flags().StringVar(&f.passphraseFile, "passphrase-file", "", "file whose first line is the passphrase")
	c.Flags().BoolVar(&f.plain, "plain", false, "do not encrypt the backup: anyone who can read it gets the site's texts and keys")
	var verify openFlags
	v := &cobra.Command{
		Use: "verify DIR", Short: "Verify every file of a backup against the backup's list of hashes", Args: cobra.ExactArgs(1),
		Long: `Verify compares every file with the backup's list of hashes. With the identity or passphrase of an encrypted backup, it
also opens every file and compares its contents.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.verifyBackup(cmd.Context(), args[0], verify) },
	}
	verify.add(v)
	v.Flags().BoolVar(&verify.passphrase, "passphrase", false, "ask for the backup's passphrase")
	c.AddCommand(v, &cobra.Command{
		Use: "show DIR", Short: "Describe a backup", Args: cobra.ExactArgs(1),
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

func (a *commands) tellBackup(dir string, m *backup.Manifest) error {
	if a.JSON {
		return a.Line(m)
	}
	a.Say("%s contains a backup of site %s, made on %s: %d documents, %d files, %d MiB", dir, m.Site, m.Made.Local().Format(time.DateTime), m.Documents,
		m.Files, m.Bytes>>20)
	if m.Shards > 0 {
		a.Say("the site is a cluster with %d shards", m.Shards)
	}
	a.Say("audit entries up to %d; scheme %s; created by concordat %s", m.Audit.Seq, m.Scheme, m.Program)
	if m.Keys {
		a.Say("the backup contains the site's keys: keep it as safe as the site itself")
	} else {
		a.Say("the backup contains no keys: to restore the site, you also need %s and %s", instance.KeystoreName, instance.IndexKeyName)
	}
	switch e := m.Encryption; {
	case e == nil && m.Keys:
		a.Say("the backup is not encrypted: anyone who can read it has the site's texts and keys")
	case e == nil:
		a.Say("the backup is not encrypted")
	case e.Passphrase:
		a.Say("the backup is encrypted with the passphrase chosen for the site's backups")
	default:
		a.Say("the backup is encrypted to %s", strings.Join(shortened(e.Recipients), ", "))
	}
	return nil
}

// shortened abbreviates recipients to fit on one line, but keeps them distinguishable.
func shortened(recipients []string) []string {
	all := make([]string, len(recipients))
	for i, r := range recipients {
		if all[i] = r; len(r) > 70 {
			all[i] = r[:20] + "..." + r[len(r)-12:]
		}
	}
	return all
}

// The files of a backup other than the site's state, some of them secret.
var (
	backedUp = []string{instance.ConfigName}
	Secrets  = []string{instance.KeystoreName, instance.KeyFileName, instance.IndexKeyName, instance.LTIKeyName}
)

func (a *commands) backup(ctx context.Context, dir string, f backupFlags) error {
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
		lock, err := instance.LockIndex(dir) // two simultaneous backups would delete each other's states
		if err != nil {
			return err
		}
		m, err := a.makeBackup(ctx, o, dir, f)
		if err == nil {
			err = o.Store.SetSetting(ctx, instance.BackupSetting, m.Made.UTC().Format(time.RFC3339))
		}
		if err = errors.Join(err, lock.Close()); err != nil {
			return err
		}
		return a.tellBackup(dir, m)
	})
}

// apart fails if one folder is inside the other, because a backup inside the site would itself be backed up, and would be lost together
// with the site.
func apart(site, dir string) error {
	for _, pair := range [][2]string{{site, dir}, {dir, site}} {
		if rel, err := filepath.Rel(pair[0], pair[1]); err == nil && filepath.IsLocal(rel) {
			return cli.Usagef("folders %s and %s overlap: back up to a folder outside the site, preferably on another disk", site, dir)
		}
	}
	return nil
}

// backupPlace creates the folder, and refuses a folder with other contents.
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
			return cli.Usagef("%s contains %s, which is not part of a backup: choose an empty folder", dir, e.Name())
		}
	}
	return nil
}

func (a *commands) makeBackup(ctx context.Context, o *instance.Instance, dir string, f backupFlags) (m *backup.Manifest, err error) {
	enc, err := a.encryption(ctx, o, f)
	if err != nil {
		return nil, err
	}
	withoutKeys := f.withoutKeys
	need, err := a.backupNeeds(o.Dir, dir, enc != nil)
	if err != nil {
		return nil, err
	}
	var make *backup.Making
	if enc != nil {
		stage, err := takeStage(o.Dir)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, stage.release()) }()
		enc.Stage = stage.state
		if make, err = backup.BeginEncrypted(dir, time.Now(), *enc); err != nil {
			return nil, err
		}
	} else if make, err = backup.Begin(dir, time.Now()); err != nil {
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
		return nil, fmt.Errorf("cannot copy the store and the index: %w", err)
	}
	if withoutKeys {
		if err := dropKeys(ctx, filepath.Join(make.State(), instance.StoreName)); err != nil {
			return nil, err
		}
	}
	names := backedUp
	if !withoutKeys {
		names = append(names[:len(names):len(names)], Secrets...)
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
		a.Warn("original %s is damaged on the site's disk; the backup contains the damaged file", hash)
	}
	return make.Finish(ctx, backup.Manifest{Made: t.Made, Program: instance.Version(), Site: t.Site, Scheme: t.Scheme, Keys: !withoutKeys,
		Audit: t.Audit, Documents: t.Documents, Sentences: t.Sentences, Shards: t.Shards})
}

// backupNeeds returns the maximum number of bytes that a new backup will write, and fails if the disk has too little space.
func (a *commands) backupNeeds(from, dir string, stages bool) (int64, error) {
	var need, staged int64
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // removed in the meantime; no space needed
		}
		rel, _ := filepath.Rel(from, path) // path is always below from
		if part := instance.PartOf(rel); part == "other" {
			return nil // the keys and configuration are small, and mirrors are not backed up
		}
		if _, err := os.Stat(filepath.Join(dir, rel)); err == nil && instance.PartOf(rel) == instance.OriginalsName {
			return nil
		}
		if info, err := e.Info(); err == nil {
			need += info.Size()
			if stages && instance.PartOf(rel) != instance.OriginalsName {
				staged += info.Size()
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	left, all, err := instance.FreeSpace(dir)
	if err != nil {
		return 0, err
	}
	free, size, err := instance.FreeSpace(from)
	if err == nil && free < staged {
		err = fmt.Errorf("%w: before encryption, the backup needs up to %d MiB, but %s has only %d MiB free", concordat.ErrDiskFull, staged>>20+1, from,
			free>>20)
	}
	if left == free && all == size { // same disk
		need += staged
	}
	if err == nil && left < need {
		err = fmt.Errorf("%w: the backup needs up to %d MiB, but %s has only %d MiB free", concordat.ErrDiskFull, need>>20+1, dir, left>>20)
	}
	return need, err
}

// For a site with several machines, the index consists of all shards, wherever their masters are, stored under a node's folder. A machine
// restored from the backup therefore holds all shards.

// addOriginals adds the submitted files from the folder or the database.
func addOriginals(ctx context.Context, o *instance.Instance, m *backup.Making) (damaged []string, err error) {
	if o.Config.Store.URL == "" {
		return m.AddOriginals(ctx, filepath.Join(o.Dir, instance.OriginalsName))
	}
	files := instance.Originals(o.Dir, o.Config, o.Store)
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

// dropKeys removes the nodes' shared keystore, including its bytes, from the copy of their store.
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

// addNamed adds the files in the site's folder that its configuration names, under the same names. Examples are the files that a node
// received when it joined.
func addNamed(o *instance.Instance, m *backup.Making) error {
	for _, f := range o.Config.Files() {
		path := f.Path
		if !filepath.IsAbs(path) && f.Key == "store.password_file" {
			path = filepath.Join(o.Dir, path)
		}
		if rel, err := filepath.Rel(o.Dir, path); err != nil || !filepath.IsLocal(rel) {
			continue // deliberately kept elsewhere
		}
		if _, err := m.AddFile(path, f.Name); err != nil {
			return err
		}
	}
	return nil
}
