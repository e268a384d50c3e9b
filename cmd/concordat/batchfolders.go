package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"concordat"
	"concordat/site"
)

// batchFolders are the folders of batches, of which each has the texts of its documents.
type batchFolders struct{ o *opened }

var (
	_ site.Area       = batchFolders{}
	_ site.BatchPlace = batchFolders{}
)

// Name is that in receipts.
func (batchFolders) Name() string { return batchesName }

// Erase does nothing: what a batch keeps of a check goes before the check.
func (batchFolders) Erase(context.Context, concordat.TaskID, []string) (int, error) { return 0, nil }

// Tidy removes the folders of batches that are not there.
func (f batchFolders) Tidy(ctx context.Context, before time.Time, _ func(string) (bool, error)) (int, error) {
	folders, err := os.ReadDir(filepath.Join(f.o.dir, batchesName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n := 0
	for _, d := range folders {
		info, failed := d.Info()
		if err != nil || failed != nil || !isBatchID(d.Name()) || !d.IsDir() || !info.ModTime().Before(before) {
			continue
		}
		if _, gone := f.o.store.Batch(ctx, d.Name()); errors.Is(gone, concordat.ErrNotFound) {
			var removed int
			removed, err = f.RemoveBatch(d.Name())
			n += removed
		}
	}
	return n, err
}

// OpenBatch opens the index of a batch.
func (f batchFolders) OpenBatch(id string) (concordat.Index, func() error, error) {
	if !isBatchID(id) {
		return nil, nil, fmt.Errorf("folder of batch %q: %w", id, concordat.ErrNotFound)
	}
	if _, err := os.Stat(filepath.Join(f.o.dir, batchesName, id, indexName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("index of batch %s: %w", id, concordat.ErrNotFound)
	}
	shard, err := f.o.openBatchIndex(id)
	if err != nil {
		return nil, nil, err
	}
	return shard, shard.Close, nil
}

// RemoveWritten removes what concordat batch wrote into the folder of a batch.
func (f batchFolders) RemoveWritten(id string) (int, error) {
	if !isBatchID(id) {
		return 0, nil
	}
	return removeAll(filepath.Join(f.o.dir, batchesName, id, batchOut))
}

// RemoveBatch removes the folder of a batch.
func (f batchFolders) RemoveBatch(id string) (int, error) {
	_, done, err := f.OpenBatch(id) // nobody works on it
	if err == nil {
		err = done()
	}
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return 0, err
	}
	if !isBatchID(id) {
		return 0, nil
	}
	return removeAll(filepath.Join(f.o.dir, batchesName, id))
}

// removeAll removes a folder, if it is there, and returns how many files were in it.
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
