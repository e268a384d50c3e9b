package engine

import (
	"context"
	"os"
)

// Check reads the whole database and fails with concordat.ErrCorrupt at the first inconsistency. Its cost grows with the size of the
// file; for the audit log, call VerifyAudit.
func (db *DB) Check(ctx context.Context) error {
	return db.Fail(db.d.check(ctx, db), "check the store")
}

// Purge erases deleted and replaced rows from disk, as far as the engine can. If whole is set, it rewrites the database, which needs
// additional free space of the same size and makes writers wait; otherwise, it only empties the log, and bytes in gaps between rows can
// remain. purged is false if bytes can remain, as they can with PostgreSQL, which rewrites tables but recycles its write-ahead log later.
func (db *DB) Purge(ctx context.Context, whole bool) (purged bool, err error) {
	if err = db.next(ctx); err == nil {
		purged, err = db.d.purge(ctx, db, whole)
	}
	return purged, db.Fail(err, "purge the store")
}

// syncFile syncs a file, or the names in a folder, to disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
