package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"concordat/web/lti"
)

// LTIKeyName is the file with the keys that sign the site's messages to learning platforms.
const LTIKeyName = "lti-keys.json"

// LTIKeys reads the keys of the site in dir, and creates them if they do not exist.
func LTIKeys(dir string) (*lti.Keys, error) {
	path := filepath.Join(dir, LTIKeyName)
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		keys, err := lti.ParseKeys(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", LTIKeyName, err)
		}
		return keys, syncDir(dir) // platforms get them, and a process that ended too early might have left the name only in memory
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	keys, err := lti.NewKeys()
	if err != nil {
		return nil, err
	}
	return keys, WriteLTIKeys(path, keys)
}

// WriteLTIKeys replaces the keys atomically; they are on disk when it returns.
func WriteLTIKeys(path string, keys *lti.Keys) error {
	b, err := keys.Marshal()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), LTIKeyName+".*") // readable only by its owner
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // on success it has been renamed
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
