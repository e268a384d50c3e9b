package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"concordat"
	"concordat/cluster"
	"concordat/crypto/keyfile"
	"concordat/site"
	"concordat/store"
)

// On a site with one machine, the store records the last log record that the index has acknowledged. Each start compares the two. If the
// index is behind, it has lost documents, and the site does not open; if the store is behind, it has lost records of documents and takes
// them from the index again.

// identityName is a file in an index folder that distinguishes the index from earlier and later ones. A new index, made by reindex or
// restore, has no records.
const identityName = "identity"

// lostSetting is the setting with the identity of an index that has lost acknowledged changes.
const lostSetting = "index.lost"

// notedIndex is the index of a site with one machine, opened in this process. The store records its acknowledged changes. It is safe for
// concurrent use.
type notedIndex struct {
	concordat.Index // shard
	cluster.Renewer // shard
	shard           *cluster.Alone
	dir             string // of the site
	site            concordat.SiteID
	db              *store.DB
	encoding        *Encoding
	note            string // identifies the index in the store's records
	ahead           uint64 // number of changes by which the index was ahead of the records when it was opened
}

// Put implements concordat.Index.
func (n *notedIndex) Put(ctx context.Context, ps ...*concordat.Profile) error {
	if err := n.Index.Put(ctx, ps...); err != nil {
		return err
	}
	refs := make([]concordat.Ref, len(ps))
	for i, p := range ps {
		refs[i] = concordat.Ref{Site: n.site, Library: p.Document.Library, Document: p.Document.ID}
	}
	if err := n.encoding.forget(ctx, refs); err != nil {
		return err
	}
	select {
	case n.encoding.changed <- struct{}{}:
	default:
	}
	return n.noteApplied(ctx)
}

// Delete implements concordat.Index.
func (n *notedIndex) Delete(ctx context.Context, refs ...concordat.Ref) error {
	// Delete the documents' vectors first, so that vectors never outlive their documents, and then again, because they may be created in
	// the meantime.
	err := n.encoding.forget(ctx, refs)
	if err == nil {
		err = n.Index.Delete(ctx, refs...)
	}
	if err == nil {
		err = n.encoding.forget(ctx, refs)
	}
	if err != nil {
		return err
	}
	return n.noteApplied(ctx)
}

// Renew implements cluster.Renewer.
func (n *notedIndex) Renew(ctx context.Context, ps ...*concordat.Profile) (int, error) {
	done, err := n.Renewer.Renew(ctx, ps...)
	if err != nil {
		return done, err
	}
	return done, n.noteApplied(ctx)
}

// Purge removes the bytes of deleted documents; concordat.Index does not require this method.
func (n *notedIndex) Purge(ctx context.Context) error {
	if x := n.encoding.Vectors(); x != nil {
		if err := x.Purge(ctx); err != nil {
			return err
		}
	}
	return n.shard.Purge(ctx)
}

// noteApplied records the last log record that the index has acknowledged.
func (n *notedIndex) noteApplied(ctx context.Context) error {
	at := n.shard.Index().Applied()
	return n.db.Acknowledged.Note(ctx, n.note, []store.AcknowledgedRecord{{Shard: "00", Epoch: at.Epoch, Record: at.Seq}})
}

// compare sets note and ahead, which is 0 if there are no records. It fails with concordat.ErrCorrupt if the index has lost acknowledged
// changes. It is called once, before the first change.
func (n *notedIndex) compare(ctx context.Context) error {
	path := filepath.Join(n.dir, IndexName, "00", identityName)
	if n.shard.Index().Stats().Documents == 0 {
		if err := RefuseEmptyIndex(ctx, n.dir, n.db); err != nil {
			return err
		}
	}
	id, err := identityOf(path)
	if err != nil {
		return err
	}
	n.note = "alone-" + id
	lost := func(records string) error {
		return fmt.Errorf("%s: the index lacks %s acknowledged changes, because a log file was truncated or replaced with an older copy; restore a backup, or delete %s to continue without the lost changes: %w",
			filepath.Dir(path), records, path, concordat.ErrCorrupt)
	}
	switch was, err := n.db.Setting(ctx, lostSetting); {
	case err == nil && was == id:
		return lost("some")
	case err != nil && !errors.Is(err, concordat.ErrNotFound):
		return err
	}
	noted, err := n.db.Acknowledged.Noted(ctx, n.note)
	if err != nil || len(noted) == 0 {
		return err
	}
	at, last := n.shard.Index().Applied(), noted[0]
	end := at.Seq
	if at.Epoch > last.Epoch { // opening began an epoch, which adds a record
		end--
	}
	if end < last.Record {
		if err := n.db.SetSetting(ctx, lostSetting, id); err != nil {
			return err
		}
		return lost(fmt.Sprint(last.Record - end))
	}
	n.ahead = at.Seq - min(at.Seq, last.Record+(at.Epoch-last.Epoch)) // each start since then has begun an epoch
	return nil
}

// RefuseEmptyIndex fails with concordat.ErrCorrupt if the catalogue has documents. It is called for the index of the site in dir if that is
// empty or missing. An index with an identity has lost nothing without notice, unless someone wrote an identity in order to continue
// without the documents.
func RefuseEmptyIndex(ctx context.Context, dir string, db *store.DB) error {
	if _, err := os.Lstat(filepath.Join(dir, IndexName, "00", identityName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	libraries, err := db.Catalogue.Libraries(ctx)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		rows, err := db.Catalogue.Documents(ctx, l.ID, "", 1)
		if err != nil {
			return err
		}
		if dir := filepath.Join(dir, IndexName, "00"); len(rows) > 0 {
			return fmt.Errorf("%s is empty, but the catalogue lists documents: restore a backup, or write any name to %s to continue without the documents: %w",
				dir, filepath.Join(dir, identityName), concordat.ErrCorrupt)
		}
	}
	return nil
}

// identityOf returns the identity in a file, creating one if there is none.
func identityOf(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		b = []byte(strings.ToLower(rand.Text()))
		err = keyfile.Replace(path, b) // this must survive a power failure; otherwise, the records would belong to a different index
	}
	if err == nil && len(b) == 0 || len(b) > 64 {
		err = fmt.Errorf("%s: %w: invalid size: %d bytes", path, concordat.ErrCorrupt, len(b))
	}
	return string(b), err
}

// retake adds to the catalogue the documents that are in the index but that the store has lost. intakes are the additions recorded as
// begun; they are settled afterwards.
func retake(ctx context.Context, o *Instance, intakes []store.Intake) error {
	extra, err := extraRefs(ctx, o)
	if err != nil {
		return err
	}
	begun := map[concordat.Ref]store.DocumentRow{}
	for _, one := range intakes {
		for _, row := range one.Rows {
			begun[o.Site.Ref(row.Library, row.ID)] = row
		}
	}
	var rows []store.DocumentRow
	for _, r := range extra {
		d, err := o.Index.Document(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		if _, err := o.Store.Catalogue.Library(ctx, r.Library); errors.Is(err, concordat.ErrNotFound) {
			continue // the command doctor reports it
		} else if err != nil {
			return err
		}
		row, ok := begun[r]
		if hash := store.TextHash(d.Text); !ok || row.Hash != hash {
			p, err := o.Profile(ctx, *d)
			if err != nil {
				return fmt.Errorf("%s: %w", r, err)
			}
			row = site.RowOf(p, hash)
		}
		rows = append(rows, row)
	}
	if err := o.Store.Catalogue.PutDocuments(ctx, rows); err != nil {
		return err
	}
	o.Settled.Retaken += len(rows)
	return nil
}
