package instance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"concordat"
)

// WriteNew writes a complete file unless a file of that name exists, and reports whether it wrote it.
func WriteNew(path string, content []byte) (bool, error) {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, content, 0o600); err != nil {
		return false, errors.Join(err, os.Remove(tmp))
	}
	return true, os.Rename(tmp, path)
}

// WriteFile writes the content to a temporary file and renames it to path.
func WriteFile(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".concordat-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// ReadBounded reads a file of at most the given number of bytes. It fails with concordat.ErrInvalid if the file is longer.
func ReadBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s: %w: file is larger than %d bytes", path, concordat.ErrInvalid, most)
	}
	return b, err
}

// PartOf returns the part of a site to which a file belongs, by its path in the folder.
func PartOf(rel string) string {
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	switch {
	case first == IndexName:
		return "index"
	case first == OriginalsName:
		return "originals"
	case strings.HasPrefix(first, StoreName): // including its log
		return "store"
	}
	return "other"
}
