package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat"
)

// Name is that of the files in a receipt of a deletion.
func (*Files) Name() string { return "originals" }

// Erase forgets originals of a task, and returns how many were there. Their names are gone from the disk
// on return.
func (f *Files) Erase(_ context.Context, _ concordat.TaskID, originals []string) (n int, err error) {
	for _, hash := range originals {
		path, err := f.path(hash)
		if err != nil {
			return n, err
		}
		switch err := os.Remove(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return n, err
		}
		n++
		if err := syncFolder(filepath.Dir(path)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Tidy forgets files that were put before the given time and are not needed, and what an interrupted Put
// left, and returns how many.
func (f *Files) Tidy(ctx context.Context, before time.Time, needed func(hash string) (bool, error)) (n int, err error) {
	err = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // no file was ever put, or it went meanwhile
		case err != nil:
			return err
		case d.IsDir():
			return ctx.Err()
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !info.ModTime().Before(before) {
			return err
		}
		if !strings.HasPrefix(d.Name(), "incoming-") {
			if !fileName.MatchString(d.Name()) {
				return nil // not ours
			}
			if keep, err := needed(d.Name()); keep || err != nil {
				return err
			}
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		n++
		return nil
	})
	return n, err
}
