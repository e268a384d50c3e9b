package main

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
	"concordat/backup"
	"concordat/store"
)

// restoringName marks a folder into which a backup is being copied; it names the backup's state. The store
// gets its name as the last step, so that the folder holds no site before.
const (
	restoringName  = "restoring"
	restoredSuffix = ".restored"
)

func (a *app) restoreCommand() *cobra.Command {
	var asNew bool
	c := &cobra.Command{
		Use: "restore DIR", Short: "Make the site of --data from a backup", Args: cobra.ExactArgs(1),
		Long: `Restore copies a backup into the folder of --data, which is empty or absent, and compares every byte
with the backup's list. What is cut short is gone on with by the same command.

What was ended since the backup must not come to life again: sessions, links to choose a password and open
invitations end, and everybody signs in anew. What restore cannot know it says: tokens, accounts and partners that were
taken away since, and documents that were deleted, are back. Partners that have seen later entries of the audit will
see that it goes on from an earlier one.

--as-new-site is for a copy beside a site that lives on: it leaves out the keys and all partners and federations, since
two sites with one identity contradict each other before their partners.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.restore(cmd.Context(), args[0], asNew)
		},
	}
	c.Flags().BoolVar(&asNew, "as-new-site", false, "without the identity: no keys, no partners, no federations")
	return c
}

func (a *app) restore(ctx context.Context, from string, asNew bool) error {
	dir, err := a.dir()
	if err != nil {
		return err
	}
	from, err = filepath.Abs(from)
	if err != nil {
		return err
	}
	b, err := backup.Open(from)
	if err != nil {
		return err
	}
	if err := apart(from, dir); err != nil {
		return err
	}
	if err := restorePlace(dir, b.Manifest.State); err != nil {
		return err
	}
	if left, _, err := free(dir); err != nil || left < b.Manifest.Bytes {
		return errors.Join(err, fmt.Errorf("%w: the site needs %d MiB, %s has %d MiB", concordat.ErrDiskFull, b.Manifest.Bytes>>20+1, dir, left>>20))
	}
	lock, err := lockIndex(dir)
	if err != nil {
		return err
	}
	err = a.restoreFiles(ctx, b, dir, asNew)
	if err == nil {
		err = restoreStore(ctx, b, dir, asNew)
	}
	if err = errors.Join(err, lock.Close()); err != nil {
		return err
	}
	return a.tellRestored(dir, b, asNew)
}

// restorePlace makes the folder and marks it, and refuses one that holds anything but the beginning of the
// same restore.
func restorePlace(dir, state string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	marker := filepath.Join(dir, restoringName)
	b, err := os.ReadFile(marker)
	switch {
	case err == nil && strings.TrimSpace(string(b)) == state:
		return nil
	case err == nil:
		return usagef("%s holds the beginning of another restore: empty it", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" {
			return usagef("%s is not empty (%s): a restore never writes over anything", dir, e.Name())
		}
	}
	return os.WriteFile(marker, []byte(state+"\n"), 0o600)
}

// restoreFiles copies all but the store into place, and the store beside its place.
func (a *app) restoreFiles(ctx context.Context, b *backup.Backup, dir string, asNew bool) error {
	bar := a.bar(b.Manifest.Bytes, "restoring")
	defer bar.done()
	progress := func(n int) error { bar.add(n); return ctx.Err() }
	keyFiles := map[string]bool{keystoreName: asNew, keyFileName: asNew}
	if err := b.Restore(dir, func(name string) bool { return name != storeName && !keyFiles[name] }, progress); err != nil {
		return err
	}
	// The store is changed after it was copied: a copy that is there already cannot be compared.
	beside := filepath.Join(dir, "store"+restoredSuffix)
	if err := os.RemoveAll(beside); err != nil {
		return err
	}
	if err := os.Mkdir(beside, 0o700); err != nil {
		return err
	}
	return b.Restore(beside, func(name string) bool { return name == storeName }, progress)
}

// restoreStore ends in the store what must not come back, and puts it in its place.
func restoreStore(ctx context.Context, b *backup.Backup, dir string, asNew bool) error {
	beside := filepath.Join(dir, "store"+restoredSuffix)
	db, err := store.Open(ctx, filepath.Join(beside, storeName))
	if err != nil {
		return err
	}
	if err := readyRestored(ctx, db, b, asNew); err != nil {
		return errors.Join(err, db.Close())
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(beside, storeName), filepath.Join(dir, storeName)); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(beside), os.Remove(filepath.Join(dir, restoringName))); err != nil {
		return err
	}
	return syncFolder(dir)
}

func readyRestored(ctx context.Context, db *store.DB, b *backup.Backup, asNew bool) error {
	if err := db.Check(ctx); err != nil {
		return err
	}
	head, err := db.VerifyAudit(ctx)
	if err != nil {
		return err
	}
	if head.Seq != b.Manifest.Audit.Seq || head.Hash != b.Manifest.Audit.Hash {
		return fmt.Errorf("%w: the audit ends with entry %d, the manifest says %d", concordat.ErrCorrupt, head.Seq, b.Manifest.Audit.Seq)
	}
	if err := db.Restored(ctx); err != nil {
		return err
	}
	if asNew {
		if err := db.LeaveFederations(ctx); err != nil {
			return err
		}
	}
	detail, err := jsonLine(map[string]any{"state": b.Manifest.Made, "entry": b.Manifest.Audit.Seq, "as_new_site": asNew})
	if err != nil {
		return err
	}
	_, err = db.AppendAudit(ctx, operator(), "restored from a backup", detail)
	return err
}

// syncFolder makes renames in dir last.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (a *app) tellRestored(dir string, b *backup.Backup, asNew bool) error {
	m := &b.Manifest
	var missing []string
	for _, name := range secrets {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) && !m.Keys {
			missing = append(missing, name)
		}
	}
	if a.json {
		return a.line(map[string]any{"site": m.Site, "dir": dir, "made": m.Made, "documents": m.Documents, "audit_entry": m.Audit.Seq, "as_new_site": asNew, "missing": append([]string{}, missing...)})
	}
	made := m.Made.Local().Format(time.DateTime)
	a.say("site %s is in %s as it was on %s, with %d documents", m.Site, dir, made, m.Documents)
	a.say("ended: sessions, links to choose a password, open invitations. Everybody signs in anew.")
	a.say("back again, if it was taken away after %s: accounts, tokens of programs, partners, documents and checks.", made)
	a.say("Look through People, Partners and Deletions before you serve, and delete again what was deleted.")
	switch {
	case asNew:
		a.say("the site has no identity for partners: make one with concordat site key init")
	default:
		a.say("tell your partners: restored to %s, audit goes on from entry %d; later entries that they have seen are lost.", made, m.Audit.Seq)
		a.say("mirrors are fetched again by concordat mirror sync; requests of partners from before this moment are refused once.")
	}
	for _, name := range missing {
		a.say("the backup was made without keys: put %s into %s, if the site had one", name, dir)
	}
	a.say("check it with concordat doctor")
	return nil
}
