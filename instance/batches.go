package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat"
	"concordat/index"
	"concordat/site/retain"
	"concordat/store"
)

// BatchesName is the folder for the indexes of batches, and for the output of the command batch without --out.
const BatchesName = "batches"

// BatchOut is the subfolder of a batch for the command's pages, tables and reports.
const BatchOut = "out"

// BatchFolders returns the folders of the site's batches.
func (o *Instance) BatchFolders() BatchFolders {
	return BatchFolders{filepath.Join(o.Dir, BatchesName), o.Store.Batches, o.ShardOptions()}
}

// IsBatchID reports whether id is safe as the name of a folder.
func IsBatchID(id string) bool {
	return id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

var (
	_ retain.Area   = BatchFolders{}
	_ retain.Places = BatchFolders{}
)

// BatchFolders represents the folders of batches, which contain the texts of their documents.
type BatchFolders struct {
	dir     string
	batches *store.Batches
	options index.Options // of each batch's index
}

// Name returns the name for these folders in receipts.
func (BatchFolders) Name() string { return BatchesName }

// Erase does nothing, because a batch's data about a check is removed before the check.
func (BatchFolders) Erase(context.Context, concordat.TaskID, []string) (int, error) { return 0, nil }

// Tidy removes the folders of batches that no longer exist.
func (f BatchFolders) Tidy(ctx context.Context, before time.Time, _ func(string) (bool, error)) (int, error) {
	folders, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n := 0
	for _, d := range folders {
		info, failed := d.Info()
		if err != nil || failed != nil || !IsBatchID(d.Name()) || !d.IsDir() || !info.ModTime().Before(before) {
			continue
		}
		if _, gone := f.batches.Batch(ctx, d.Name()); errors.Is(gone, concordat.ErrNotFound) {
			var removed int
			removed, err = f.RemoveBatch(d.Name())
			n += removed
		}
	}
	return n, err
}

// OpenIndex opens the index of a batch, and creates it on the first call.
func (f BatchFolders) OpenIndex(id string) (*index.Shard, error) {
	if !IsBatchID(id) {
		return nil, fmt.Errorf("batch %q: %w", id, concordat.ErrInvalid)
	}
	dir := filepath.Join(f.dir, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	shard, err := index.Open(filepath.Join(dir, IndexName), f.options)
	if err != nil {
		return nil, fmt.Errorf("index of batch %s: %w", id, err)
	}
	return shard, nil
}

// OpenBatch opens the existing index of a batch.
func (f BatchFolders) OpenBatch(id string) (concordat.Index, func() error, error) {
	if !IsBatchID(id) {
		return nil, nil, fmt.Errorf("folder of batch %q: %w", id, concordat.ErrNotFound)
	}
	if _, err := os.Stat(filepath.Join(f.dir, id, IndexName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("index of batch %s: %w", id, concordat.ErrNotFound)
	}
	shard, err := f.OpenIndex(id)
	if err != nil {
		return nil, nil, err
	}
	return shard, shard.Close, nil
}

// RemoveWritten removes the files that the command batch wrote to a batch's folder.
func (f BatchFolders) RemoveWritten(id string) (int, error) {
	if !IsBatchID(id) {
		return 0, nil
	}
	return removeAll(filepath.Join(f.dir, id, BatchOut))
}

// RemoveBatch removes the folder of a batch.
func (f BatchFolders) RemoveBatch(id string) (int, error) {
	_, done, err := f.OpenBatch(id) // no other process uses the index
	if err == nil {
		err = done()
	}
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return 0, err
	}
	if !IsBatchID(id) {
		return 0, nil
	}
	return removeAll(filepath.Join(f.dir, id))
}

// removeAll removes a folder if it exists, and returns the number of files in it.
func removeAll(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return n, errors.Join(err, os.RemoveAll(dir))
}
