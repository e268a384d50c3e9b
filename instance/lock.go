//go:build unix

package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"concordat"
)

// LockIndex takes the lock required to use, rebuild or exchange a site's index, or fails immediately with concordat.ErrLocked. Closing
// the file or ending the process releases the lock. The shard's own lock does not outlast the exchange of its folder.
func LockIndex(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = concordat.ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("site %s: %w", dir, err), f.Close())
	}
	return f, nil
}
