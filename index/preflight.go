package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"go.etcd.io/bbolt"

	"concordat"
)

var errPanic = errors.New("panic")

// guard calls f and returns a panic or a fault in mapped memory as an error, because damaged files can cause both in Bleve and bbolt.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return f()
}

// preflight refuses an index that scorch would open incorrectly. If scorch cannot load a snapshot, it opens an older one or none, and
// then deletes the files that it does not know. Acknowledged documents would vanish without an error (bleve issue 2310). Scorch deletes
// nothing when it opens an index for reading, so preflight first loads the newest snapshot this way. It then compares a suspect segment,
// and at most verify bytes of others, with their checksums.
func preflight(dir string, verify int64) (storedState, error) {
	root := filepath.Join(dir, "root.bolt")
	if _, err := os.Stat(root); err != nil {
		return storedState{}, corrupt(root, err)
	}
	index, err := scorch.NewScorch("scorch", map[string]any{"path": dir, "read_only": true, "bolt_timeout": "1s"}, nil)
	if err != nil {
		return storedState{}, err
	}
	s := index.(*scorch.Scorch)
	for _, open := range []func() error{func() error { return wholeRoot(root) }, s.Open} {
		if err := guard(open); err != nil {
			if strings.HasSuffix(err.Error(), "timeout") {
				return storedState{}, fmt.Errorf("%s: %w", dir, concordat.ErrLocked)
			}
			return storedState{}, corrupt(root, err)
		}
	}
	var stored storedState
	err = errors.Join(guard(func() (err error) {
		stored, err = newestLoads(s, dir, verify)
		return err
	}), guard(s.Close))
	if errors.Is(err, errPanic) {
		return storedState{}, corrupt(root, err)
	}
	return stored, err
}

// wholeRoot reads the list of free pages, as bbolt does when it opens a file for writing. If that panics, the lock on the file remains;
// since it is a read lock, others can still open the file and find the damage again.
func wholeRoot(path string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	return db.Close()
}

func newestLoads(s *scorch.Scorch, dir string, verify int64) (storedState, error) {
	root := filepath.Join(dir, "root.bolt")
	epochs, err := s.RootBoltSnapshotEpochs()
	if err != nil || len(epochs) == 0 {
		return storedState{}, corrupt(root, fmt.Sprintf("the index has no valid snapshot (%v)", err))
	}
	snapshot, err := s.LoadSnapshot(epochs[0])
	if err != nil {
		return storedState{}, corrupt(dir, missingFile(err))
	}
	defer snapshot.Close()
	if v, err := snapshot.GetInternal(internalFormat); err != nil || len(v) != 1 || v[0] != formatVersion {
		return storedState{}, corrupt(root, "the index was not created by this program")
	}
	if err := verifyOpening(dir, pathsOf(snapshot.Segments()), verify); err != nil {
		return storedState{}, err
	}
	stored, err := stateOf(snapshot)
	if err != nil {
		return storedState{}, corrupt(dir, err)
	}
	return stored, nil
}

// missingFile describes the cause of a failed load in plain words.
func missingFile(err error) string {
	return "a segment is missing or damaged: " + err.Error()
}
