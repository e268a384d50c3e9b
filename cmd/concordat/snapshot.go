package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"concordat"
	"concordat/backup"
	"concordat/index"
	"concordat/store"
)

// snapshotTaken is what a copy of the state of a site is of.
type snapshotTaken struct {
	Made      time.Time        `json:"made"`
	Site      concordat.SiteID `json:"site"`
	Scheme    concordat.Scheme `json:"scheme"`
	Audit     backup.Head      `json:"audit"`
	Documents int              `json:"documents"`
	Sentences int              `json:"sentences"`
	Shards    int              `json:"shards,omitempty"` // of a site of several machines
}

// copyState writes the store and the index, as they were at one moment, into the folder to. Writers wait only
// until the moment has been taken; it fails halfway with what is there already, for the caller to remove.
func (o *opened) copyState(ctx context.Context, to string) (t snapshotTaken, err error) {
	if o.node != nil {
		return o.copyClusterState(ctx, to)
	}
	if o.shard == nil {
		return t, fmt.Errorf("%w: the index is not open here", concordat.ErrInvalid)
	}
	t = snapshotTaken{Site: o.ID(), Scheme: o.Scheme()}
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
	// A document is in the index before it is in the catalogue. While writes to the index stand still, both are
	// as they would be after a crash at this moment, which every part of the site copes with.
	err = o.shard.Still(func() (err error) {
		if state, err = o.store.Snapshot(ctx); err != nil {
			return err
		}
		t.Made, t.Sentences = time.Now().UTC(), o.shard.Stats().Sentences
		frozen, err = o.shard.Freeze()
		return err
	})
	if err != nil {
		return t, err
	}
	path := filepath.Join(to, storeName)
	if err := state.CopyTo(ctx, path); err != nil {
		return t, err
	}
	if err := os.MkdirAll(filepath.Join(to, indexName), 0o700); err != nil {
		return t, err
	}
	if err := frozen.CopyTo(ctx, filepath.Join(to, indexName, "00")); err != nil {
		return t, err
	}
	return t, t.readCopy(ctx, path)
}

// readCopy opens the copy of the store, which shows that it can be, and notes what it holds.
func (t *snapshotTaken) readCopy(ctx context.Context, path string) (err error) {
	db, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	libraries, err := db.Libraries(ctx)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		t.Documents += l.Documents
	}
	head, err := db.AuditHead(ctx)
	t.Audit = backup.Head{Seq: head.Seq, Hash: head.Hash}
	return err
}

// snapshot answers a command that makes a backup while the site is served. The folder is on this machine,
// and this process must be allowed to write there.
func (s *server) snapshot(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Folder string }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&ask)
	if err == nil && !filepath.IsAbs(ask.Folder) {
		err = errors.New("want an absolute folder")
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	began := time.Now()
	t, err := s.o.copyState(r.Context(), ask.Folder)
	if err != nil {
		s.log.Error("backup", "error", err)
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	s.log.Info("backup", "site", t.Site, "documents", t.Documents, "took", time.Since(began))
	writeJSON(w, http.StatusOK, t)
}
