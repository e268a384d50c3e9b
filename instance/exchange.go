package instance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A reindex builds the new index in a separate folder, marks it as complete, and exchanges it with the old one by renaming. After an
// interruption, either the old index or the complete new one exists. FinishReindex completes an exchange that has begun; a reindex
// interrupted before the mark starts over.
const (
	NewIndexName = "index.new"
	OldIndexName = "index.old"
	CompleteName = "complete"
)

// FinishReindex completes the exchange if the new index is complete, and removes everything else that an interrupted reindex left, since
// these files contain the texts of all documents. The caller must have locked the site.
func FinishReindex(dir string) error {
	next, now, old := filepath.Join(dir, NewIndexName), filepath.Join(dir, IndexName), filepath.Join(dir, OldIndexName)
	if _, err := os.Stat(filepath.Join(next, CompleteName)); errors.Is(err, fs.ErrNotExist) {
		if err := os.RemoveAll(next); err != nil {
			return err
		}
		if _, err := os.Stat(now); err != nil {
			return nil // either there was never an index, or its state cannot be determined
		}
		return os.RemoveAll(old)
	} else if err != nil {
		return err
	}
	// The mark and the name of the new index might not be on disk yet.
	if err := errors.Join(syncDir(next), syncDir(dir), os.RemoveAll(old)); err != nil {
		return err
	}
	if err := os.Rename(now, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := errors.Join(os.Rename(next, now), syncDir(dir)); err != nil {
		return err
	}
	return errors.Join(os.Remove(filepath.Join(now, CompleteName)), os.RemoveAll(old))
}

// MarkReindexed marks the new index as complete; all of it must be on disk. FinishReindex makes the mark durable.
func MarkReindexed(dir string) error {
	next := filepath.Join(dir, NewIndexName)
	if err := syncDir(next); err != nil { // the names of the shards, whose files are on disk
		return err
	}
	return os.WriteFile(filepath.Join(next, CompleteName), nil, 0o600)
}

// syncDir makes the names in a folder durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
