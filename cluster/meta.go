package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"concordat"
	"concordat/cluster/replica"
)

// Names in a copy's folder besides the index's files.
const (
	logName   = "log"          // folder of the write-ahead log
	metaName  = "replica.json" // what the replica remembers in addition to its log
	stateName = "cluster.json" // on a single node, the state that a coordinator would store
)

func logDir(dir string) string { return filepath.Join(dir, logName) }

const (
	metaFormat = 1
	maxMeta    = 64 << 10
)

type storedMeta struct {
	Format int `json:"format"`
	replica.Meta
}

// readMeta returns the stored state of the copy in dir, which is zero for a new copy.
func readMeta(dir string) (replica.Meta, error) {
	path := filepath.Join(dir, metaName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return replica.Meta{}, nil
	}
	if err != nil {
		return replica.Meta{}, err
	}
	var m storedMeta
	if len(b) > maxMeta || json.Unmarshal(b, &m) != nil {
		return replica.Meta{}, fmt.Errorf("%s: %w", path, concordat.ErrCorrupt)
	}
	if m.Format != metaFormat {
		return replica.Meta{}, fmt.Errorf("%s has format version %d, but this program supports version %d: %w", path, m.Format, metaFormat, concordat.ErrInvalid)
	}
	return m.Meta, nil
}

// openMeta ensures that the stored state of the copy in dir is on disk, and returns the state. Writes by a process that has since died
// may exist only in memory, and from now on the copy relies on them.
func openMeta(dir string) (replica.Meta, error) {
	m, err := readMeta(dir)
	if err != nil || m == (replica.Meta{}) {
		return m, err
	}
	return m, syncDir(dir)
}

// writeMeta durably replaces the stored state of the copy in dir.
func writeMeta(dir string, m replica.Meta) error {
	b, err := json.Marshal(storedMeta{metaFormat, m})
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, metaName), append(b, '\n'))
}

// replaceFile durably replaces the file; after a crash, it has either the old bytes or the new ones.
func replaceFile(path string, b []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
