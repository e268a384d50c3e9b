package backup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"concordat"
)

// Restore copies the files for which want answers true into dir, each under its name in the folder of a
// site, and compares the bytes with the list on the way. Files that are there with the right bytes stay. On
// return all of it is on the disk. It fails with concordat.ErrCorrupt, naming the file.
func (b *Backup) Restore(dir string, want func(name string) bool, progress func(bytes int) error) error {
	if err := b.Each(func(File) error { return nil }); err != nil {
		return err
	}
	err := b.Each(func(f File) error {
		name := f.Name(&b.Manifest)
		if !want(name) {
			return nil
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if have, err := sum(to, io.Discard, nil); err == nil && have == f.SHA256 {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		got, err := copyFile(filepath.Join(b.dir, filepath.FromSlash(f.Path)), to, progress)
		if err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
		if got != f.SHA256 {
			return errors.Join(fmt.Errorf("restore %s: %w: its bytes have changed", name, concordat.ErrCorrupt), os.Remove(to))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return syncDirs(dir)
}
