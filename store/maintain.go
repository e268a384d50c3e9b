package store

import (
	"context"
	"fmt"
	"os"

	"concordat"
)

// Check reads the whole database and fails with concordat.ErrCorrupt at the first inconsistency. Its
// cost grows with the size of the file; the audit has its own VerifyAudit.
func (db *DB) Check(ctx context.Context) error {
	return db.fail(db.d.check(ctx, db), "check store")
}

// Backup writes the store as of one moment to a new file at path, which only its owner can read;
// calls of others go on meanwhile. It fails with concordat.ErrExists where there is a file. After
// another error nothing is left at path. [Open] opens the copy.
func (db *DB) Backup(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if os.IsExist(err) {
		return fmt.Errorf("back up store: %w: %w", concordat.ErrExists, err)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = db.d.backup(ctx, db, path)
	}
	if err == nil {
		err = syncFile(path)
	}
	if err != nil {
		os.Remove(path)
		return db.fail(err, "back up store")
	}
	return nil
}

// syncFile writes a file, or the names in a folder, through to the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
