package engine

import (
	"context"
	"os"
)

// Check reads the whole database and fails with concordat.ErrCorrupt at the first inconsistency. Its
// cost grows with the size of the file; the audit has its own VerifyAudit.
func (db *DB) Check(ctx context.Context) error {
	return db.Fail(db.d.check(ctx, db), "check store")
}

// Purge removes the bytes of deleted and replaced rows from the disk, as far as the engine can. If whole is set, it rewrites the database,
// which needs as much free space again and keeps writers waiting; otherwise it only empties the log, and bytes in gaps between rows may
// stay. purged is false if bytes may stay, as with PostgreSQL, whose tables are rewritten but whose write-ahead log follows its own
// housekeeping.
func (db *DB) Purge(ctx context.Context, whole bool) (purged bool, err error) {
	if err = db.next(ctx); err == nil {
		purged, err = db.d.purge(ctx, db, whole)
	}
	return purged, db.Fail(err, "purge store")
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
