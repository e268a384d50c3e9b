package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"concordat"
	"concordat/index"
	"concordat/instance/backup"
	"concordat/store"
)

// Snapshot identifies the moment at which a site's state was copied.
type Snapshot struct {
	Made      time.Time        `json:"made"`
	Site      concordat.SiteID `json:"site"`
	Scheme    concordat.Scheme `json:"scheme"`
	Audit     backup.Head      `json:"audit"`
	Documents int              `json:"documents"`
	Sentences int              `json:"sentences"`
	Shards    int              `json:"shards,omitempty"` // for a site with several machines
}

// CopyState copies the store and the index, as they were at one moment, to the folder to. Writers wait only until that moment is fixed.
// After a failure, the caller must remove the partial copy.
func (o *Instance) CopyState(ctx context.Context, to string) (t Snapshot, err error) {
	if o.Member != nil {
		return o.copyClusterState(ctx, to)
	}
	if o.own == nil {
		return t, fmt.Errorf("%w: the index is not open", concordat.ErrInvalid)
	}
	t = Snapshot{Site: o.Site.ID(), Scheme: o.Site.Scheme()}
	var frozen *index.Frozen
	var state *store.Snapshot
	defer func() {
		if frozen != nil {
			err = errors.Join(err, frozen.Close())
		}
		if state != nil {
			err = errors.Join(err, state.Close())
		}
	}()
	// A document enters the index before the catalogue. While index writes are paused, both are in the state that a crash now would
	// leave, which every part of the site can handle.
	err = o.own.shard.PauseWrites(func() (err error) {
		if state, err = o.Store.Snapshot(ctx); err != nil {
			return err
		}
		t.Made, t.Sentences = time.Now().UTC(), o.own.shard.Index().Stats().Sentences
		frozen, err = o.own.shard.Index().Freeze()
		return err
	})
	if err != nil {
		return t, err
	}
	path := filepath.Join(to, StoreName)
	if err := state.CopyTo(ctx, path); err != nil {
		return t, err
	}
	if err := os.MkdirAll(filepath.Join(to, IndexName), 0o700); err != nil {
		return t, err
	}
	if err := frozen.CopyTo(ctx, filepath.Join(to, IndexName, "00")); err != nil {
		return t, err
	}
	if err := t.readCopy(ctx, path); err != nil {
		return t, err
	}
	return t, signAudit(o.Dir, &t)
}

// signAudit signs the head of the audit in the copy, if the keystore can be opened without a prompt.
func signAudit(dir string, t *Snapshot) error {
	id, err := SigningIdentity(dir, nil)
	if err != nil || id == nil {
		return nil // the copy is complete without it
	}
	h, err := SignHead(id, store.AuditHead{Seq: t.Audit.Seq, Hash: t.Audit.Hash}, t.Made)
	if err == nil {
		t.Audit.Signed = h.Bytes()
	}
	return err
}

// CheckBackupHead fails with concordat.ErrCorrupt if the restored store's site did not sign the audit head in a manifest, or if the head
// differs from the manifest's values.
func CheckBackupHead(ctx context.Context, db *store.DB, h backup.Head) error {
	if len(h.Signed) == 0 {
		return nil
	}
	signed, err := checkedHead(ctx, db, h.Signed)
	if err == nil && (signed.Seq != h.Seq || signed.Hash != h.Hash) {
		err = fmt.Errorf("%w: the manifest says that the audit ends with entry %d, but the signed audit head says entry %d", concordat.ErrCorrupt, h.Seq, signed.Seq)
	}
	return err
}

// readCopy opens the copy of the store, which proves that it is readable, and records its contents.
func (t *Snapshot) readCopy(ctx context.Context, path string) (err error) {
	db, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	libraries, err := db.Catalogue.Libraries(ctx)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		t.Documents += l.Documents
	}
	head, err := db.Audit.AuditHead(ctx)
	t.Audit = backup.Head{Seq: head.Seq, Hash: head.Hash}
	return err
}

// BackupSetting is the setting with the time of the last backup.
const BackupSetting = "backup made"

// LastBackup returns the time of the last backup; zero for never.
func LastBackup(ctx context.Context, db *store.DB) (time.Time, error) {
	text, err := db.Setting(ctx, BackupSetting)
	if errors.Is(err, concordat.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, text)
}
