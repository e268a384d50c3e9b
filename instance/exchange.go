package instance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A reindex builds the new index next to the old one, marks it complete, and exchanges the two by renaming. Whenever it is
// interrupted, either the old index or the complete new one is there: FinishReindex completes a started exchange, and
// everything before the mark starts again.
const (
	NewIndexName = "index.new"
	OldIndexName = "index.old"
	CompleteName = "complete"
)

// FinishReindex completes the exchange of an index whose successor is complete, and removes whatever else an interrupted
// reindex left: both hold the texts of all documents. The caller has the lock of the site.
func FinishReindex(dir string) error {
	next, now, old := filepath.Join(dir, NewIndexName), filepath.Join(dir, IndexName), filepath.Join(dir, OldIndexName)
	if _, err := os.Stat(filepath.Join(next, CompleteName)); errors.Is(err, fs.ErrNotExist) {
		if err := os.RemoveAll(next); err != nil {
			return err
		}
		if _, err := os.Stat(now); err != nil {
			return nil // there never was an index, or that cannot be known
		}
		return os.RemoveAll(old)
	} else if err != nil {
		return err
	}
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(now, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(next, now); err != nil {
		return err
	}
	return errors.Join(os.Remove(filepath.Join(now, CompleteName)), os.RemoveAll(old))
}
