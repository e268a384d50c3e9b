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
// on return. Copies that other machines have of what was in the database go with their next Tidy.
func (f *Files) Erase(ctx context.Context, _ concordat.TaskID, originals []string) (n int, err error) {
	for _, hash := range originals {
		path, err := f.path(hash)
		if err != nil {
			return n, err
		}
		there := false
		if f.db != nil {
			if there, err = f.db.eraseFile(ctx, hash); err != nil {
				return n, err
			}
		}
		err = os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
		if there || err == nil {
			n++
		}
		if err != nil {
			continue
		}
		if err := syncFolder(filepath.Dir(path)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Tidy forgets files that were put before the given time and are not needed, and what an interrupted Put
// left, and returns how many. Of files in the database it also removes the copies in the folder that were
// not used since then, and those of files that are gone.
func (f *Files) Tidy(ctx context.Context, before time.Time, needed func(hash string) (bool, error)) (n int, err error) {
	return f.Forget(ctx, time.Time{}, before, needed)
}

// Forget is Tidy of the files in the folder that were put at since or later.
func (f *Files) Forget(ctx context.Context, since, before time.Time, needed func(hash string) (bool, error)) (n int, err error) {
	if f.db != nil {
		if n, err = f.db.tidyFiles(ctx, before, needed); err != nil {
			return n, err
		}
	}
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
		if err != nil {
			return err
		}
		if info.ModTime().Before(since) {
			return nil
		}
		keep, err := f.keeps(ctx, d.Name(), !info.ModTime().Before(before), needed)
		if keep || err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if f.db == nil {
			n++
		}
		return nil
	})
	return n, err
}

// keeps reports whether a file in the folder stays.
func (f *Files) keeps(ctx context.Context, name string, young bool, needed func(hash string) (bool, error)) (bool, error) {
	switch {
	case strings.HasPrefix(name, "incoming-"):
		return young, nil
	case !fileName.MatchString(name):
		return true, nil // not ours
	case f.db != nil:
		held, err := f.db.held(ctx, name)
		return held && young, err
	case young:
		return true, nil
	}
	return needed(name)
}
